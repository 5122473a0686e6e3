#include "ptyche/solve/illumination.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <functional>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {

namespace {

constexpr double kNoticeable = 0.01;    // share of the counts' curvature
constexpr std::int64_t kPatchRows = 8;  // of a patch, that one thread takes at a time

using Pixel = c10::complex<float>;

constexpr std::int64_t kPatchesAtOnce = 256;  // by LibTorch's operations

/// Whole corners (k, 2) int64 as the canvas operators want them.
CanvasLayout layout_at(const at::Tensor& corners, std::int64_t size, std::int64_t rows,
                       std::int64_t cols) {
  return lay_on_object(corners.to(at::kDouble), size, {rows, cols}, Interpolation::bilinear);
}

/// Sum of the patches of a canvas at the corners: (size, size), on any device.
at::Tensor summed_patches(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size) {
  at::Tensor sum = at::zeros({size, size}, canvas.options());
  for (const at::Tensor& some : corners.split(kPatchesAtOnce))
    sum +=
        extract_patches(canvas.unsqueeze(0), layout_at(some, size, canvas.size(0), canvas.size(1)))
            .sum(0);
  return sum;
}

/// Sum over the corners of value(canvas index) at every pixel of a patch: (size, size).
template <class T, class Value>
at::Tensor gathered(const at::Tensor& corners, std::int64_t size, std::int64_t cols,
                    const Value& value) {
  at::Tensor sum = at::zeros({size, size}, c10::CppTypeToScalarType<T>::value);
  const auto* corner = corners.const_data_ptr<std::int64_t>();
  auto* to = sum.data_ptr<T>();
  at::parallel_for(0, size, kPatchRows, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t k = 0; k < corners.size(0); ++k)
      for (std::int64_t row = first; row < last; ++row) {
        const std::int64_t from = (corner[2 * k] + row) * cols + corner[2 * k + 1];
        for (std::int64_t col = 0; col < size; ++col) to[row * size + col] += value(from + col);
      }
  });
  return sum;
}

constexpr std::int64_t kObjectRows = 16;  // of the object, that one thread takes at a time

/// Half the value's gradient at one row: every pixel less its neighbours, as many as it has.
/// Returns the squares of its changes to the right and down.
double add_row(const Pixel* object, Pixel* gradient, std::int64_t row, std::int64_t rows,
               std::int64_t cols, float weight) {
  const Pixel* own = object + row * cols;
  const Pixel* above = row > 0 ? own - cols : own;
  const Pixel* below = row + 1 < rows ? own + cols : own;
  Pixel* to = gradient + row * cols;
  float value = 0;
  for (std::int64_t i = 0; i < cols; ++i) {
    const Pixel left = own[i > 0 ? i - 1 : i], right = own[i + 1 < cols ? i + 1 : i];
    to[i] += weight * (4.F * own[i] - above[i] - below[i] - left - right);
    value += std::norm(right - own[i]) + std::norm(below[i] - own[i]);
  }
  return value;
}

}  // namespace

at::Tensor spread_at(const at::Tensor& image, const at::Tensor& corners, std::int64_t rows,
                     std::int64_t cols) {
  at::Tensor sum = at::zeros({rows, cols}, image.options());
  const std::int64_t size = image.size(0);
  if (!image.is_cpu()) {
    for (const at::Tensor& some : corners.split(kPatchesAtOnce))
      sum += add_patches(image.expand({some.size(0), size, size}),
                         layout_at(some, size, rows, cols))[0];
    return sum;
  }
  const auto* corner = corners.const_data_ptr<std::int64_t>();
  const auto* from = image.const_data_ptr<float>();
  auto* to = sum.data_ptr<float>();
  for (std::int64_t k = 0; k < corners.size(0); ++k)
    for (std::int64_t row = 0; row < size; ++row) {
      float* line = to + (corner[2 * k] + row) * cols + corner[2 * k + 1];
      for (std::int64_t col = 0; col < size; ++col) line[col] += from[row * size + col];
    }
  return sum;
}

