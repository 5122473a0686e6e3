#include "ptyche/solve/adam.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMomentGrain = 8192;
constexpr std::int64_t kBlock = 256;  // factors that are made before they are used

/// What is the same for all numbers of one step.
template <class T>
struct StepFactors {
  T keep_mean, rate, square_scale, floor;
};

/// square[i] := keep square[i] + (1 - keep) |gradient[i]|^2 for i in first..last, `parts` (1 or 2)
/// numbers to one square. Returns the largest. Two loops, so that a compiler can see the vectors.
template <class T, int parts>
T gather_squares(T* square, const T* gradient, T keep, std::int64_t first, std::int64_t last) {
  T most = 0;
  for (std::int64_t i = first; i < last; ++i) {
    T power = 0;
    for (int part = 0; part < parts; ++part)
      power += gradient[parts * i + part] * gradient[parts * i + part];
    square[i] = keep * square[i] + (1 - keep) * power;
    most = square[i] > most ? square[i] : most;
  }
  return most;
}

/// Numbers first..last, `parts` of them to one square.
template <class T, int parts>
void step(T* value, const T* gradient, T* mean, const T* square, std::int64_t first,
          std::int64_t last, const StepFactors<T>& f) {
  std::array<T, parts * kBlock> factors;
  for (std::int64_t block = first; block < last; block += kBlock) {
    const std::int64_t count = std::min(kBlock, last - block);
    for (std::int64_t i = 0; i < count; ++i)
      for (int part = 0; part < parts; ++part)
        factors[parts * i + part] =
            f.rate / (std::sqrt(square[block + i] * f.square_scale) + f.floor);
    for (std::int64_t i = 0, at = parts * block; i < parts * count; ++i, ++at) {
      mean[at] = f.keep_mean * mean[at] + (1 - f.keep_mean) * gradient[at];
      value[at] -= factors[i] * mean[at];
    }
  }
}

ComplexAdam new_moments(const at::Tensor& value) {
  return {
      at::zeros_like(value),
      at::zeros(value.sizes(), value.options().dtype(c10::toRealValueType(value.scalar_type()))),
      0};
}

/// The one axis that is longer in `now`; -1 where shapes differ otherwise.
std::int64_t grown_axis(at::IntArrayRef before, at::IntArrayRef now) {
  std::int64_t longer = -1;
  if (before.size() != now.size()) return -1;
  for (std::size_t axis = 0; axis < now.size(); ++axis) {
    if (before[axis] == now[axis]) continue;
    if (longer >= 0 || before[axis] > now[axis]) return -1;
    longer = static_cast<std::int64_t>(axis);
  }
  return longer;
}

/// ComplexAdam for a value that is new, or that has grown along one axis (probe modes): what is new
/// starts at rest, with the squares of the first entry, so that it does not begin with a step of
/// full length along noise.
ComplexAdam grown(const ComplexAdam& old, const at::Tensor& value) {
  ComplexAdam moments = new_moments(value);
  const std::int64_t axis = old.mean.defined() ? grown_axis(old.mean.sizes(), value.sizes()) : -1;
  if (axis < 0) return moments;
  const std::int64_t known = old.mean.size(axis);
  moments.mean.narrow(axis, 0, known).copy_(old.mean);
  moments.square.copy_(old.square.narrow(axis, 0, 1).expand_as(moments.square));
  moments.square.narrow(axis, 0, known).copy_(old.square);
  moments.steps = old.steps;
  return moments;
}

template <class T>
StepFactors<T> factors(const ComplexAdam& moments, double most, double rate,
                       const ComplexAdamOptions& options) {
  const auto steps = static_cast<double>(moments.steps);
  const double mean_scale = 1 - std::pow(options.keep_mean, steps);
  const double square_scale = 1 / (1 - std::pow(options.keep_square, steps));
  const double peak = std::sqrt(most * square_scale);
  return {static_cast<T>(options.keep_mean), static_cast<T>(rate / mean_scale),
          static_cast<T>(square_scale),
          static_cast<T>(std::max(options.floor * peak, options.epsilon))};
}

/// The gradient as its numbers must lie beside those of `value`.
at::Tensor laid_out_as(const at::Tensor& gradient, const at::Tensor& value) {
  if (gradient.strides() == value.strides() && !gradient.is_conj()) return gradient;
  return at::empty_like(value).copy_(gradient);
}

