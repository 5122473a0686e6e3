#include "ptyche/simulate/simulate.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/objects.h"
#include "ptyche/simulate/probes.h"

namespace ptyche {

at::Tensor poisson_draws(const at::Tensor& intensity, const at::Tensor& frames, std::uint64_t seed,
                         Purpose purpose) {
  const at::Tensor means = intensity.contiguous();
  at::Tensor draws = at::empty_like(means);
  const std::int64_t row = means.numel() / std::max<std::int64_t>(means.size(0), 1);
  const double* mean = means.const_data_ptr<double>();
  double* draw = draws.mutable_data_ptr<double>();
  const at::Tensor indices = frames.contiguous();
  const std::int64_t* frame = indices.const_data_ptr<std::int64_t>();
  at::parallel_for(0, means.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      RandomStream stream(seed, purpose, static_cast<std::uint64_t>(frame[k]));
      for (std::int64_t i = k * row; i < (k + 1) * row; ++i)
        draw[i] = static_cast<double>(stream.poisson(mean[i]));
    }
  });
  return draws;
}

namespace {

/// All in steps, not pixels.
at::Tensor raster(std::int64_t frames) {
  const auto cols = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(frames))));
  const at::Tensor index = at::arange(frames, at::kLong);
  return at::stack({index.div(cols, "floor"), index.remainder(cols)}, 1).to(at::kDouble);
}

at::Tensor jittered(std::int64_t frames, double jitter, std::uint64_t seed) {
  const at::Tensor positions = raster(frames);
  auto out = positions.accessor<double, 2>();
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    RandomStream stream(seed, Purpose::positions, static_cast<std::uint64_t>(frame));
    for (int axis = 0; axis < 2; ++axis) out[frame][axis] += jitter * (2 * stream.uniform() - 1);
  }
  return positions;
}

at::Tensor fermat(std::int64_t frames) {
  const double golden_angle = std::numbers::pi * (3 - std::sqrt(5.0));
  const at::Tensor index = at::arange(frames, at::kDouble);
  // From the middle of the first step on, or the first two positions would nearly coincide.
  const at::Tensor radius = at::sqrt((index + 0.5) / std::numbers::pi);
  const at::Tensor angle = index * golden_angle;
  return at::stack({radius * at::sin(angle), radius * at::cos(angle)}, 1);
}

at::Tensor steps_of(const ScanPositionsOptions& options) {
  if (options.kind == "jittered") return jittered(options.frames, options.jitter, options.seed);
  if (options.kind == "fermat") return fermat(options.frames);
  if (options.kind == "raster") return raster(options.frames);
  throw InvalidInput(
      fmt::format("scan: expected jittered, fermat or raster, found '{}'", options.kind));
}

}  // namespace

at::Tensor scan_positions(const ScanPositionsOptions& options) {
  require(options.frames >= 1, "frames: expected at least 1, found {}", options.frames);
  require(options.step_px > 0 && std::isfinite(options.step_px),
          "step_px: expected a positive number, found {}", options.step_px);
  require(options.jitter >= 0 && options.jitter <= 0.5, "jitter: expected 0 to 0.5, found {}",
          options.jitter);
  const at::Tensor steps = steps_of(options);
  return options.step_px * (steps - std::get<0>(steps.min(0)));
}