at::Tensor gathered_power(const at::Tensor& canvas, const at::Tensor& corners, std::int64_t size) {
  if (!canvas.is_cpu())
    return summed_patches(at::view_as_real(canvas).square().sum(-1), corners, size);
  const auto* value = canvas.const_data_ptr<Pixel>();
  return gathered<float>(corners, size, canvas.size(1),
                         [&](std::int64_t i) { return std::norm(value[i]); });
}

at::Tensor gathered_product(const at::Tensor& a, const at::Tensor& b, const at::Tensor& corners,
                            std::int64_t size) {
  if (!a.is_cpu()) return summed_patches(a.conj() * b, corners, size);
  const auto *left = a.const_data_ptr<Pixel>(), *right = b.const_data_ptr<Pixel>();
  return gathered<Pixel>(corners, size, a.size(1), [&](std::int64_t i) {
    // Spelled out: the product of complex numbers looks for infinities.
    const Pixel x = left[i], y = right[i];
    return Pixel(x.real() * y.real() + x.imag() * y.imag(),
                 x.real() * y.imag() - x.imag() * y.real());
  });
}

at::Tensor light_on_object(const SolverProblem& problem, const SolverState& state) {
  const at::Tensor corners = whole_corners(problem, state, all_patterns(problem));
  return spread_at(mode_power(state.main_probe()), corners, state.rows(), state.cols());
}

double image_movement(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& before) {
  const at::Tensor light = light_on_object(problem, state);
  const at::Tensor weight = light / (light.sum(at::kDouble) * state.object.size(0));
  const auto mean = [&](const at::Tensor& values) {
    return (values.to(at::kComplexDouble) * weight).sum().item().toComplexDouble();
  };
  const auto spread = [&](const at::Tensor& values) {
    return std::sqrt(
        (at::view_as_real(values).square().sum(-1) * weight).sum(at::kDouble).item<double>());
  };
  const double power = std::pow(spread(before), 2);
  const c10::complex<double> factor =
      power > 0 ? mean(before.conj() * state.object) / power : c10::complex<double>(0, 0);
  const double contrast =
      spread(state.object - at::scalar_tensor(mean(state.object), at::kComplexFloat));
  const double moved = spread(state.object - before * at::scalar_tensor(factor, at::kComplexFloat));
  return contrast > 0 ? moved / contrast : 0;
}

double one_sided_light(const Scan& scan) {
  const at::Tensor opposite = at::roll(scan.mask().flip({0, 1}), {1, 1}, {0, 1});
  const at::Tensor light = mean_pattern(scan, scan.frames_with(FrameUse::used)) * scan.mask();
  const double all = light.sum().item<double>();
  return all > 0 ? (light * opposite.logical_not()).sum().item<double>() / all : 0;
}

double mean_light(const SolverProblem& problem, const SolverState& state) {
  const at::Tensor light = light_on_object(problem, state);
  return light.masked_select(lit_pixels(light, kLitToJudge)).mean().item<double>();
}

