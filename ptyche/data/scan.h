// What was measured: counts, where, with which probe. The struct between reading and all else.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ptyche/data/counts_change.h"

namespace ptyche {

/// Lengths in metres, energy in electronvolts; 0 = not known.
struct Geometry {
  double energy_ev = 0;          ///< of a photon of the light's wavelength, electrons' too
  double distance_m = 0;         ///< sample to detector
  double detector_pixel_m = 0;   ///< detector pixel pitch
  double exposure_s = 0;         ///< of one pattern
  double object_pixel_m = 0;     ///< object pixel; 0 = lengths are in object pixels only
  bool near_field = false;       ///< the detector sees the sample's shadow and not its far field
  double source_distance_m = 0;  ///< near field: focus to sample; 0 = parallel light
  double semi_angle_rad = 0;     ///< of a converging electron beam; 0 = not known

  bool has_object_pixel() const { return object_pixel_m > 0; }
};

/// Object pixel of a far-field scan with an N x N detector: wavelength * distance / (N * pixel), in
/// metres (Rodenburg & Maiden, Springer Handbook of Microscopy 2019, ch. 17); 0 where one is
/// unknown.
double far_field_object_pixel_m(const Geometry& geometry, std::int64_t pattern_size);

/// Metres; 0 where the energy is unknown.
double wavelength_m(const Geometry& geometry);

inline constexpr double kHcInEvM = 1.23984198433e-6;  ///< h c in eV m (SI 2019)

/// Relativistic wavelength of electrons, m (Kirkland, Advanced Computing in Electron Microscopy
/// (2010), eq. 2.5); voltage > 0.
double electron_wavelength_m(double voltage_v);

/// A near-field scan in light that diverges from a focus is one in parallel light with a smaller
/// detector pixel over a shorter distance, both divided by the magnification M = 1 + distance /
/// source distance (Fresnel scaling theorem; Paganin, Coherent X-Ray Optics (2006), appendix B).
/// 0 where one is unknown.
double near_field_object_pixel_m(const Geometry& geometry);
double effective_distance_m(const Geometry& geometry);

/// far_field_object_pixel_m or near_field_object_pixel_m.
double object_pixel_m(const Geometry& geometry, std::int64_t pattern_size);

/// What a pattern may be used for.
enum class FrameUse : std::uint8_t {
  used = 0,      ///< calibration, first probe, groups, training, stitching
  held_out = 1,  ///< nothing but the held-out score
  rejected = 2,  ///< nothing: dark, saturated or otherwise unusable
  unseen = 3,    ///< kept from training, inferred in single passes afterwards (`--unseen-half`)
};

/// The counts of a scan that several processes hold, each those of its own patterns.
class SharedCounts {
 public:
  virtual ~SharedCounts() = default;
  /// Of the patterns `frames` (k) int64, in that order: (k, N, N), of the type that all share.
  virtual at::Tensor rows(const at::Tensor& frames) const = 0;
  /// The sum of each pattern of the scan, (n) float64.
  virtual at::Tensor sums() const = 0;
  /// The sum over some patterns of their counts^power, (N, N) float64.
  virtual at::Tensor sum_over(const at::Tensor& frames, double power) const = 0;
  virtual std::int64_t processes() const = 0;
  /// The same counts changed, in the processes that hold them: these are what follows, and what
  /// still refers to the old ones must not be used any more.
  virtual std::shared_ptr<const SharedCounts> changed(const CountsChange& change) const = 0;
};

/// The arrays of a scan before they are checked; see Scan for the meaning of each.
struct ScanFields {
  at::Tensor counts, positions, probe, mask, frame_use, truth;
  at::Tensor true_positions = {};
  Geometry geometry;
  std::string source;             ///< the file, as the user named it
  std::string input_hash;         ///< SHA-256 of the file, hex
  bool probe_given = true;        ///< by the file; else it is made of the mean pattern
  bool probe_calibrated = false;  ///< the file says that the probe is in sqrt(photon)
  double squared_by = 0;  ///< counts = this x value^2: the values were taken for roots of counts,
                          ///< and nothing says so; 0 = else
  bool may_be_roots = false;  ///< or the other way round: fractions that were taken for counts
  std::shared_ptr<const SharedCounts> shared =
      {};  ///< in place of `counts`, which is undefined then
};

/// A checked scan. Tensors are shared, never written to.
class Scan {
 public:
  /// counts     (n, N, N) uint8, int16, int32 or float32, >= 0 and finite, N even, unit photons,
  ///            zero frequency at (N/2, N/2)
  /// positions  (n, 2) float64, (row, col) of the object pixel under probe pixel (N/2, N/2)
  /// probe      (modes, N, N) complex64, unit sqrt(photon)
  /// mask       (N, N) bool, true = counted; undefined = all true
  /// frame_use  (n) uint8 FrameUse; undefined = all used
  /// truth      (rows, cols) complex64, the object in the frame of the positions; may be undefined
  /// true_positions  (n, 2) float64 like `positions`, of a simulated scan that gives wrong ones, or
  ///                 undefined
  /// Throws InvalidInput naming the array, what was expected and what came.
  explicit Scan(ScanFields fields);