namespace {

// Unlit object around the outermost patches, so that no rule of rounding leaves the canvas.
constexpr double kMargin = 4;
// Frames in float64 at a time: bounds the memory.
constexpr std::int64_t kFramesAtOnce = 256;

/// Positions such that every patch lies on the canvas.
at::Tensor positions_on_canvas(const SimulateOptions& options) {
  const at::Tensor positions =
      scan_positions({options.scan, options.frames, options.step_px, options.jitter, options.seed});
  return positions + (0.5 * static_cast<double>(options.pattern_size) + kMargin);
}

at::Tensor object_under(const at::Tensor& positions, const SimulateOptions& options) {
  const double border = 0.5 * static_cast<double>(options.pattern_size) + kMargin;
  const auto size = [&](int axis) {
    const double last = positions.select(1, axis).max().item<double>();
    return static_cast<std::int64_t>(std::ceil(last + border));
  };
  return make_object({.kind = options.object,
                      .rows = size(0),
                      .cols = size(1),
                      .amplitude_min = options.amplitude_min,
                      .amplitude_max = options.amplitude_max,
                      .phase_range_rad = options.phase_range_rad,
                      .material = options.material,
                      .seed = options.seed,
                      .file = options.object_file,
                      .phase_file = options.object_phase_file});
}

at::Tensor probe_at(const SimulateOptions& options, double defocus) {
  const auto size = static_cast<double>(options.pattern_size);
  return make_probe({.shape = options.probe,
                     .pattern_size = options.pattern_size,
                     .diameter_px = options.probe_diameter_px.value_or(std::min(22.0, 0.4 * size)),
                     .defocus = defocus,
                     .photons = options.photons,
                     .zernike_rad = options.zernike_rad});
}

/// What the file says of positions that are not known exactly: turned and stretched about their
/// middle, each off by its own error.
at::Tensor given_positions(const at::Tensor& positions, const SimulateOptions& options) {
  if (options.position_error_px == 0 && options.position_scale_error == 0 &&
      options.position_rotation_deg == 0)
    return positions;
  const double angle = options.position_rotation_deg * M_PI / 180;
  const double scale = 1 + options.position_scale_error;
  const at::Tensor turn = at::tensor({scale * std::cos(angle), scale * std::sin(angle),
                                      -scale * std::sin(angle), scale * std::cos(angle)},
                                     at::kDouble)
                              .view({2, 2});
  const at::Tensor middle = positions.mean(0);
  at::Tensor given = (positions - middle).matmul(turn) + middle;
  RandomStream stream(options.seed, Purpose::position_errors);
  auto* value = given.data_ptr<double>();
  for (std::int64_t i = 0; i < given.numel(); ++i)
    value[i] += options.position_error_px * stream.normal();
  return given;
}

/// (frames, N, N) int32 with noise, float32 without, zero frequency at (N/2, N/2). In float64 up to
/// the draw, so that rounding that depends on the number of threads cannot change a count.
at::Tensor measure(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& positions,
                   const SimulateOptions& options) {
  const at::NoGradGuard no_grad;
  const Propagation propagation = propagation_of(options.geometry);
  std::vector<at::Tensor> parts;
  for (std::int64_t first = 0; first < options.frames; first += kFramesAtOnce) {
    const std::int64_t last = std::min(first + kFramesAtOnce, options.frames);
    const at::Tensor intensity =
        predict_intensity(object.to(at::kComplexDouble), probe.to(at::kComplexDouble),
                          positions.slice(0, first, last), Interpolation::probe_fourier,
                          /*background=*/{}, propagation);
    at::Tensor counts = at::fft_fftshift(intensity, at::IntArrayRef{1, 2});
    if (options.noise)
      counts = poisson_draws(counts, at::arange(first, last), options.seed, Purpose::noise);
    parts.push_back(counts.to(options.noise ? at::kInt : at::kFloat));
  }
  return at::cat(parts);
}

/// What concerns several options at once.
void check_simulate_options(const SimulateOptions& options) {
  // The narrowest beam puts a fifth of its photons into one pixel, which must fit 31 bits.
  require(
      options.amplitude_max <= 1 || options.photons * std::pow(options.amplitude_max, 2) <= 1e10,
      "--amplitude-max: expected at most {:.3g} at {} photons, found {}",
      std::sqrt(1e10 / options.photons), options.photons, options.amplitude_max);
  require(options.geometry.near_field || options.geometry.source_distance_m == 0,
          "--source-distance: it goes with --near-field, found {} m in the far field",
          options.geometry.source_distance_m);
  const bool lens = options.probe == "defocused" || options.probe == "zernike";
  require(options.probe_defocus_error == 0 || lens,
          "--probe-defocus-error: expected 0 for the probe '{}', which has no defocus, found {}",
          options.probe, options.probe_defocus_error);
}

}  // namespace