namespace {

/// weight sum (|O(x)| - |O(x + 1)|)^2 over rows and columns; its gradient is added.
double add_amplitude_smoothness(const at::Tensor& object, double weight, at::Tensor& gradient) {
  const at::Tensor amplitude = object.abs();
  at::Tensor slope = at::zeros_like(amplitude);
  double value = 0;
  for (const std::int64_t axis : {-2, -1}) {
    const at::Tensor change = amplitude.diff(1, axis);
    const std::int64_t length = change.size(axis);
    slope.narrow(axis, 1, length).add_(change);
    slope.narrow(axis, 0, length).sub_(change);
    value += change.square().sum(at::kDouble).item<double>();
  }
  gradient.add_(object * (slope / amplitude.clamp_min(1e-6)), 2 * weight);
  return weight * value;
}

/// Changes of the object from pixel to pixel along an axis.
struct Changes {
  at::Tensor amplitude, phase, mean;  ///< the last one the mean of the two amplitudes
};

Changes changes_along(const at::Tensor& object, const at::Tensor& amplitude, std::int64_t axis) {
  const std::int64_t length = object.size(axis) - 1;
  const at::Tensor turn = object.narrow(axis, 1, length) * object.narrow(axis, 0, length).conj();
  return {amplitude.diff(1, axis), at::angle(turn),
          0.5 * (amplitude.narrow(axis, 0, length) + amplitude.narrow(axis, 1, length))};
}

/// weight sum a(x)^2 over rows and columns, a as in the header; its gradient is added.
double add_absorption(const at::Tensor& object, double weight, double absorption,
                      at::Tensor& gradient) {
  const at::Tensor amplitude = object.abs().clamp_min(1e-6);
  at::Tensor by_amplitude = at::zeros_like(amplitude), by_phase = at::zeros_like(amplitude);
  double value = 0;
  for (const std::int64_t axis : {-2, -1}) {
    const Changes change = changes_along(object, amplitude, axis);
    const at::Tensor across = change.amplitude - absorption * change.mean * change.phase;
    const at::Tensor by_mean = across * change.phase * (0.5 * absorption);
    const at::Tensor along = across * change.mean * absorption;
    const std::int64_t length = across.size(axis);
    by_amplitude.narrow(axis, 1, length).add_(across - by_mean);
    by_amplitude.narrow(axis, 0, length).sub_(across + by_mean);
    by_phase.narrow(axis, 1, length).sub_(along);
    by_phase.narrow(axis, 0, length).add_(along);
    value += across.square().sum(at::kDouble).item<double>();
  }
  const at::Tensor direction = at::complex(by_amplitude / amplitude, by_phase / amplitude.square());
  gradient.add_(object * direction, 2 * weight);
  return weight * value;
}

/// weight sum 2 edge^2 [ sqrt(1 + q / edge^2) - 1 ], q as in the header; its gradient is added.
double add_edges(const at::Tensor& object, double weight, double edge, at::Tensor& gradient) {
  const at::Tensor rows = object.diff(1, -2), cols = object.diff(1, -1);
  const auto squares = [](const at::Tensor& values) {
    return at::view_as_real(values).square().sum(-1);
  };
  at::Tensor root = at::ones(object.sizes(), object.options().dtype(at::kFloat));
  root.narrow(-2, 0, rows.size(-2)).add_(squares(rows), 1 / (edge * edge));
  root.narrow(-1, 0, cols.size(-1)).add_(squares(cols), 1 / (edge * edge));
  root.sqrt_();
  for (const std::int64_t axis : {-2, -1}) {
    const at::Tensor& change = axis == -2 ? rows : cols;
    const std::int64_t length = change.size(axis);
    const at::Tensor pull = change / root.narrow(axis, 0, length);
    gradient.narrow(axis, 1, length).add_(pull, 2 * weight);
    gradient.narrow(axis, 0, length).sub_(pull, 2 * weight);
  }
  return 2 * weight * edge * edge * (root - 1).sum(at::kDouble).item<double>();
}

/// weight sum |O(x) - O(x + 1)|^2 over rows and columns; its gradient is added.
double add_squares(const at::Tensor& object, double weight, at::Tensor& gradient) {
  if (!object.is_cpu()) {
    double value = 0;
    for (const std::int64_t axis : {-2, -1}) {
      const at::Tensor change = object.diff(1, axis);
      const std::int64_t length = change.size(axis);
      gradient.narrow(axis, 1, length).add_(change, 2 * weight);
      gradient.narrow(axis, 0, length).sub_(change, 2 * weight);
      value += at::view_as_real(change).square().sum(at::kDouble).item<double>();
    }
    return weight * value;
  }
  const at::Tensor from = object.contiguous();
  const std::int64_t rows = from.size(-2), cols = from.size(-1), all = from.numel() / cols;
  const Pixel* values = from.const_data_ptr<Pixel>();
  Pixel* to = gradient.data_ptr<Pixel>();
  const double squares = at::parallel_reduce(
      0, all, kObjectRows, 0.0,
      [&](std::int64_t first, std::int64_t last, double sum) {
        for (std::int64_t row = first; row < last; ++row) {
          const std::int64_t slice = row / rows * rows * cols;
          sum += add_row(values + slice, to + slice, row % rows, rows, cols,
                         static_cast<float>(2 * weight));
        }
        return sum;
      },
      std::plus<double>());
  return weight * squares;
}

}  // namespace

