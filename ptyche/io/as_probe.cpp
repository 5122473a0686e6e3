#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/raw_scan.h"

namespace ptyche {

at::Tensor as_probe(const at::Tensor& array, const std::string& name) {
  at::Tensor probe = array;
  if (probe.dim() == 4 && probe.size(0) == 1) probe = probe.squeeze(0);
  if (probe.dim() == 3 && probe.size(2) == 1 && probe.size(0) == probe.size(1)) {
    probe = probe.squeeze(2);
  }
  if (probe.dim() == 2) probe = probe.unsqueeze(0);
  require(probe.dim() == 3 && probe.size(1) == probe.size(2) && probe.numel() > 0,
          "{}: expected (N, N) or (modes, N, N), found {}", name, describe(array));
  return probe.to(at::kComplexFloat).contiguous();
}

}  // namespace ptyche
