// Hand-written kernels for NVIDIA GPUs (device_kernels.cu). They take tensors that are there and
// run in LibTorch's stream; the program has them where it was built with CUDA (./run build cuda).
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace ptyche::cuda {

/// Whether there are kernels for tensors of this device: false for any but an NVIDIA GPU, in a
/// program built for CPUs, and where the driver refuses them, which a note says once.
bool has_kernels(at::Device device);

/// single_pattern_objects: whether its kernel covers such probes (k, modes, N, N), and the kernel.
bool covers_single_pattern(const at::Tensor& probes);
at::Tensor single_pattern_objects(const at::Tensor& probes, const at::Tensor& amplitudes,
                                  const at::Tensor& mask, const std::vector<std::int64_t>& steps,
                                  double regularisation, double floor);

/// group_norm_gelu without gradients: whether its kernel covers such images, and the kernel.
bool covers_group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight);
at::Tensor group_norm_gelu(const at::Tensor& x, std::int64_t groups, const at::Tensor& weight,
                           const at::Tensor& bias, double eps);

/// sum over the overlap of conj(a) b, each times its weight's root, of pairs of patches a and b
/// that overlap.
///   patches  (n, N, N) complex64
///   roots    (N, N) float32
///   corners  (n, 2) int64, whole pixels
///   pairs    (m, 2) int64, their numbers
/// Returns (m) complex128.
at::Tensor overlap_products(const at::Tensor& patches, const at::Tensor& roots,
                            const at::Tensor& corners, const at::Tensor& pairs);

}  // namespace ptyche::cuda