double add_smoothness(const at::Tensor& object, const SmoothnessPrior& prior, double share,
                      at::Tensor& gradient) {
  const double weight = share / (2 * prior.slope * prior.slope);
  const double value = prior.edge > 0 ? add_edges(object, weight, prior.edge, gradient)
                                      : add_squares(object, weight, gradient);
  if (prior.stiffness == 1) return value;
  const double more = weight * (prior.stiffness - 1);
  return value + (prior.absorption == 0 ? add_amplitude_smoothness(object, more, gradient)
                                        : add_absorption(object, more, prior.absorption, gradient));
}

double absorption_of(const at::Tensor& object, const at::Tensor& lit) {
  const at::Tensor amplitude = object.abs();
  double both = 0, phases = 0;
  for (const std::int64_t axis : {-2, -1}) {
    const Changes change = changes_along(object, amplitude, axis);
    const std::int64_t length = object.size(axis) - 1;
    const at::Tensor phase =
        change.mean * change.phase * lit.narrow(axis, 0, length) * lit.narrow(axis, 1, length);
    both += (phase * change.amplitude).sum(at::kDouble).item<double>();
    phases += phase.square().sum(at::kDouble).item<double>();
  }
  return phases > 0 ? both / phases : 0;
}

double smoothness_curvature(double slope) { return 4 / (slope * slope); }

bool smoothness_matters(double slope, double light) {
  return slope > 0 && smoothness_curvature(slope) > kNoticeable * 2 * light;
}

void share_power(SolverState& state, double power) {
  const double now = probe_power(state.main_probe());
  if (!(now > 0)) return;
  const double factor = std::sqrt(power / now);
  state.probe = state.probe * factor;
  state.object = state.object / factor;
}

at::Tensor at_equal_power(const at::Tensor& gradient, const at::Tensor& probe) {
  const double along =
      (at::view_as_real(probe) * at::view_as_real(gradient)).sum(at::kDouble).item<double>();
  return gradient - probe * (along / std::max(probe_power(probe), 1e-30));
}

namespace {

constexpr double kWidth = 0.12;  // of N: about the radius of a probe that fills half its field

/// Row^p col^q in units of kWidth N, the `index`-th of 1, r, c, rc, r^2, c^2, r^2 c, ...
at::Tensor polynomial(std::int64_t index, std::int64_t size, at::TensorOptions real) {
  static const std::vector<std::pair<int, int>> first{{0, 0}, {1, 0}, {0, 1},
                                                      {1, 1}, {2, 0}, {0, 2}};
  const auto power =
      index < 6 ? first[static_cast<std::size_t>(index)]
                : std::pair<int, int>(1 + static_cast<int>(index) / 3, static_cast<int>(index) % 3);
  const at::Tensor axis = (at::arange(size, real) - static_cast<double>(size / 2))
                              .div_(kWidth * static_cast<double>(size));
  return axis.pow(power.first).unsqueeze(1) * axis.pow(power.second);
}

}  // namespace

at::Tensor with_modes(const at::Tensor& probe, std::int64_t modes, double power) {
  if (probe.size(0) >= modes) return probe.slice(0, 0, modes).clone();
  std::vector<at::Tensor> all = probe.unbind(0);
  for (std::int64_t mode = probe.size(0); mode < modes; ++mode) {
    const at::Tensor shape =
        probe[0] * polynomial(mode, probe.size(-1), probe.options().dtype(at::kFloat));
    all.push_back(shape * std::sqrt(power * probe_power(probe[0]) / probe_power(shape)));
  }
  const at::Tensor stacked = at::stack(all);
  return (stacked * std::sqrt(probe_power(probe) / probe_power(stacked))).contiguous();
}

at::Tensor orthogonal_modes(const at::Tensor& probe) {
  if (probe.size(0) == 1) return probe;
  // P = U S V: rotating the modes by U^H leaves sum_m |P_m|^2, and every pattern, as it is. The
  // small Gram matrix has the same U.
  const at::Tensor flat = probe.flatten(1).to(at::kComplexDouble);
  const auto [values, vectors] = at::linalg_eigh(flat.matmul(flat.conj().t()));
  at::Tensor turned = vectors.conj().t().flip({0}).matmul(flat);
  const at::Tensor phase = (turned[0] * flat[0].conj()).sum();
  turned = turned * (phase.abs() / phase);
  return turned.view(probe.sizes()).to(probe.scalar_type()).contiguous();
}

}  // namespace ptyche
