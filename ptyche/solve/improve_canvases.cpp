#include "ptyche/solve/improve_canvases.h"

#include <ATen/core/grad_mode.h>

#include "ptyche/physics/exit_wave.h"
#include "ptyche/physics/fourier.h"
#include "ptyche/physics/measure.h"

namespace ptyche {
namespace {

constexpr double kIntensityFloor = 1e-3;  // counts; keeps the ratio finite where both are 0

/// sum_k of the patches at their places, (groups, rows, cols).
at::Tensor gather_on_canvases(const at::Tensor& patches, const CanvasLayout& layout) {
  return at::zeros({layout.groups * layout.rows * layout.cols}, patches.options())
      .index_add_(0, layout.indices.view(-1), patches.reshape(-1))
      .view({layout.groups, layout.rows, layout.cols});
}

/// Change of each exit wave that brings its intensity to the counts: (m, modes, N, N).
at::Tensor exit_wave_changes(const at::Tensor& exit_waves, const at::Tensor& counts,
                             const at::Tensor& mask, const at::Tensor& background) {
  const at::Tensor waves = propagate(exit_waves);
  const at::Tensor expected = measure(waves, background) + kIntensityFloor;
  const at::Tensor ratio = ((counts / expected).sqrt() - 1) * mask;
  return back_propagate(waves * ratio.unsqueeze(1));
}

}  // namespace

at::Tensor improve_canvases(const at::Tensor& canvases, const at::Tensor& probes,
                            const CanvasLayout& layout, const at::Tensor& counts,
                            const at::Tensor& mask, const at::Tensor& background,
                            const ImproveOptions& options) {
  const at::NoGradGuard no_grad;
  const at::Tensor light = gather_on_canvases(merge_weights(probes), layout);
  const at::Tensor scale = light + options.regularisation * light.max();
  at::Tensor improved = canvases.detach(), velocity = at::zeros_like(improved);
  for (std::int64_t iteration = 0; iteration < options.iterations; ++iteration) {
    const at::Tensor changes =
        exit_wave_changes(exit_wave(probes, extract(improved, layout)), counts, mask, background);
    const at::Tensor step = gather_on_canvases((probes.conj() * changes).sum(1), layout) / scale;
    velocity = options.momentum * velocity + step;
    improved = improved + velocity;
  }
  return improved;
}

}  // namespace ptyche
