#include "ptyche/engine/tilts.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/engine/fused_call.h"
#include "ptyche/engine/reference/reference.h"

namespace ptyche {

Tilts exit_tilts(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                 const Measured& measured, Engine engine) {
  require(object.dim() == 2 && object.is_complex(),
          "tilts: expected a complex object (rows, cols), found {} {}",
          at::toString(object.scalar_type()), fmt::join(object.sizes(), " x "));
  require(corners.dim() == 2 && corners.size(1) == 2, "tilts: expected corners (m, 2), found {}",
          fmt::join(corners.sizes(), " x "));
  const std::int64_t size = probe.size(-1), patterns = corners.size(0);
  const CanvasLayout layout =
      lay_on_object(corners, size, {object.size(0), object.size(1)}, Interpolation::probe_fourier);
  require_fitting(layout, probe, measured);
  if (engine == Engine::reference || !cpu::has_fft(size) || !object.is_cpu())
    return reference::exit_tilts(object, probe, layout, measured);
  const auto real = c10::toRealValueType(object.scalar_type());
  const at::Tensor light = at::empty({patterns, size, size}, real);
  const at::Tensor sums = at::empty({patterns, 4}, at::kDouble);
  AT_DISPATCH_FLOATING_TYPES(real, "exit_tilts", [&] {
    std::vector<at::Tensor> kept;
    const cpu::LossInputs<scalar_t> inputs =
        fused_inputs<scalar_t>(object, {}, probe, layout, measured, {}, kept);
    cpu::fused_tilts(inputs, at::get_num_threads(), kLeastTilted,
                     light.mutable_data_ptr<scalar_t>(), sums.mutable_data_ptr<double>());
  });
  return {sums.narrow(1, 0, 2), sums.narrow(1, 2, 2), light};
}

}  // namespace ptyche
