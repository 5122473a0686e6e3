// The projection solvers by LibTorch's operations, on any device: what ptyche/engine/projections.h
// says of them, pattern by pattern in the same batches.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "ptyche/data/reconstruction.h"
#include "ptyche/engine/projections.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche::reference {

/// The state of a solver, all on one device, n patterns.
///   object       (rows, cols) complex64
///   probe        (modes, N, N) complex64
///   amplitudes   (n, N, N) float32 sqrt(counts), FFT order
///   mask         (N, N) bool, background (N, N) float32 counts or undefined, both FFT order
///   corners      (n, 2) float64 of the patches' (0, 0) on the object, between pixels
///   intensities  (n) float64 of the beam over its mean; undefined = 1
///   waves        (n, modes, N, N) complex64 that the difference map keeps; undefined before it
///   misfit       (n) float64 of the last pass of the difference map
struct Projections {
  at::Tensor object, probe, amplitudes, mask, background, corners, intensities;
  Interpolation interpolation = Interpolation::probe_fourier;
  Propagation propagation = FarField{};
  at::Tensor waves = {}, misfit = {};
};

/// cpu::pie_sweep over the patterns `order` (k) int64, `batch` of them at a time.
double pie_sweep(Projections& state, const at::Tensor& order, std::int64_t batch,
                 const cpu::PieOptions& options);

/// cpu::difference_map_sweep.
double difference_map_sweep(Projections& state, const cpu::DifferenceMapOptions& options);

}  // namespace ptyche::reference
