#include "ptyche/engine/norm_gelu.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/cuda/device_kernels.h"

namespace ptyche {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Sizes, and the layers' own numbers.
struct Layer {
  std::int64_t images, features, pixels, groups;
  const float *weight, *bias;
  double eps;

  Layer(const at::Tensor& x, std::int64_t groups_, const at::Tensor& weight_,
        const at::Tensor& bias_, double eps_)
      : images(x.size(0)),
        features(x.size(1)),
        pixels(x.size(2) * x.size(3)),
        groups(groups_),
        weight(weight_.const_data_ptr<float>()),
        bias(bias_.const_data_ptr<float>()),
        eps(eps_) {}
  std::int64_t per_group() const { return features / groups; }
  double numbers_of_group() const { return static_cast<double>(pixels * per_group()); }
};

/// What one thread needs for an image: numbers of a feature, repeated over a period.
template <class S>
struct Workspace {
  explicit Workspace(const Layer& layer)
      : kernels(cpu::norm_kernels<S>()),
        image{layer.pixels * layer.features, std::lcm(layer.features, kernels.lanes)},
        shift(period()),
        scale(period()),
        offset(period()),
        rest(period()),
        sums(2 * period()) {}
  std::size_t period() const { return static_cast<std::size_t>(image.period); }
  void clear_sums() { std::fill(sums.begin(), sums.end(), 0.0); }

