#include "ptyche/nn/physics_stem.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/engine/single_pattern.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {

std::vector<Field> fields(StemOptions& options) {
  return {{.name = "stem-steps",
           .target = &options.steps,
           .range = {1, 1e4},
           .internal = true,
           .record_name = "steps"},
          {.name = "stem-regularisation",
           .target = &options.regularisation,
           .range = {1e-9, 1},
           .internal = true,
           .record_name = "regularisation"},
          {.name = "stem-optics",
           .target = &options.optics,
           .internal = true,
           .record_name = "optics"}};
}

std::int64_t stem_channels(const StemOptions& options) {
  return 2 * static_cast<std::int64_t>(options.steps.size()) + (options.optics ? 5 : 2);
}

namespace {

constexpr double kMeanDose = 4.5, kDoseRange = 1.5;  // of log10 of a pattern's photons

/// (k, 3, N, N): what a network of many probes and doses has to know.
at::Tensor optics_channels(const at::Tensor& amplitudes, const at::Tensor& probes) {
  const at::Tensor first = probes.select(1, 0), power = at::real(first * first.conj());
  const at::Tensor mean = (first * power).sum({1, 2}, true);
  const at::Tensor turn = mean.conj() / mean.abs().clamp_min(1e-30);
  const at::Tensor shape = at::view_as_real(first * turn / power.amax({1, 2}, true).sqrt());
  const at::Tensor photons = amplitudes.square().sum({1, 2}, true).clamp_min(1);
  const at::Tensor dose = ((photons.log10() - kMeanDose) / kDoseRange).expand_as(power);
  return at::cat({shape.permute({0, 3, 1, 2}), dose.unsqueeze(1)}, 1);
}

/// What `pack` reads and writes, of one pattern or all.
struct Packing {
  const c10::complex<float>* objects;  ///< (steps, N, N)
  const c10::complex<float>* probe;    ///< (modes, N, N)
  const float* amplitudes;             ///< (N, N), zero frequency at [0, 0]
  float* channels;                     ///< (N, N, channels)
};

struct PackedSizes {
  std::int64_t size, modes, steps, channels;
  float input_scale;
};

/// What all pixels of a pattern share.
struct PatternNumbers {
  float peak = 0;            ///< of the power of all modes
  c10::complex<float> turn;  ///< brings the first mode to its mean phase and a peak of 1
  float dose = 0;            ///< its channel
};

/// These, and the power of all modes, (N, N).
PatternNumbers numbers_of(const Packing& of, const PackedSizes& sizes, std::vector<float>& power) {
  const std::int64_t pixels = sizes.size * sizes.size;
  PatternNumbers found;
  float first_peak = 0;
  double photons = 0;
  c10::complex<double> mean = 0;
  for (std::int64_t i = 0; i < pixels; ++i) {
    const float first = std::norm(of.probe[i]);
    float& all = power[static_cast<std::size_t>(i)] = first;
    for (std::int64_t mode = 1; mode < sizes.modes; ++mode)
      all += std::norm(of.probe[mode * pixels + i]);
    found.peak = std::max(found.peak, all);
    first_peak = std::max(first_peak, first);
    mean += c10::complex<double>(of.probe[i] * first);
    photons += static_cast<double>(of.amplitudes[i] * of.amplitudes[i]);
  }
  const double size_of_mean = std::max(std::abs(mean), 1e-30);
  found.turn = c10::complex<float>(std::conj(mean) /
                                   (size_of_mean * std::sqrt(static_cast<double>(first_peak))));
  found.dose = static_cast<float>((std::log10(std::max(photons, 1.0)) - kMeanDose) / kDoseRange);
  return found;
}

/// The channels of one pattern pixel by pixel; `power` (N, N) is for what lies between.
void pack(const Packing& of, const PackedSizes& sizes, bool optics, std::vector<float>& power) {
  const std::int64_t n = sizes.size, pixels = n * n;
  const PatternNumbers numbers = numbers_of(of, sizes, power);
  for (std::int64_t i = 0; i < pixels; ++i) {
    float* to = of.channels + i * sizes.channels;
    for (std::int64_t step = 0; step < sizes.steps; ++step) {
      *to++ = of.objects[step * pixels + i].real() - 1;
      *to++ = of.objects[step * pixels + i].imag();
    }
    *to++ = std::sqrt(power[static_cast<std::size_t>(i)] / numbers.peak);
    const std::int64_t row = (i / n + n / 2) % n, col = (i % n + n / 2) % n;
    *to++ = of.amplitudes[row * n + col] * sizes.input_scale;
    if (!optics) continue;
    const c10::complex<float> shape = of.probe[i] * numbers.turn;
    *to++ = shape.real();
    *to++ = shape.imag();
    *to = numbers.dose;
  }
}

/// The channels without passing memory a dozen times, as tensors do.
at::Tensor packed(const at::Tensor& objects, const at::Tensor& amplitudes, const at::Tensor& probes,
                  double input_scale, const StemOptions& options) {
  const PackedSizes sizes{.size = objects.size(-1),
                          .modes = probes.size(1),
                          .steps = objects.size(1),
                          .channels = stem_channels(options),
                          .input_scale = static_cast<float>(input_scale)};
  const std::int64_t patterns = objects.size(0), pixels = sizes.size * sizes.size;
  at::Tensor channels =
      at::empty({patterns, sizes.channels, sizes.size, sizes.size},
                amplitudes.options().memory_format(at::MemoryFormat::ChannelsLast));
  const at::Tensor steps = objects.contiguous(), waves = probes.contiguous(),
                   seen = amplitudes.contiguous();
  const Packing all{steps.const_data_ptr<c10::complex<float>>(),
                    waves.const_data_ptr<c10::complex<float>>(), seen.const_data_ptr<float>(),
                    channels.mutable_data_ptr<float>()};
  at::parallel_for(0, patterns, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> power(static_cast<std::size_t>(pixels));
    for (std::int64_t k = begin; k < end; ++k)
      pack({all.objects + k * sizes.steps * pixels, all.probe + k * sizes.modes * pixels,
            all.amplitudes + k * pixels, all.channels + k * sizes.channels * pixels},
           sizes, options.optics, power);
  });
  return channels;
}

}  // namespace

at::Tensor physics_stem(const at::Tensor& amplitudes, const at::Tensor& mask,
                        const at::Tensor& probes, double input_scale, const StemOptions& options,
                        Engine engine) {
  const at::Tensor objects = single_pattern_objects(
      probes, amplitudes, mask,
      {.steps = options.steps, .regularisation = options.regularisation, .engine = engine});
  if (engine == Engine::fused && objects.is_cpu() && objects.scalar_type() == at::kComplexFloat &&
      amplitudes.scalar_type() == at::kFloat)
    return packed(objects, amplitudes, probes, input_scale, options);
  // Re, Im after the first step, Re, Im after the second...
  const at::Tensor images = at::view_as_real(objects).permute({0, 1, 4, 2, 3}).flatten(1, 2);
  images.slice(1, 0, images.size(1), 2).sub_(1);
  const at::Tensor power = mode_power(probes);
  const at::Tensor shape = (power / power.amax({1, 2}, true)).sqrt();
  const at::Tensor seen = to_centred(amplitudes) * input_scale;
  std::vector<at::Tensor> channels{images, shape.unsqueeze(1), seen.unsqueeze(1)};
  if (options.optics) channels.push_back(optics_channels(amplitudes, probes));
  return at::cat(channels, 1);
}

}  // namespace ptyche
