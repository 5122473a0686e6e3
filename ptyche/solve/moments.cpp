#include "ptyche/solve/moments.h"

#include <ATen/Parallel.h>

#include <cmath>

namespace ptyche {
namespace {

constexpr std::int64_t kGrain = 32768;

/// The factors of one step.
template <class T>
struct StepFactors {
  T keep_mean, keep_square, rate, square_scale, floor;
};

template <class T>
void step_real(T* value, const T* gradient, T* mean, T* square, std::int64_t first,
               std::int64_t last, const StepFactors<T>& f) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    mean[i] = f.keep_mean * mean[i] + (1 - f.keep_mean) * gradient[i];
    square[i] = f.keep_square * square[i] + (1 - f.keep_square) * gradient[i] * gradient[i];
    value[i] -= f.rate * mean[i] / (std::sqrt(square[i] * f.square_scale) + f.floor);
  }
}

void step_complex(float* value, const float* gradient, float* mean, float* square,
                  std::int64_t first, std::int64_t last, const StepFactors<float>& f) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    const float re = gradient[2 * i], im = gradient[2 * i + 1];
    mean[2 * i] = f.keep_mean * mean[2 * i] + (1 - f.keep_mean) * re;
    mean[2 * i + 1] = f.keep_mean * mean[2 * i + 1] + (1 - f.keep_mean) * im;
    square[i] = f.keep_square * square[i] + (1 - f.keep_square) * (re * re + im * im);
    const float factor = f.rate / (std::sqrt(square[i] * f.square_scale) + f.floor);
    value[2 * i] -= factor * mean[2 * i];
    value[2 * i + 1] -= factor * mean[2 * i + 1];
  }
}

Moments new_moments(const at::Tensor& value) {
  return {at::zeros_like(value),
          at::zeros(value.sizes(), c10::toRealValueType(value.scalar_type())), 0};
}

template <class T>
StepFactors<T> factors(Moments& moments, double rate, const MomentOptions& options) {
  const auto step = static_cast<double>(++moments.steps);
  const double mean_scale = 1 - std::pow(options.keep_mean, step);
  const double square_scale = 1 / (1 - std::pow(options.keep_square, step));
  // The largest square of the last step stands for this one's, which is not known yet.
  const double peak = std::sqrt(moments.square.max().item<double>() * square_scale);
  return {static_cast<T>(options.keep_mean), static_cast<T>(options.keep_square),
          static_cast<T>(rate / mean_scale), static_cast<T>(square_scale),
          static_cast<T>(std::max(options.floor * peak, 1e-12))};
}

template <class T>
void step_all(at::Tensor& value, const at::Tensor& gradient, Moments& moments, double rate,
              const MomentOptions& options) {
  const StepFactors<T> f = factors<T>(moments, rate, options);
  const bool complex = value.is_complex();
  T *to = static_cast<T*>(value.data_ptr()), *mean = static_cast<T*>(moments.mean.data_ptr());
  T* square = moments.square.data_ptr<T>();
  const at::Tensor from = gradient.contiguous();
  const T* along = static_cast<const T*>(from.data_ptr());
  at::parallel_for(0, value.numel(), kGrain, [&](std::int64_t first, std::int64_t last) {
    if constexpr (std::is_same_v<T, float>) {
      if (complex) return step_complex(to, along, mean, square, first, last, f);
    }
    step_real(to, along, mean, square, first, last, f);
  });
}

}  // namespace

void moment_step(at::Tensor& value, const at::Tensor& gradient, Moments& moments, double rate,
                 const MomentOptions& options) {
  if (!moments.mean.defined() || moments.mean.sizes() != value.sizes())
    moments = new_moments(value);
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
