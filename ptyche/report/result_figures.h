// The figures of a result: amplitude, phase and probe of an image, two images side by side and what
// is between them, a Fourier ring correlation.
#pragma once

#include <ATen/ATen.h>

#include <optional>
#include <string>

#include "ptyche/data/array.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/trust.h"
#include "ptyche/data/verdict.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/report/figure.h"

namespace ptyche {

/// A figure with the words that go with it.
struct CaptionedFigure {
  Figure figure;
  std::string caption;  ///< what is shown and what was done to it
  std::string alt;      ///< for those who do not see it
};

// What is done to an object before it is shown: the part worth showing, and the phases that no
// diffraction pattern can tell.

/// lit_pixels of a `coverage` (rows, cols; >= 0) that may hold NaN, which is no light; all pixels
/// where nothing is lit, so that there is something to show.
at::Tensor lit_above(const at::Tensor& coverage, double fraction);

/// The smallest box around the true pixels of `mask` (rows, cols) bool; the whole where none is.
Window bounding_box(const at::Tensor& mask);

/// A phase as shown, and what was removed from it.
struct DisplayPhase {
  at::Tensor phase_rad;  ///< (rows, cols) float32 in (-pi, pi]
  double ramp_row_rad_per_px = 0, ramp_col_rad_per_px = 0;
};

/// Phase of `object` (rows, cols) complex without its linear ramp (the strongest plane wave of the
/// part where `mask` is true: peak of the spectrum, refined by a matrix Fourier transform as in
/// Guizar-Sicairos et al., Opt. Lett. 33, 156 (2008)) and without its mean phase (the angle of the
/// sum over that part).
DisplayPhase display_phase(const at::Tensor& object, const at::Tensor& mask);

/// Colours of a phase: grey from end to end of the range, the closed loop of colours where it spans
/// more than 5 rad.
ColourBar phase_colours(const ValueRange& range_rad);

/// The amplitude of the empty sample, as a histogram tells it, and how much of the picture has it.
struct OpenField {
  double amplitude = 1, share = 0;
};

/// The highest peak of the histogram of `amplitude` (any shape) where `mask` is true, if at least a
/// twelfth of the values lie within its width (4 to 12 % of it, by how broad noise makes it), at
/// most 3 % above that (nothing is brighter than no sample), and in as broad a band below it at
/// most 70 % of them (else it is the end of an even spread of values, no peak). Nothing where there
/// is none.
std::optional<OpenField> open_field(const at::Tensor& amplitude, const at::Tensor& mask);

/// How an image is drawn; what is not given is found in the image itself.
struct Drawing {
  std::optional<Window> crop = {};  ///< in object pixels; else where light fell
  std::optional<ValueRange> amplitude_range = {};
  std::optional<ValueRange> phase_range_rad = {};
  std::optional<Window> empty = {};  ///< where there is no sample; else the histogram's open field
  std::optional<double> empty_amplitude = {};  ///< 0 = not known; else as above
};

/// The same crop, colours and scale for every image that is drawn like this one.
Drawing drawing_of(const Reconstruction& image, const std::optional<Window>& empty = {});

/// Amplitude |O| where the scan lights the object, over that of the empty sample where it is known.
/// Throws InvalidInput if object and coverage are not two equal (rows, cols), or no pixel is in
/// what is said to be empty.
CaptionedFigure amplitude_figure(const Reconstruction& image, const Drawing& how = {});

/// Phase of O, without its mean and its linear ramp; over the full circle of colours where it
/// winds. Throws as above.
CaptionedFigure phase_figure(const Reconstruction& image, const Drawing& how = {});

/// How much light fell where, over the most. Throws as above.
CaptionedFigure coverage_figure(const Reconstruction& image);

/// The probe's modes (at most 6), each in its own brightness, with their share of the power.
/// Throws InvalidInput if the probe is not (modes, N, N).
CaptionedFigure probe_figure(const Reconstruction& image);

/// The verdict's map: how far the images from different starts are apart.
CaptionedFigure verdict_figure(const Reconstruction& image, const Verdict& verdict);

/// The map of expected errors of a network's image.
CaptionedFigure trust_figure(const Reconstruction& image, const Trust& trust);

/// What the two are called above their pictures.
struct ComparedNames {
  std::string image, reference;
};

/// Amplitudes side by side in one range of colours; phases likewise, without the reference's mean
/// phase and linear ramp, which are taken from both.
CaptionedFigure amplitude_pair(const ComparedImages& compared, const ComparedNames& names);
CaptionedFigure phase_pair(const ComparedImages& compared, const ComparedNames& names,
                           const std::optional<ValueRange>& range_rad = {});

/// The phases, rad, that the colours of phase_pair span where nobody says.
ValueRange phase_range_of(const ComparedImages& compared);

/// Image less reference: amplitude, and phase in (-pi, pi]. Middle grey is no difference.
CaptionedFigure amplitude_difference(const ComparedImages& compared);
CaptionedFigure phase_difference_figure(const ComparedImages& compared);

/// The curve over cycles per object pixel with the four criteria, each labelled with its crossing
/// (and half that period in nm where the object pixel is known), as the bytes of a PNG file.
/// Throws InvalidInput if the comparison holds no curve.
std::string ring_figure_png(const Comparison& comparison, const std::string& title);

/// The crossings in one sentence, for those who do not see the picture.
std::string ring_figure_words(const Comparison& comparison);

}  // namespace ptyche