Scan simulate(const SimulateOptions& options) {
  require_in_range(options);
  check_simulate_options(options);
  const at::Tensor probe = probe_at(options, options.defocus);
  const at::Tensor positions = positions_on_canvas(options);
  const at::Tensor object = object_under(positions, options);
  ScanFields fields;
  fields.counts = in_smallest_exact_type(measure(object, probe, positions, options));
  fields.positions = given_positions(positions, options);
  fields.true_positions = positions;
  fields.probe = probe_at(options, options.defocus * (1 + options.probe_defocus_error));
  fields.truth = object;
  fields.geometry = options.geometry;
  fields.geometry.object_pixel_m = object_pixel_m(options.geometry, options.pattern_size);
  fields.source = "simulated";
  return Scan(std::move(fields));
}

namespace {

/// Throws InvalidInput naming the first pattern whose patch leaves the object.
void require_on_object(const Scan& given) {
  const std::int64_t half = given.pattern_size() / 2;
  const at::Tensor first = given.positions().round() - static_cast<double>(half);
  const at::Tensor sides =
      at::tensor({given.truth().size(0), given.truth().size(1)}, at::kLong).to(at::kDouble);
  const at::Tensor outside =
      (first < 0).logical_or(first + static_cast<double>(2 * half) > sides).any(1).nonzero();
  require(outside.numel() == 0,
          "{}: expected a truth of {} x {} pixels under every pattern, found pattern {} beyond it",
          given.source(), given.truth().size(0), given.truth().size(1),
          outside.numel() == 0 ? 0 : outside[0][0].item<std::int64_t>());
}

}  // namespace

Scan simulate_like(const Scan& given, const SimulateOptions& asked) {
  require(given.truth().defined(), "{}: expected a true object to simulate, found none",
          given.source());
  require(given.probe_given(), "{}: expected a probe to simulate with, found none", given.source());
  require_on_object(given);
  SimulateOptions options = asked;
  options.frames = given.frames();
  options.pattern_size = given.pattern_size();
  options.geometry = given.geometry();
  const double power = probe_power(given.probe());
  const at::Tensor probe = given.probe() * std::sqrt(options.photons / power);
  ScanFields fields;
  fields.counts = in_smallest_exact_type(measure(given.truth(), probe, given.positions(), options));
  fields.positions = given_positions(given.positions(), options);
  fields.true_positions = given.positions();
  fields.probe = probe;
  fields.mask = given.mask();
  fields.truth = given.truth();
  fields.geometry = given.geometry();
  fields.source = "simulated like " + given.source();
  return Scan(std::move(fields));
}

std::vector<std::string> options_of_like() {
  return {"photons",           "position-error", "position-scale-error",
          "position-rotation", "seed",           "noise"};
}

