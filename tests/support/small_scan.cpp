#include "tests/support/small_scan.h"

#include <cmath>

#include "ptyche/core/random.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSize = 16;

at::Tensor smooth_probe() {
  const at::Tensor axis = at::arange(kSize, at::kFloat) - kSize / 2;
  const at::Tensor radius2 = axis.square().unsqueeze(1) + axis.square();
  const at::Tensor amplitude = (-radius2 / 12).exp();
  const at::Tensor probe = at::polar(amplitude, 0.05 * radius2);
  return (probe * std::sqrt(1e4 / amplitude.square().sum().item<double>())).unsqueeze(0);
}

at::Tensor smooth_object(std::int64_t rows, std::int64_t cols) {
  const at::Tensor row = at::arange(rows, at::kFloat).unsqueeze(1);
  const at::Tensor col = at::arange(cols, at::kFloat);
  const at::Tensor amplitude = 0.8 + 0.2 * (0.9 * row + 0.4 * col).sin();
  return at::polar(amplitude.contiguous(), (0.5 * (0.5 * row - 0.8 * col).cos()).contiguous());
}

at::Tensor jittered_positions(std::int64_t frames) {
  const auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(frames))));
  at::Tensor positions = at::empty({frames, 2}, at::kDouble);
  RandomStream stream(3, Purpose::positions);
  for (std::int64_t i = 0; i < frames; ++i) {
    positions[i][0] = 10.0 + 3.0 * static_cast<double>(i / side) + 0.8 * stream.uniform();
    positions[i][1] = 10.0 + 3.0 * static_cast<double>(i % side) + 0.8 * stream.uniform();
  }
  return positions;
}

}  // namespace

Scan small_scan(std::int64_t frames, const at::Tensor& object) {
  const at::Tensor positions = jittered_positions(frames), probe = smooth_probe();
  const auto extent = static_cast<std::int64_t>(positions.max().item<double>()) + kSize;
  const at::Tensor truth = object.defined() ? object : smooth_object(extent, extent);
  const at::Tensor counts =
      predict_intensity(truth, probe, positions, Interpolation::probe_fourier, {});
  return Scan({.counts = to_centred(counts).contiguous(),
               .positions = positions,
               .probe = probe,
               .mask = {},
               .frame_use = {},
               .truth = truth,
               .geometry = {},
               .source = "small scan",
               .input_hash = "none"});
}

}  // namespace ptyche
