// A scan with known truth: object, probe, positions, forward model, Poisson noise.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/core/random.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Poisson draws of the intensities, one random stream (seed, purpose) per frame, so that they do
/// not depend on batches or threads.
///   intensity  (k, ...) float64 counts >= 0
///   frames     (k) int64, names the stream of each row
/// Returns float64 of the same shape.
at::Tensor poisson_draws(const at::Tensor& intensity, const at::Tensor& frames, std::uint64_t seed,
                         Purpose purpose);

/// The kinds:
/// - jittered: a raster, every position moved by a random part of the step, so that the image keeps
///   no trace of the raster's period.
/// - fermat: a spiral r = step sqrt((k + 1/2) / pi) at k golden angles: even density and no axis
///   (Huang et al., Opt. Express 22 (2014) 12634).
/// - raster: rows from left to right, nearly square; the last row may be short.
struct ScanPositionsOptions {
  std::string kind = "jittered";
  std::int64_t frames = 900;  ///< >= 1
  double step_px = 4;         ///< > 0; every position has step^2 of area in all three
  double jitter = 0.3;  ///< 0..0.5 of the step, uniform in +-, both directions; `jittered` only
  std::uint64_t seed = 1;
};

/// (frames, 2) float64 (row, col) in px, between pixels, smallest row and column at 0.
/// Throws InvalidInput for options out of range.
at::Tensor scan_positions(const ScanPositionsOptions& options);

/// The defaults: a disc of 22 px holds 90 % of the probe's power and the step is 4 px, so
/// neighbours overlap by 82 % (1 - step / diameter); the object has 190 x 190 px.
struct SimulateOptions {
  std::string object = "dead-leaves";  ///< a kind of objects.h
  std::string material = "one";        ///< one | independent, see objects.h
  std::string probe = "defocused";     ///< a shape of probes.h
  std::string scan = "jittered";       ///< jittered (grid) | fermat | raster
  std::int64_t pattern_size = 64;      ///< N, even
  std::int64_t frames = 900;
  double step_px = 4;    ///< distance of neighbours; each position has step^2 of area
  double jitter = 0.3;   ///< of the step, uniform in +-, `jittered` only
  double photons = 1e5;  ///< per pattern through an empty sample, at most 1e10
  double amplitude_min = 0.5, amplitude_max = 1.0;
  double phase_range_rad = 1.2;  ///< phases lie in +-half of it
  /// At defocus 1 (see probes.h), at most N / 2; empty = 22, or .4 N where that is less.
  std::optional<double> probe_diameter_px = {};
  double defocus = 1.0;              ///< relative to the default defocus; 0 = in focus
  double probe_defocus_error = 0;    ///< relative error of the defocus in the probe that is given
  double position_error_px = 0;      ///< root mean square per axis, normal, of the given positions
  double position_scale_error = 0;   ///< relative; the given grid is too large by it
  double position_rotation_deg = 0;  ///< the given grid is turned by it, rows towards columns
  std::vector<double> zernike_rad = {};  ///< Noll 4, 5, ..., for the probe `zernike`
  bool noise = true;
  Geometry geometry = {};  ///< lengths of the experiment; its object pixel is computed
  std::uint64_t seed = 1;
  std::filesystem::path object_file = {}, object_phase_file = {};  ///< for the object `image`
  std::set<std::string> typed = {};  ///< names of the options that the user typed, see Field
};
std::vector<Field> fields(SimulateOptions& options);

/// Patterns of the interpolation-free forward model (`probe_fourier`) with Poisson noise; without
/// noise the expected counts as float32. The scan has the object as its truth, the probe with
/// `probe_defocus_error`, positions with the errors above (the true ones beside them), no mask, and
/// the geometry. The same counts for any thread count. Throws InvalidInput for options out of
/// range, naming option, range and value.
Scan simulate(const SimulateOptions& options);

/// The same of another scan's truth, probe and positions: of `options` count the photons, the
/// errors of the given positions, the noise and the seed. Positions are those of its patterns, in
/// its order; geometry and mask are its own. Throws InvalidInput for a scan without a truth or a
/// probe, and where a patch leaves the truth.
Scan simulate_like(const Scan& given, const SimulateOptions& options);

/// Names of the options that simulate_like looks at.
std::vector<std::string> options_of_like();

}  // namespace ptyche