  const cpu::NormKernels<S>& kernels;
  cpu::NormImage image;
  std::vector<float> shift, scale, offset, rest;
  std::vector<double> sums;
};

/// value(feature) over the period.
template <class Value>
void repeat(std::int64_t features, std::vector<float>& to, const Value& value) {
  for (std::int64_t c = 0; c < features; ++c) {
    const auto of_feature = static_cast<float>(value(c));
    for (std::size_t i = static_cast<std::size_t>(c); i < to.size();
         i += static_cast<std::size_t>(features))
      to[i] = of_feature;
  }
}

/// The two sums of one feature.
struct Sums {
  double first = 0, second = 0;
};

template <class S>
Sums sums_of(const Workspace<S>& own, std::int64_t feature, std::int64_t features) {
  Sums sums;
  for (std::size_t i = static_cast<std::size_t>(feature); i < own.period();
       i += static_cast<std::size_t>(features)) {
    sums.first += own.sums[i];
    sums.second += own.sums[own.period() + i];
  }
  return sums;
}

float number(float x) { return x; }
float number(cpu::Bfloat16 x) {
  return static_cast<float>(at::BFloat16(static_cast<std::uint16_t>(x), at::BFloat16::from_bits()));
}

/// Mean and 1 / standard deviation of each group, from sums about the first pixel: what is
/// subtracted of the squares is no larger than what is left.
template <class S>
void moments_of(const Layer& layer, const S* x, Workspace<S>& own, float* moments) {
  repeat(layer.features, own.shift, [&](std::int64_t c) { return number(x[c]); });
  own.clear_sums();
  own.kernels.norm_sums(own.image, x, own.shift.data(), own.sums.data());
  const auto pixels = static_cast<double>(layer.pixels);
  for (std::int64_t g = 0; g < layer.groups; ++g) {
    double mean = 0, square = 0;
    const std::int64_t first = g * layer.per_group();
    for (std::int64_t c = first; c < first + layer.per_group(); ++c)
      mean += sums_of(own, c, layer.features).first +
              pixels * static_cast<double>(own.shift[static_cast<std::size_t>(c)]);
    mean /= layer.numbers_of_group();
    for (std::int64_t c = first; c < first + layer.per_group(); ++c) {
      const Sums sums = sums_of(own, c, layer.features);
      const double away = mean - static_cast<double>(own.shift[static_cast<std::size_t>(c)]);
      square += sums.second - 2 * away * sums.first + pixels * away * away;
    }
    const double variance = std::max(square, 0.0) / layer.numbers_of_group();
    moments[2 * g] = static_cast<float>(mean);
    moments[2 * g + 1] = static_cast<float>(1 / std::sqrt(variance + layer.eps));
  }
}

/// z = scale x + offset.
template <class S>
void load_affine(const Layer& layer, const float* moments, Workspace<S>& own) {
  const auto of = [&](std::int64_t c) { return moments + 2 * (c / layer.per_group()); };
  repeat(layer.features, own.scale, [&](std::int64_t c) { return layer.weight[c] * of(c)[1]; });
  repeat(layer.features, own.offset,
         [&](std::int64_t c) { return layer.bias[c] - layer.weight[c] * of(c)[1] * of(c)[0]; });
}

/// Calls with(own, first) for every image once its moments are known, `first` its first number.
template <class S, class With>
void each_normed(const Layer& layer, const S* x, float* moments, const With& with) {
  const std::int64_t numbers = layer.pixels * layer.features;
  at::parallel_for(0, layer.images, 1, [&](std::int64_t begin, std::int64_t end) {
    Workspace<S> own(layer);
    for (std::int64_t k = begin; k < end; ++k) {
      float* of_image = moments + 2 * k * layer.groups;
      moments_of(layer, x + k * numbers, own, of_image);
      load_affine(layer, of_image, own);
      with(own, k * numbers);
    }
  });
}

template <class S>
void forward_of(const Layer& layer, const S* x, float* moments, S* y) {
  each_normed(layer, x, moments, [&](const Workspace<S>& own, std::int64_t first) {
    own.kernels.norm_gelu(own.image, x + first, own.scale.data(), own.offset.data(), y + first);
  });
}

template <class S>
void bytes_of_layer(const Layer& layer, const S* x, float* moments, const ByteUnits& units,
                    std::uint8_t* y) {
  each_normed(layer, x, moments, [&](const Workspace<S>& own, std::int64_t first) {
    own.kernels.norm_gelu_bytes(own.image, x + first, own.scale.data(), own.offset.data(),
                                static_cast<float>(units.per_unit), static_cast<float>(units.zero),
                                y + first);
  });
}

/// Gradients of one image from the sums of the slopes and of slope (x - mean):
/// dx = r (w slope - A - xhat B), A = mean_g(w slope), B = mean_g(w slope xhat), xhat = (x - m) r.
///   gradients  (2, features), of weight and bias
template <class S>
void load_backward(const Layer& layer, const float* moments, Workspace<S>& own, float* gradients) {
  std::vector<double> a(static_cast<std::size_t>(layer.groups)), b(a.size());
  for (std::int64_t c = 0; c < layer.features; ++c) {
    const auto group = static_cast<std::size_t>(c / layer.per_group());
    const Sums sums = sums_of(own, c, layer.features);
    const double along = sums.second * static_cast<double>(moments[2 * group + 1]);
    gradients[c] = static_cast<float>(along);
    gradients[layer.features + c] = static_cast<float>(sums.first);
    a[group] += static_cast<double>(layer.weight[c]) * sums.first / layer.numbers_of_group();
    b[group] += static_cast<double>(layer.weight[c]) * along / layer.numbers_of_group();
  }
  const auto group_of = [&](std::int64_t c) {
    return static_cast<std::size_t>(c / layer.per_group());
  };
  const auto inverse = [&](std::int64_t c) {
    return static_cast<double>(moments[2 * group_of(c) + 1]);
  };
  // own.scale is r w as it stands.
  repeat(layer.features, own.offset,
         [&](std::int64_t c) { return -inverse(c) * inverse(c) * b[group_of(c)]; });
  repeat(layer.features, own.rest, [&](std::int64_t c) {
    const auto mean = static_cast<double>(moments[2 * group_of(c)]);
    return inverse(c) * (inverse(c) * mean * b[group_of(c)] - a[group_of(c)]);
  });
}

template <class S>
void backward_of(const Layer& layer, const S* x, const S* dy, const float* moments, S* dx,
                 float* gradients) {
  const std::int64_t numbers = layer.pixels * layer.features;
  at::parallel_for(0, layer.images, 1, [&](std::int64_t begin, std::int64_t end) {
    Workspace<S> own(layer);
    std::vector<float> slope(static_cast<std::size_t>(numbers));
    for (std::int64_t k = begin; k < end; ++k) {
      const float* of_image = moments + 2 * k * layer.groups;
      load_affine(layer, of_image, own);
      repeat(layer.features, own.shift,
             [&](std::int64_t c) { return of_image[2 * (c / layer.per_group())]; });
      own.clear_sums();
      own.kernels.gelu_backward(own.image, x + k * numbers, dy + k * numbers, own.scale.data(),
                                own.offset.data(), own.shift.data(), slope.data(), own.sums.data());
      load_backward(layer, of_image, own, gradients + 2 * k * layer.features);
      own.kernels.norm_backward(own.image, x + k * numbers, slope.data(), own.scale.data(),
                                own.offset.data(), own.rest.data(), dx + k * numbers);
    }
  });
}

template <class S>
S* numbers_of(const at::Tensor& x) {
  return static_cast<S*>(x.data_ptr());
}

at::Tensor features_innermost(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

struct NormGelu : torch::autograd::Function<NormGelu> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, std::int64_t groups,
                            const at::Tensor& weight, const at::Tensor& bias, double eps) {
    const Layer layer(x, groups, weight, bias, eps);
    at::Tensor y = at::empty_like(x), moments = at::empty({x.size(0), groups, 2}, weight.options());
    auto* of_groups = moments.data_ptr<float>();
    if (x.scalar_type() == at::kFloat)
      forward_of(layer, numbers_of<float>(x), of_groups, numbers_of<float>(y));
    else
      forward_of(layer, numbers_of<cpu::Bfloat16>(x), of_groups, numbers_of<cpu::Bfloat16>(y));
    context->save_for_backward({x, weight, bias, moments});
    context->saved_data["eps"] = eps;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradient) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2], &moments = saved[3];
    const Layer layer(x, moments.size(1), weight, bias, context->saved_data["eps"].toDouble());
    const at::Tensor dy = features_innermost(gradient[0].to(x.scalar_type()));
    at::Tensor dx = at::empty_like(x);
    at::Tensor parts = at::empty({x.size(0), 2, x.size(1)}, weight.options());
    const auto* of_groups = moments.const_data_ptr<float>();
    auto* of_images = parts.data_ptr<float>();
    if (x.scalar_type() == at::kFloat)
      backward_of(layer, numbers_of<float>(x), numbers_of<float>(dy), of_groups,
                  numbers_of<float>(dx), of_images);
    else
      backward_of(layer, numbers_of<cpu::Bfloat16>(x), numbers_of<cpu::Bfloat16>(dy), of_groups,
                  numbers_of<cpu::Bfloat16>(dx), of_images);
    const at::Tensor both = parts.sum(0);
    return {dx, {}, both[0], both[1], {}};
  }
};

