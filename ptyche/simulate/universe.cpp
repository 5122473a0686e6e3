#include "ptyche/simulate/universe.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/simulate/objects.h"
#include "ptyche/simulate/probes.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {
namespace {

// A drawn probe whose light does not stay inside its frame, or of another size, is drawn again.
constexpr int kMostDraws = 1000;
constexpr double kMostLightOutside = 0.01;
constexpr double kBorder_px = 4;  // of unlit object around the outermost patches

/// What a scan draws its numbers from, one after another.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t number) : stream_(seed, Purpose::universe, number) {}

  double in(const Range& range) { return range.low + (range.high - range.low) * stream_.uniform(); }
  double in_logarithm(const Range& range) {
    return std::exp(in({std::log(range.low), std::log(range.high)}));
  }
  double sign() { return stream_.uniform() < 0.5 ? -1 : 1; }
  double normal() { return stream_.normal(); }
  bool chance(double share) { return stream_.uniform() < share; }
  std::uint64_t seed() { return stream_(); }

  std::string of(const Kinds& kinds) {
    double sum = 0;
    for (const auto& [name, weight] : kinds) sum += weight;
    double place = sum * stream_.uniform();
    for (const auto& [name, weight] : kinds)
      if ((place -= weight) < 0) return name;
    return kinds.back().first;
  }

 private:
  RandomStream stream_;
};

double scale_of(const Universe& universe) {
  return static_cast<double>(universe.pattern_size) / 64;
}

/// Pixel coordinates from the middle, rows (N, 1) and columns (1, N).
std::pair<at::Tensor, at::Tensor> axes_of(std::int64_t size) {
  const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
  return {axis.unsqueeze(1), axis.unsqueeze(0)};
}

/// A smooth field of mean square 1 with about `waves` waves across, complex, (N, N).
at::Tensor smooth_waves(std::int64_t size, double waves, Draws& draws) {
  const auto [row, col] = axes_of(size);
  const at::Tensor filter = at::exp(-(row.square() + col.square()) / (2 * waves * waves));
  const at::Tensor noise = at::empty({size, size}, at::kComplexDouble);
  const at::Tensor parts = at::view_as_real(noise);
  RandomStream stream(draws.seed(), Purpose::universe);
  auto* value = parts.data_ptr<double>();
  for (std::int64_t i = 0; i < parts.numel(); ++i) value[i] = stream.normal();
  const at::Tensor waves_of = at::fft_ifft2(at::fft_ifftshift(filter) * noise);
  return waves_of / waves_of.abs().square().mean().sqrt();
}

/// A lens's numbers; the same ones give the true probe and the one with a wrong defocus.
ProbeOptions lens_of(const Universe& universe, const std::string& kind, Draws& draws) {
  ProbeOptions lens{.shape = "zernike", .pattern_size = universe.pattern_size};
  lens.aperture = std::clamp(draws.in(universe.aperture), 0.02, 0.5);
  lens.stop = kind == "zone-plate" ? draws.in(universe.stop) : 0;
  const double largest = 0.5 * static_cast<double>(universe.pattern_size);
  lens.diameter_px =
      std::clamp(scale_of(universe) * draws.in({4, universe.probe_diameter.high}), 2.0, largest);
  lens.defocus = draws.sign();
  const double size = draws.in(universe.aberration);
  lens.zernike_rad.assign(8, 0);  // Noll 4 to 11; 4 is the defocus itself
  for (std::size_t i = 1; i < lens.zernike_rad.size(); ++i)
    lens.zernike_rad[i] = size * draws.normal();
  return lens;
}

at::Tensor with_structure(const at::Tensor& probe, double strength, Draws& draws) {
  const at::Tensor waves = at::real(smooth_waves(probe.size(-1), 3, draws));
  const at::Tensor far = at::fft_fftshift(at::fft_fft2(probe), at::IntArrayRef{1, 2});
  // Smooth over the aperture, whose pixels are those of the far field.
  const at::Tensor factor = (1 + strength * waves).clamp_min(0.2).to(at::kComplexFloat);
  return at::fft_ifft2(at::fft_ifftshift(far * factor, at::IntArrayRef{1, 2}));
}

