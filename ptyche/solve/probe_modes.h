// Incoherent probe modes: where new ones start, and the one set among equals that is stored.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// `probe` (m, N, N) with weak modes added up to `modes`: the first mode times row, col, row col,
/// then higher powers of the two coordinates, in that order; each carries the share `power` of the
/// first mode's photons. The sum of all photons stays. Modes beyond `modes` are dropped.
at::Tensor with_modes(const at::Tensor& probe, std::int64_t modes, double power);

/// The same intensities by modes that are orthogonal to each other, strongest first: singular value
/// decomposition of (modes, N^2) (Thibault & Menzel, Nature 494, 68 (2013)); the first mode's phase
/// is kept.
at::Tensor orthogonal_modes(const at::Tensor& probe);

}  // namespace ptyche