bool wants_gradient(const at::Tensor& x, const at::Tensor& weight) {
  return at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad());
}

bool has_kernels(const at::Tensor& x, const at::Tensor& weight) {
  const bool type = x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16;
  return x.is_cpu() && type && x.dim() == 4 && weight.scalar_type() == at::kFloat &&
         x.numel() > 0 && x.is_contiguous(at::MemoryFormat::ChannelsLast);
}

}  // namespace

at::Tensor group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double eps) {
  if (!wants_gradient(x, weight) && cuda::covers_group_norm_gelu(x, groups, weight))
    return cuda::group_norm_gelu(x, groups, weight, bias, eps);
  if (!has_kernels(x, weight)) return at::gelu(at::group_norm(x, groups, weight, bias, eps));
  return NormGelu::apply(x, groups, weight, bias, eps);
}

at::Tensor group_norm_gelu_bytes(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                                 const at::Tensor& bias, double eps, const ByteUnits& units) {
  if (!has_kernels(x, weight)) {
    const at::Tensor values = at::gelu(at::group_norm(x, groups, weight, bias, eps)).to(at::kFloat);
    return features_innermost(
        (values * units.per_unit + units.zero).nan_to_num(0).round().clamp(0, 255).to(at::kByte));
  }
  const Layer layer(x, groups, weight, bias, eps);
  at::Tensor bytes = at::empty_like(x, x.options().dtype(at::kByte));
  std::vector<float> moments(static_cast<std::size_t>(2 * layer.images * groups));
  if (x.scalar_type() == at::kFloat)
    bytes_of_layer(layer, numbers_of<float>(x), moments.data(), units,
                   bytes.data_ptr<std::uint8_t>());
  else
    bytes_of_layer(layer, numbers_of<cpu::Bfloat16>(x), moments.data(), units,
                   bytes.data_ptr<std::uint8_t>());
  return bytes;
}

}  // namespace ptyche
