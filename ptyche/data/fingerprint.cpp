#include "ptyche/data/fingerprint.h"

#include <fmt/format.h>

namespace ptyche {

double fingerprint(const at::Tensor& array) {
  const at::Tensor real = array.is_complex() ? at::view_as_real(array) : array;
  const at::Tensor flat = real.flatten().to(at::kDouble);
  return flat.mul(at::arange(1, flat.numel() + 1, at::kDouble)).sum().item<double>();
}

std::string fingerprint(const Scan& scan) {
  // One number a pattern, so that the counts are never copied as float64.
  at::Tensor sums = at::empty({scan.frames()}, at::kDouble);
  for (std::int64_t i = 0; i < scan.frames(); ++i) sums[i] = scan.counts()[i].sum(at::kDouble);
  return fmt::format("{} counts {:.17g} at {:.17g} probe {:.17g} mask {:.17g} use {:.17g}",
                     scan.input_hash(), fingerprint(sums), fingerprint(scan.positions()),
                     fingerprint(scan.probe()), fingerprint(scan.mask()),
                     fingerprint(scan.frame_use()));
}

}  // namespace ptyche