/// The true probe and the one that the file gives, one mode each.
struct ProbePair {
  at::Tensor truth, given;
};

ProbePair draw_lens(const Universe& universe, const std::string& kind, Draws& draws) {
  const ProbeOptions lens = lens_of(universe, kind, draws);
  ProbeOptions wrong = lens;
  const double most = 0.5 * static_cast<double>(lens.pattern_size) / lens.diameter_px;
  const double side = draws.sign();  // drawn first whatever the compiler
  wrong.defocus =
      std::clamp(lens.defocus * (1 + side * draws.in(universe.wrong_defocus)), -most, most);
  const double strength = draws.in(universe.structure);
  return {with_structure(make_any_probe(lens), strength, draws), make_any_probe(wrong)};
}

ProbePair draw_flat(const Universe& universe, const std::string& kind, Draws& draws) {
  const double largest = 0.5 * static_cast<double>(universe.pattern_size);
  const double diameter = scale_of(universe) * draws.in(universe.probe_diameter);
  const at::Tensor flat = make_any_probe({.shape = kind,
                                          .pattern_size = universe.pattern_size,
                                          .diameter_px = std::clamp(diameter, 2.0, largest)});
  const auto axes = axes_of(universe.pattern_size);
  const at::Tensor square = axes.first.square() + axes.second.square();
  const auto curved = [&](double curvature) {
    const at::Tensor phase = curvature * square;
    return flat * at::polar(at::ones_like(phase), phase).to(at::kComplexFloat);
  };
  const double curvature = draws.in(universe.curvature) / std::pow(scale_of(universe), 2);
  const double side = draws.sign();
  const double wrong = side * draws.in(universe.wrong_defocus);
  return {curved(curvature), curved(curvature * (1 + wrong))};
}

bool is_fit(const at::Tensor& probe, const Universe& universe) {
  const double diameter = probe_diameter_px(probe) / scale_of(universe);
  return diameter >= universe.probe_diameter.low && diameter <= universe.probe_diameter.high &&
         light_outside(probe) <= kMostLightOutside;
}

/// A second mode, of a source that is not quite a point: the first one's slope in one direction.
at::Tensor with_second_mode(const at::Tensor& probe, double power, Draws& draws) {
  if (power == 0) return probe;
  const auto [row, col] = axes_of(probe.size(-1));
  const double angle = std::numbers::pi * draws.in({0, 1});
  const at::Tensor slope = at::fft_ifftshift(std::cos(angle) * row + std::sin(angle) * col);
  const at::Tensor mode = at::fft_ifft2(at::fft_fft2(probe) * slope.to(at::kFloat));
  const at::Tensor second = mode * std::sqrt(power * probe_power(probe) / probe_power(mode));
  return at::cat({probe, second}) / std::sqrt(1 + power);
}

ProbePair draw_probes(const Universe& universe, Draws& draws) {
  for (int i = 0; i < kMostDraws; ++i) {
    const std::string kind = draws.of(universe.probe_kinds);
    const bool lens = kind == "lens" || kind == "zone-plate";
    ProbePair pair = lens ? draw_lens(universe, kind, draws) : draw_flat(universe, kind, draws);
    if (!is_fit(pair.truth, universe)) continue;
    const double error = draws.in(universe.wrong_probe);
    const at::Tensor waves = smooth_waves(universe.pattern_size, 4, draws);
    pair.given = pair.given * (1 + error * waves).to(at::kComplexFloat);
    pair.truth = with_second_mode(pair.truth, draws.in(universe.second_mode), draws);
    return pair;
  }
  throw InvalidInput(
      fmt::format("universe: no probe of {} to {} px (probe.diameter) came out of {} draws",
                  universe.probe_diameter.low, universe.probe_diameter.high, kMostDraws));
}

