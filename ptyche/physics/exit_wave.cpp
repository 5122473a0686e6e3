#include "ptyche/physics/exit_wave.h"

#include "ptyche/core/error.h"

namespace ptyche {

at::Tensor exit_wave(const at::Tensor& probe, const at::Tensor& patches) {
  require(patches.dim() == 3 && (probe.dim() == 3 || probe.dim() == 4) &&
              probe.size(-1) == patches.size(-1) && probe.size(-2) == patches.size(-2) &&
              (probe.dim() == 3 || probe.size(0) == patches.size(0)),
          "exit_wave: expected a probe (modes, N, N) or (k, modes, N, N) for patches (k, N, N), "
          "found {} for {}",
          fmt::join(probe.sizes(), " x "), fmt::join(patches.sizes(), " x "));
  return probe * patches.unsqueeze(1);
}

}  // namespace ptyche