  /// All of them, to make another scan of.
  const ScanFields& fields() const { return fields_; }
  /// Of all patterns, for what needs them at once; asserts that they are not shared. What can go by
  /// pieces asks counts_of.
  const at::Tensor& counts() const;
  /// Where other processes hold a part of the counts; else nothing.
  const std::shared_ptr<const SharedCounts>& shared() const { return fields_.shared; }
  const at::Tensor& positions() const { return fields_.positions; }
  const at::Tensor& probe() const { return fields_.probe; }
  const at::Tensor& mask() const { return fields_.mask; }
  const at::Tensor& frame_use() const { return fields_.frame_use; }
  const at::Tensor& truth() const { return fields_.truth; }
  const at::Tensor& true_positions() const { return fields_.true_positions; }
  bool probe_given() const { return fields_.probe_given; }
  const Geometry& geometry() const { return fields_.geometry; }
  const std::string& source() const { return fields_.source; }
  const std::string& input_hash() const { return fields_.input_hash; }

  std::int64_t frames() const { return fields_.positions.size(0); }
  std::int64_t pattern_size() const { return fields_.probe.size(-1); }
  /// Frame numbers of one use, ascending, (k) int64.
  at::Tensor frames_with(FrameUse use) const;

  /// The same scan with another probe / positions / frame use (checked again).
  Scan with_probe(at::Tensor probe) const;
  Scan with_positions(at::Tensor positions) const;
  Scan with_frame_use(at::Tensor frame_use) const;

  /// The same scan with all that is computed with (counts, probe, mask, truth) in the memory of a
  /// device; what says where and which patterns are (positions, use) stays with the host.
  Scan to(at::Device device) const;
  /// Where the counts are.
  at::Device device() const { return fields_.probe.device(); }

 private:
  ScanFields fields_;
};

/// Counts of the given frames, (k, N, N) of the scan's type, also where processes share them. On
/// the scan's device, wherever the frames' numbers are.
at::Tensor counts_of(const Scan& scan, const at::Tensor& frames);

/// mean_pattern (probe.h) of the scan's counts, also where processes share them.
at::Tensor mean_pattern(const ScanFields& fields, const at::Tensor& frames, double power = 1);
at::Tensor mean_pattern(const Scan& scan, const at::Tensor& frames, double power = 1);

/// Counts of the given frames as float32 (k, N, N) in FFT order (zero frequency at index 0): the
/// one place where counts become float.
at::Tensor counts_in_fft_order(const Scan& scan, const at::Tensor& frames);

/// The mask in FFT order, (N, N) bool.
at::Tensor mask_in_fft_order(const Scan& scan);

/// The smallest box around the positions, (2) float64 each. A rejected pattern that lies farther
/// out than the box of all others is long does not count: a position that is far off must not make
/// the canvas large.
struct PositionBox {
  at::Tensor low, high;
};
PositionBox position_box(const Scan& scan);

/// Narrowest of uint8, int16, int32, float32 that holds `counts` (any real type) exactly;
/// fractional counts stay float32.
at::Tensor in_smallest_exact_type(const at::Tensor& counts);

/// A number that changes with every entry of an array and with their order.
double fingerprint(const at::Tensor& array);

/// The sum of each of some patterns (n, N, N): (n) float64.
at::Tensor sums_of_patterns(const at::Tensor& counts);

/// File, counts, positions, probe, mask and use of the patterns, in one line: two readings of one
/// file share it only if nothing about them differs.
std::string fingerprint(const Scan& scan);

}  // namespace ptyche
