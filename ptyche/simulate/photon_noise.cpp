#include "ptyche/simulate/photon_noise.h"

#include <ATen/Parallel.h>

namespace ptyche {

at::Tensor poisson_draws(const at::Tensor& intensity, const at::Tensor& frames, std::uint64_t seed,
                         Purpose purpose) {
  const at::Tensor means = intensity.contiguous();
  at::Tensor draws = at::empty_like(means);
  const std::int64_t row = means.numel() / std::max<std::int64_t>(means.size(0), 1);
  const double* mean = means.const_data_ptr<double>();
  double* draw = draws.mutable_data_ptr<double>();
  const at::Tensor indices = frames.contiguous();
  const std::int64_t* frame = indices.const_data_ptr<std::int64_t>();
  at::parallel_for(0, means.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      RandomStream stream(seed, purpose, static_cast<std::uint64_t>(frame[k]));
      for (std::int64_t i = k * row; i < (k + 1) * row; ++i)
        draw[i] = static_cast<double>(stream.poisson(mean[i]));
    }
  });
  return draws;
}

}  // namespace ptyche