std::vector<Field> fields(SimulateOptions& options) {
  std::vector<Field> all{
      {.name = "object",
       .target = &options.object,
       .help = "kind of object",
       .choices = {"dead-leaves", "siemens-star", "bars", "lines", "random-field", "photograph",
                   "crystal", "image"}},
      {.name = "object-file",
       .target = &options.object_file,
       .help = ".png or .npy for the object image; black or the smallest number absorbs most"},
      {.name = "object-phase-file",
       .target = &options.object_phase_file,
       .help = "another one for its phase; none = --object-file gives both"},
      {.name = "material",
       .target = &options.material,
       .help = "one thickness for amplitude and phase, or independent",
       .choices = {"one", "independent"}},
      {.name = "probe",
       .target = &options.probe,
       .help = "kind of probe",
       .choices = {"defocused", "disk", "gaussian", "zernike", "ptychopinn"}},
      {.name = "zernike",
       .target = &options.zernike_rad,
       .unit = "rad",
       .help = "aberrations of the probe zernike, root mean square, Noll index 4, 5, 6, ...",
       .range = {-100, 100}},
      {.name = "trajectory",
       .target = &options.scan,
       .help = "layout of the positions",
       .choices = {"jittered", "fermat", "raster"},
       .aliases = {"scan"}},
      {.name = "N",
       .target = &options.pattern_size,
       .unit = "px",
       .help = "side of a pattern, even",
       .range = {16, 1024}},
      {.name = "n-patterns",
       .target = &options.frames,
       .unit = "patterns",
       .help = "number of patterns",
       .range = {1, 1e6},
       .aliases = {"frames"}},
      {.name = "step",
       .target = &options.step_px,
       .unit = "px",
       .help = "distance of neighbouring positions",
       .range = {0.1, 1000}},
      {.name = "jitter",
       .target = &options.jitter,
       .unit = "steps",
       .help = "largest shift of a position of a jittered grid",
       .range = {0, 0.5}},
      {.name = "photons",
       .target = &options.photons,
       .unit = "photons",
       .help = "photons per pattern through an empty sample",
       .range = {1, 1e10}},
      {.name = "amplitude-min",
       .target = &options.amplitude_min,
       .help = "least amplitude of the object",
       .range = {0, 1}},
      {.name = "amplitude-max",
       .target = &options.amplitude_max,
       .help = "largest amplitude of the object",
       .range = {0, 2}},
      {.name = "phase-range",
       .target = &options.phase_range_rad,
       .unit = "rad",
       .help = "range of the object's phases, which lie in +- half of it",
       .range = {0, 6.28}},
      {.name = "probe-diameter",
       .target = &options.probe_diameter_px,
       .unit = "px",
       .help = "diameter of the probe at --relative-defocus 1; auto = 22, or .4 N where N is small",
       .range = {2, 512}},
      {.name = "relative-defocus",
       .target = &options.defocus,
       .help = "defocus of the probe over the default one; 0 = in focus",
       .range = {-10, 10},
       .aliases = {"defocus"}},
      {.name = "probe-defocus-error",
       .target = &options.probe_defocus_error,
       .help = "relative error of the defocus in the probe that the file gives",
       .range = {-1, 10}},
      {.name = "position-error",
       .target = &options.position_error_px,
       .unit = "px",
       .help = "error of the positions that the file gives, root mean square per axis",
       .range = {0, 100}},
      {.name = "position-scale-error",
       .target = &options.position_scale_error,
       .help = "relative error of the given grid's scale",
       .range = {-0.5, 0.5}},
      {.name = "position-rotation",
       .target = &options.position_rotation_deg,
       .unit = "degrees",
       .help = "rotation of the given grid",
       .range = {-45, 45}},
      {.name = "energy",
       .target = &options.geometry.energy_ev,
       .unit = "eV",
       .help = "photon energy; with the two below the file's lengths are metres; 0 = object pixels",
       .range = {0},
       .sizes = kPhotonEnergies},
      {.name = "distance",
       .target = &options.geometry.distance_m,
       .unit = "m",
       .help = "sample to detector",
       .range = {0},
       .sizes = kDistances},
      {.name = "detector-pixel",
       .target = &options.geometry.detector_pixel_m,
       .unit = "m",
       .help = "detector pixel pitch",
       .range = {0},
       .sizes = kDetectorPixels},
      {.name = "near-field",
       .target = &options.geometry.near_field,
       .help = "near-field geometry: the sample's shadow at the detector, not its far field"},
      {.name = "source-distance",
       .target = &options.geometry.source_distance_m,
       .unit = "m",
       .help = "near field: focus to sample; 0 = parallel light",
       .range = {0},
       .sizes = kSourceDistances},
      {.name = "seed", .target = &options.seed, .help = "seed of object, positions and noise"},
      {.name = "noise", .target = &options.noise, .internal = true},
  };
  return remembering(std::move(all), options.typed);
}

}  // namespace ptyche
