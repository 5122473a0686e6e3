#include "ptyche/model/model.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/data/probe.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/resample.h"

namespace ptyche {
namespace {

constexpr std::int64_t kChunk = 64;  // patterns in the stem at a time; bounds its memory

constexpr double kWorthSaying = 0.01;  // of a dose; calibration alone can give that much

/// 1 / rms of the amplitudes of the used patterns, as the network sees them: 0 where masked.
double input_scale_of(const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used), mask = mask_in_fft_order(scan);
  double photons = 0;
  for (std::int64_t first = 0; first < used.size(0); first += kChunk)
    photons += counts_in_fft_order(scan, used.slice(0, first, first + kChunk))
                   .mul_(mask)
                   .sum(at::kDouble)
                   .item<double>();
  const auto pixels = static_cast<double>(used.size(0) * scan.pattern_size() * scan.pattern_size());
  return std::sqrt(pixels / std::max(photons, 1.0));
}

at::Tensor channels_of_chunk(const Model& model, const Scan& scan, const at::Tensor& frames,
                             Engine engine) {
  const at::Tensor mask = mask_in_fft_order(scan);
  const at::Tensor amplitudes = counts_in_fft_order(scan, frames).sqrt_() * mask;
  if (!traits_of(model.network_options).has_stem)
    return to_centred(amplitudes).mul(model.input_scale).unsqueeze(1);
  const at::Tensor probes = fourier_shift(model.stem_probe, position_fractions(scan, frames));
  return physics_stem(amplitudes, mask, probes, model.input_scale, model.stem_options, engine);
}

/// One patch (groups, N, N) around the mean of each group's whole pixels -> what each of its
/// patterns sees of it, 1 beyond its edge.
at::Tensor shared_out(const at::Tensor& patches, const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions = scan.positions().index_select(0, frames);
  const at::Tensor pixels =
      split_positions(positions, Interpolation::probe_fourier).whole.view({patches.size(0), -1, 2});
  const at::Tensor shifts = pixels.mean(1, true).round() - pixels;
  const at::Tensor each =
      (patches - 1).unsqueeze(1).expand({-1, pixels.size(1), patches.size(1), patches.size(2)});
  return 1 + translate(each, shifts).flatten(0, 1);
}

}  // namespace

Model new_model(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network,
                const StemOptions& stem, std::uint64_t seed) {
  Model model;
  model.stem_options = stem;
  model.network_options = completed(network, scan.pattern_size(), stem);
  // First of all the network: one of a fixed ladder names the sizes that it knows.
  model.network =
      with_context(scan.source(), [&] { return make_network(model.network_options, seed); });
  const std::int64_t multiple = required_multiple(model.network_options);
  require(scan.pattern_size() % multiple == 0,
          "{}: patterns of {} x {} pixels do not fit the network {}, which needs a multiple of {}; "
          "--crop {} would",
          scan.source(), scan.pattern_size(), scan.pattern_size(), network.name, multiple,
          scan.pattern_size() / multiple * multiple);
  model.stem_probe = probe.clone();
  model.probe = probe.clone();
  // PtychoPINN's networks know patterns whose squares add up to (N / 2)^2.
  model.input_scale = (traits_of(network).has_stem ? 1 : 0.5) * input_scale_of(scan);
  model.photons = probe_power(scan.probe());
  model.seed = seed;
  model.input_hash = scan.input_hash();
  return model;
}

Model at_dose_of(const Scan& scan, Model model) {
  const double ratio = model.photons > 0 ? probe_power(scan.probe()) / model.photons : 1;
  if (ratio == 1) return model;
  if (std::abs(ratio - 1) > kWorthSaying)
    note(
        "{}: {:.4g} times the photons per pattern that the model was trained at; its probe is "
        "scaled to them",
        scan.source(), ratio);
  model.stem_probe = model.stem_probe * std::sqrt(ratio);
  model.probe = model.probe * std::sqrt(ratio);
  if (model.background.defined()) model.background = model.background * ratio;
  model.input_scale /= std::sqrt(ratio);
  model.photons *= ratio;
  return model;
}

void require_far_field(const Scan& scan) {
  require(!scan.geometry().near_field,
          "{}: networks know the far field only; `ptyche solve --solver ml:100` takes near-field "
          "scans",
          scan.source());
}

Scan placed_by(const Model& model, const Scan& scan) {
  const bool moved = model.moves.defined() && model.input_hash == scan.input_hash() &&
                     model.moves.sizes() == scan.positions().sizes();
  return moved ? scan.with_positions(scan.positions() + model.moves) : scan;
}

at::Tensor patches_of(const Model& model, const Scan& scan, const at::Tensor& frames,
                      const at::Tensor& channels) {
  const std::int64_t together = model.network->patterns_per_input();
  require(channels.size(0) == frames.size(0),
          "network {}: expected the channels of {} patterns, found {}", model.network_options.name,
          frames.size(0), channels.size(0));
  require(channels.size(0) % together == 0,
          "network {}: expected patterns in groups of {}, found {} patterns",
          model.network_options.name, together, channels.size(0));
  if (together == 1) return model.network->forward(channels);
  const at::Tensor patches =
      model.network->forward(channels.contiguous()
                                 .view({-1, together, channels.size(2), channels.size(3)})
                                 .contiguous(at::MemoryFormat::ChannelsLast));
  const bool shared = model.network->patches_per_input() < together;
  return shared ? shared_out(patches, scan, frames) : patches;
}

at::Tensor position_fractions(const Scan& scan, const at::Tensor& frames) {
  const at::Tensor positions = scan.positions().index_select(0, frames);
  return split_positions(positions, Interpolation::probe_fourier).rest;
}

at::Tensor input_channels(const Model& model, const Scan& scan, const at::Tensor& frames,
                          Engine engine) {
  require(scan.pattern_size() == model.pattern_size(),
          "{}: expected patterns of {} x {} pixels as the model was trained on, found {} x {}",
          scan.source(), model.pattern_size(), model.pattern_size(), scan.pattern_size(),
          scan.pattern_size());
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> chunks;
  for (std::int64_t first = 0; first < frames.size(0); first += kChunk)
    chunks.push_back(
        channels_of_chunk(model, scan, frames.slice(0, first, first + kChunk), engine));
  return at::cat(chunks).contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace ptyche