template <class T, int parts>
void step_all(at::Tensor& value, const at::Tensor& gradient, ComplexAdam& moments, double rate,
              const ComplexAdamOptions& options) {
  const at::Tensor along = laid_out_as(gradient, value);
  const std::int64_t count = value.numel();
  T *to = static_cast<T*>(value.data_ptr()), *mean = static_cast<T*>(moments.mean.data_ptr());
  const T* from = static_cast<const T*>(along.data_ptr());
  T* square = moments.square.data_ptr<T>();
  const auto keep = static_cast<T>(options.keep_square);
  ++moments.steps;
  if (options.floor == 0) {  // no largest one to look for: all in one pass over memory
    const StepFactors<T> f = factors<T>(moments, 0, rate, options);
    at::parallel_for(0, count, kMomentGrain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; block += kBlock) {
        const std::int64_t end = std::min(last, block + kBlock);
        gather_squares<T, parts>(square, from, keep, block, end);
        step<T, parts>(to, from, mean, square, block, end, f);
      }
    });
    return;
  }
  const T most = at::parallel_reduce(
      0, count, kMomentGrain, T(0),
      [&](std::int64_t first, std::int64_t last, T) {
        return gather_squares<T, parts>(square, from, keep, first, last);
      },
      [](T a, T b) { return std::max(a, b); });
  const StepFactors<T> f = factors<T>(moments, static_cast<double>(most), rate, options);
  at::parallel_for(0, count, kMomentGrain, [&](std::int64_t first, std::int64_t last) {
    step<T, parts>(to, from, mean, square, first, last, f);
  });
}

/// The same step by LibTorch's operations, on any device; its numbers never leave it.
void step_there(at::Tensor& value, const at::Tensor& gradient, ComplexAdam& moments, double rate,
                const ComplexAdamOptions& options) {
  const at::Tensor power = gradient.is_complex()
                               ? at::view_as_real(gradient.resolve_conj()).square().sum(-1)
                               : gradient.square();
  moments.square.mul_(options.keep_square).add_(power, 1 - options.keep_square);
  moments.mean.mul_(options.keep_mean).add_(gradient, 1 - options.keep_mean);
  const auto steps = static_cast<double>(++moments.steps);
  const at::Tensor root = (moments.square / (1 - std::pow(options.keep_square, steps))).sqrt();
  const at::Tensor floor = (options.floor * root.max()).clamp_min(options.epsilon);
  value.sub_(moments.mean / (root + floor), rate / (1 - std::pow(options.keep_mean, steps)));
}

}  // namespace

void adam_step(at::Tensor& value, const at::Tensor& gradient, ComplexAdam& moments, double rate,
               const ComplexAdamOptions& options) {
  if (!moments.mean.defined() || moments.mean.sizes() != value.sizes())
    moments = grown(moments, value);
  if (!value.is_cpu())
    step_there(value, gradient, moments, rate, options);
  else if (value.scalar_type() == at::kDouble)
    step_all<double, 1>(value, gradient, moments, rate, options);
  else if (value.is_complex())
    step_all<float, 2>(value, gradient, moments, rate, options);
  else
    step_all<float, 1>(value, gradient, moments, rate, options);
}

namespace {

constexpr double kMostSteps = 1e12;
constexpr double kLargestSquare = 1e38;

/// Mean, square and number of steps of moments of an array like `value`.
std::array<DatasetLayout, 3> moments_of(const std::string& path, const at::Tensor& value) {
  const std::vector<std::int64_t> shape = value.sizes().vec();
  return {like(value, path + "/mean"),
          DatasetLayout{path + "/square", c10::toRealValueType(value.scalar_type()), shape, 0,
                        kLargestSquare, value.device()},
          DatasetLayout{path + "/steps", at::kLong, {1}, 1, kMostSteps}};
}

}  // namespace

void write_adam(Hdf5File& file, const std::string& path, const ComplexAdam& moments) {
  if (moments.steps == 0) return;
  const auto [mean, square, steps] = moments_of(path, moments.mean);
  write(file, mean, moments.mean);
  write(file, square, moments.square);
  write(file, steps, at::tensor({moments.steps}, at::kLong));
}

ComplexAdam read_adam(const Hdf5File& file, const std::string& path, const at::Tensor& value) {
  if (!file.has(path + "/steps") || !value.defined()) return {};
  const auto [mean, square, steps] = moments_of(path, value);
  return {read(file, mean), read(file, square), read(file, steps).item<std::int64_t>()};
}

void momentum_step(at::Tensor& value, at::Tensor& velocity, const at::Tensor& along, double step,
                   double momentum, Momentum rule) {
  if (!value.is_cpu()) {
    velocity.mul_(momentum).add_(along, step);
    if (rule == Momentum::nesterov) value.add_(along, step).add_(velocity, momentum);
    if (rule == Momentum::heavy_ball) value.add_(velocity);
    return;
  }
  using Pixel = c10::complex<float>;
  auto* to = value.data_ptr<Pixel>();
  auto* speed = velocity.data_ptr<Pixel>();
  const auto* direction = along.const_data_ptr<Pixel>();
  const auto keep = static_cast<float>(momentum), length = static_cast<float>(step);
  at::parallel_for(0, value.numel(), kMomentGrain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const Pixel change = length * direction[i];
      speed[i] = keep * speed[i] + change;
      to[i] += rule == Momentum::nesterov ? change + keep * speed[i] : speed[i];
    }
  });
}

}  // namespace ptyche
