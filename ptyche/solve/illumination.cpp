#include "ptyche/solve/illumination.h"

namespace ptyche {
namespace {

constexpr double kLit = 0.1;  // of the strongest light

/// One window of the canvas per corner.
template <class Work>
void at_each(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size,
             const Work& work) {
  const auto* corner = corners.const_data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < corners.size(0); ++k)
    work(canvas.narrow(0, corner[2 * k], size).narrow(1, corner[2 * k + 1], size));
}

}  // namespace

at::Tensor spread_at(const at::Tensor& image, const at::Tensor& corners, std::int64_t rows,
                     std::int64_t cols) {
  at::Tensor sum = at::zeros({rows, cols}, image.options());
  at_each(sum, corners, image.size(0), [&](at::Tensor window) { window.add_(image); });
  return sum;
}

at::Tensor gathered_at(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size) {
  at::Tensor sum = at::zeros({size, size}, canvas.options());
  at_each(canvas, corners, size, [&](const at::Tensor& window) { sum.add_(window); });
  return sum;
}

at::Tensor power_of(const at::Tensor& values) { return at::view_as_real(values).square().sum(-1); }

at::Tensor summed_power(const at::Tensor& modes) { return power_of(modes).sum(0); }

double mean_light(const SolverProblem& problem, const SolverState& state) {
  const at::Tensor corners =
      whole_corners(problem, state, at::arange(problem.patterns(), at::kLong));
  const at::Tensor light =
      spread_at(summed_power(state.probe), corners, state.object.size(0), state.object.size(1));
  return light.masked_select(light.gt(kLit * light.max())).mean().item<double>();
}

}  // namespace ptyche