at::Tensor draw_positions(const Universe& universe, double diameter, Draws& draws) {
  const double step = std::max(1.0, diameter * (1 - draws.in(universe.overlap)));
  const at::Tensor positions = scan_positions({.frames = universe.patterns,
                                               .step_px = step,
                                               .jitter = draws.in(universe.jitter),
                                               .seed = draws.seed()});
  const double border = 0.5 * static_cast<double>(universe.pattern_size) + kBorder_px;
  return positions + border + at::tensor({draws.in({0, 1}), draws.in({0, 1})}, at::kDouble);
}

at::Tensor draw_object(const Universe& universe, const at::Tensor& positions, Draws& draws) {
  const double border = 0.5 * static_cast<double>(universe.pattern_size) + kBorder_px;
  const auto side = [&](int axis) {
    return static_cast<std::int64_t>(
        std::ceil(positions.select(1, axis).max().item<double>() + border));
  };
  ObjectOptions object{.kind = draws.of(universe.object_kinds), .rows = side(0), .cols = side(1)};
  object.leaves.smallest = scale_of(universe) * draws.in(universe.leaf);
  object.leaves.largest = std::max(40 * scale_of(universe), 2 * object.leaves.smallest);
  object.amplitude_min = std::max(1e-3, 1 - draws.in(universe.absorption));
  object.phase_range_rad = draws.in_logarithm(universe.phase);
  object.material = draws.chance(universe.independent) ? "independent" : "one";
  object.seed = draws.seed();
  return make_object(object);
}

/// Counts per pixel, (N, N), FFT order: `photons` in all, flat or in a hill around the middle.
at::Tensor draw_background(const Universe& universe, double photons, Draws& draws) {
  const auto [row, col] = axes_of(universe.pattern_size);
  const double width = draws.in({0.15, 0.6}) * static_cast<double>(universe.pattern_size);
  const bool hill = draws.chance(0.5);
  at::Tensor shape = at::exp(-(row.square() + col.square()) / (2 * width * width));
  if (!hill) shape = at::ones_like(shape);
  return at::fft_ifftshift(shape) * (photons / shape.sum());
}

/// The probe with the power of the mean pattern, and the truth in its units.
Scan as_read(ScanFields fields, double true_power) {
  const std::int64_t frames = fields.counts.size(0), size = fields.counts.size(-1);
  fields.probe = calibrate_probe(fields.probe, fields.counts, at::ones({size, size}, at::kBool),
                                 at::arange(frames, at::kLong), 0);
  fields.truth = fields.truth * std::sqrt(true_power / probe_power(fields.probe));
  return Scan(std::move(fields));
}

}  // namespace

UniverseScan universe_scan(const Universe& universe, std::uint64_t seed, std::uint64_t number) {
  const at::NoGradGuard no_grad;
  Draws draws(seed, number);
  const double photons = draws.in_logarithm(universe.photons);
  ProbePair probes = draw_probes(universe, draws);
  probes.truth = probes.truth * std::sqrt(photons / probe_power(probes.truth));
  const at::Tensor positions = draw_positions(universe, probe_diameter_px(probes.truth), draws);
  const at::Tensor object = draw_object(universe, positions, draws);
  const at::Tensor background =
      draw_background(universe, photons * draws.in(universe.background), draws);
  const at::Tensor expected =
      predict_intensity(object.to(at::kComplexDouble), probes.truth.to(at::kComplexDouble),
                        positions, Interpolation::probe_fourier, background);
  const at::Tensor counts = poisson_draws(expected, at::arange(universe.patterns, at::kLong),
                                          draws.seed(), Purpose::noise);
  ScanFields fields;
  fields.counts = in_smallest_exact_type(to_centred(counts).contiguous());
  // A scan without a single photon cannot be calibrated; one more makes no other difference.
  if (fields.counts.sum().item<double>() == 0) fields.counts[0].view(-1)[0] = 1;
  fields.positions = positions;
  fields.probe = probes.given.contiguous();
  fields.truth = object;
  fields.source = fmt::format("scan {} of the universe", number);
  return {as_read(std::move(fields), photons), expected.to(at::kFloat)};
}

}  // namespace ptyche
