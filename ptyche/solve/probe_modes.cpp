#include "ptyche/solve/probe_modes.h"

#include <cmath>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/solve/illumination.h"

namespace ptyche {
namespace {

constexpr double kWidth = 0.12;  // of N: about the radius of a probe that fills half its field

/// Row^p col^q in units of kWidth N, the `index`-th of 1, r, c, rc, r^2, c^2, r^2 c, ...
at::Tensor polynomial(std::int64_t index, std::int64_t size) {
  static const std::vector<std::pair<int, int>> first{{0, 0}, {1, 0}, {0, 1},
                                                      {1, 1}, {2, 0}, {0, 2}};
  const auto power =
      index < 6 ? first[static_cast<std::size_t>(index)]
                : std::pair<int, int>(1 + static_cast<int>(index) / 3, static_cast<int>(index) % 3);
  const at::Tensor axis = (at::arange(size, at::kFloat) - static_cast<double>(size / 2))
                              .div_(kWidth * static_cast<double>(size));
  return axis.pow(power.first).unsqueeze(1) * axis.pow(power.second);
}

}  // namespace

at::Tensor with_modes(const at::Tensor& probe, std::int64_t modes, double power) {
  if (probe.size(0) >= modes) return probe.slice(0, 0, modes).clone();
  std::vector<at::Tensor> all = probe.unbind(0);
  for (std::int64_t mode = probe.size(0); mode < modes; ++mode) {
    const at::Tensor shape = probe[0] * polynomial(mode, probe.size(-1));
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
