#include "ptyche/solve/moments.h"

#include <ATen/Parallel.h>

#include <cmath>

namespace ptyche {
namespace {

constexpr std::int64_t kGrain = 32768;

/// square := keep square + (1 - keep) |gradient|^2, in place.
void gather_square(at::Tensor& square, const at::Tensor& gradient, double keep) {
  const at::Tensor power =
      gradient.is_complex() ? at::view_as_real(gradient).square().sum(-1) : gradient.square();
  square.lerp_(power, 1 - keep);
}

/// What is the same for all numbers of one step.
template <class T>
struct StepFactors {
  T keep_mean, rate, square_scale, floor;
};

/// Numbers first..last, `parts` (1 or 2) of them to one square.
template <class T>
void step(T* value, const T* gradient, T* mean, const T* square, std::int64_t first,
          std::int64_t last, std::int64_t parts, const StepFactors<T>& f) {
  for (std::int64_t i = first; i < last; ++i) {
    const T factor = f.rate / (std::sqrt(square[i] * f.square_scale) + f.floor);
    for (std::int64_t part = i * parts; part < (i + 1) * parts; ++part) {
      mean[part] = f.keep_mean * mean[part] + (1 - f.keep_mean) * gradient[part];
      value[part] -= factor * mean[part];
    }
  }
}

Moments new_moments(const at::Tensor& value) {
  return {at::zeros_like(value),
          at::zeros(value.sizes(), c10::toRealValueType(value.scalar_type())), 0};
}

/// Moments for a value that is new, or whose first axis has grown (probe modes): what is new starts
/// at rest, with the squares of the first entry, so that it does not begin with a step of full
/// length along noise.
Moments grown(const Moments& old, const at::Tensor& value) {
  Moments moments = new_moments(value);
  const bool has_grown = old.mean.defined() && old.mean.dim() == value.dim() && value.dim() > 0 &&
                         old.mean.size(0) < value.size(0) &&
                         old.mean.sizes().slice(1) == value.sizes().slice(1);
  if (!has_grown) return moments;
  moments.mean.slice(0, 0, old.mean.size(0)).copy_(old.mean);
  moments.square.copy_(old.square.slice(0, 0, 1).expand_as(moments.square));
  moments.square.slice(0, 0, old.mean.size(0)).copy_(old.square);
  moments.steps = old.steps;
  return moments;
}

template <class T>
StepFactors<T> factors(Moments& moments, double rate, const MomentOptions& options) {
  const auto steps = static_cast<double>(++moments.steps);
  const double mean_scale = 1 - std::pow(options.keep_mean, steps);
  const double square_scale = 1 / (1 - std::pow(options.keep_square, steps));
  const double peak = std::sqrt(moments.square.max().item<double>() * square_scale);
  return {static_cast<T>(options.keep_mean), static_cast<T>(rate / mean_scale),
          static_cast<T>(square_scale), static_cast<T>(std::max(options.floor * peak, 1e-12))};
}

template <class T>
void step_all(at::Tensor& value, const at::Tensor& gradient, Moments& moments, double rate,
              const MomentOptions& options) {
  const at::Tensor along = gradient.contiguous();
  gather_square(moments.square, along, options.keep_square);
  const StepFactors<T> f = factors<T>(moments, rate, options);
  T *to = static_cast<T*>(value.data_ptr()), *mean = static_cast<T*>(moments.mean.data_ptr());
  const T* from = static_cast<const T*>(along.data_ptr());
  const T* square = moments.square.data_ptr<T>();
  at::parallel_for(0, value.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
    step(to, from, mean, square, first, last, value.is_complex() ? 2 : 1, f);
  });
}

}  // namespace

void moment_step(at::Tensor& value, const at::Tensor& gradient, Moments& moments, double rate,
                 const MomentOptions& options) {
  if (!moments.mean.defined() || moments.mean.sizes() != value.sizes())
    moments = grown(moments, value);
  if (value.scalar_type() == at::kDouble)
    step_all<double>(value, gradient, moments, rate, options);
  else
    step_all<float>(value, gradient, moments, rate, options);
}

void write_moments(Hdf5File& file, const std::string& path, const Moments& moments) {
  if (moments.steps == 0) return;
  file.write(path + "/mean", moments.mean);
  file.write(path + "/square", moments.square);
  file.write(path + "/steps", at::tensor({moments.steps}, at::kLong));
}

Moments read_moments(const Hdf5File& file, const std::string& path) {
  if (!file.has(path + "/steps")) return {};
  return {file.read(path + "/mean").values, file.read(path + "/square").values,
          file.read(path + "/steps").values.item<std::int64_t>()};
}

}  // namespace ptyche
