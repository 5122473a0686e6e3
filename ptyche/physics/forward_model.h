// The forward model: object and probe to exit waves, their propagation to the detector, near or
// far, and the counts that are expected there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <variant>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {

/// The detector is so far away that it sees the Fourier transform of the exit wave.
struct FarField {};

/// The detector is a short distance behind the sample and has the object's pixels.
struct NearField {
  double wavelength_m = 0;  ///< > 0
  double pixel_m = 0;       ///< pitch of the waves' pixels, both directions, > 0
  double distance_m = 0;    ///< along the beam; negative goes back
};

using Propagation = std::variant<FarField, NearField>;

inline bool is_near_field(const Propagation& propagation) {
  return std::holds_alternative<NearField>(propagation);
}

/// Of a geometry; divergent light near by becomes parallel light (data/scan.h). Throws InvalidInput
/// naming the lengths that a near-field geometry lacks.
Propagation propagation_of(const Geometry& geometry);

/// (..., N, N) with zero frequency at (N/2, N/2) -> FFT order, and back.
at::Tensor to_fft_order(const at::Tensor& centred);
at::Tensor to_centred(const at::Tensor& fft_ordered);

/// Exit waves (..., N, N) complex at the far detector, FFT order: the unitary DFT,
/// Psi(q) = 1/N sum_r psi(r) exp(-2 pi i q.r / N) (Goodman, Introduction to Fourier Optics, 3rd
/// ed., ch. 4.3). The origin of r is index (0, 0): it changes Psi by a phase ramp that no intensity
/// sees.
at::Tensor propagate_far_field(const at::Tensor& exit_waves);

/// Its adjoint, and its inverse.
at::Tensor propagate_far_field_adjoint(const at::Tensor& waves);

/// Waves after a distance z of free space, by the angular spectrum (Goodman, ch. 3.10), sampled as
/// the waves are and periodic on their frame:
///   FFT2 out = FFT2 in * exp(2 pi i z (sqrt(1 / lambda^2 - f^2) - 1 / lambda)).
/// The carrier exp(2 pi i z / lambda), which no intensity sees, is left out of all of them.
/// Evanescent waves (f > 1 / lambda, only with pixels below lambda / 2) have |z| instead of z
/// before their imaginary root, so that they decay in both directions: growing back would drown
/// everything in rounding errors. The frame is periodic: light wraps around where |z| is beyond
/// rows * pixel^2 / lambda.
///   waves  (..., rows, cols) complex, the zero of r at any index
/// Returns the waves' shape and type; phases are computed in float64. Linear; unitary, and then
/// with its adjoint as its inverse, where nothing is evanescent. Throws InvalidInput for waves that
/// are not complex images and for lengths out of range.
at::Tensor propagate_near_field(const at::Tensor& waves, const NearField& near);

/// Its adjoint: propagation over -z.
at::Tensor propagate_near_field_adjoint(const at::Tensor& waves, const NearField& near);

/// The factor exp(...) of propagate_near_field for waves (rows, cols): complex128 in FFT order.
/// Throws InvalidInput for lengths out of range.
at::Tensor near_field_transfer(std::int64_t rows, std::int64_t cols, const NearField& near);

/// Moves the content of `image` (modes, N, N), or (k, modes, N, N), complex by each shift (k, 2)
/// (row, col) in pixels, cyclically: out(r) = in(r - d), by the shift theorem (Bracewell, The
/// Fourier Transform, ch. 6). Returns (k, modes, N, N). Unitary; its adjoint is the shift by -d.
/// Differentiable in the image and the shifts.
at::Tensor fourier_shift(const at::Tensor& image, const at::Tensor& shifts);

/// Exit waves at the detector, FFT order (near by, the middle of the detector at index 0).
///   exit_waves  (k, modes, N, N) complex
///   moved       (k, 2) px or undefined: where the probe was moved by a position's rest instead of
///               the object, the whole wave is off by it. No far-field intensity sees that; near
///               by, the wave is moved back.
/// Differentiable. Throws InvalidInput as propagate_near_field does.
at::Tensor propagate(const at::Tensor& exit_waves, const Propagation& propagation,
                     const at::Tensor& moved = {});

/// The near-field part of `propagate` as a factor on the spectrum: what FFT2 of exit waves (N, N),
/// N even, is multiplied with so that its inverse FFT2 lies at the detector in FFT order, which is
/// near_field_transfer times (-1)^(row + col). complex128; undefined in the far field, where there
/// is no such factor. Throws as near_field_transfer does.
at::Tensor detector_transfer(std::int64_t size, const Propagation& propagation);

/// Exit waves psi = P O (Rodenburg & Faulkner, APL 85, 4795 (2004), eq. 1).
///   probe    (modes, N, N), or (k, modes, N, N) where it differs by pattern; complex, sqrt(photon)
///   patches  (k, N, N) complex
/// Returns (k, modes, N, N). Linear in each argument; the adjoint in the patches multiplies by
/// conj(P) and sums over modes. Throws InvalidInput naming both shapes.
at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches);

/// Expected counts I(q) = sum_m |Psi_m(q)|^2 + background(q): modes add incoherently (Thibault &
/// Menzel, Nature 494, 68 (2013), eq. 2).
///   waves       (k, modes, N, N) complex, FFT order
///   background  (N, N) counts >= 0 in FFT order, or undefined
/// Returns (k, N, N) in FFT order. Differentiable in both.
at::Tensor expected_counts(const at::Tensor& waves, const at::Tensor& background = {});

/// What the patterns of a layout see: extract, exit wave, propagate, measure.
///   canvases     (groups, rows, cols) complex
///   probe        (modes, N, N) complex of the same precision, sqrt(photon); under probe_fourier it
///                is moved by each pattern's fraction
///   background   (N, N) counts in FFT order, or undefined
/// Returns (m, N, N) counts in FFT order. Differentiable in canvases, probe, background and what
/// the layout is. Throws InvalidInput for a pattern that leaves its canvas.
at::Tensor predict_intensity(const at::Tensor& canvases, const at::Tensor& probe,
                             const CanvasLayout& layout, const at::Tensor& background,
                             const Propagation& propagation = FarField{});

/// The same of one whole object (rows, cols) at positions (k, 2) float64, (row, col) of the object
/// index under probe pixel (N/2, N/2).
at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background,
                             const Propagation& propagation = FarField{});

}  // namespace ptyche
