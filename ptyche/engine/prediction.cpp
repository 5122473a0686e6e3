#include "ptyche/engine/prediction.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <vector>

#include "ptyche/engine/fused_call.h"

namespace ptyche {

at::Tensor expected_intensity(const at::Tensor& object, const at::Tensor& probe,
                              const at::Tensor& positions, Interpolation interpolation,
                              const at::Tensor& background, const Propagation& propagation) {
  const std::int64_t size = probe.size(-1);
  if (!cpu::has_fft(size) || !object.is_cpu())
    return predict_intensity(object, probe.to(object.scalar_type()), positions, interpolation,
                             background, propagation);
  const CanvasLayout layout = lay_on_object(positions - static_cast<double>(size / 2), size,
                                            {object.size(0), object.size(1)}, interpolation);
  require_on_canvas(layout);
  const auto real = c10::toRealValueType(object.scalar_type());
  const at::Tensor expected = at::empty({positions.size(0), size, size}, real);
  const Measured measured{
      .counts = {}, .mask = at::ones({size, size}, at::kBool), .background = background};
  AT_DISPATCH_FLOATING_TYPES(real, "expected_intensity", [&] {
    std::vector<at::Tensor> kept;
    const cpu::LossInputs<scalar_t> inputs = fused_inputs<scalar_t>(
        object, {}, probe, layout, measured, {.propagation = propagation}, kept);
    cpu::fused_intensity(inputs, at::get_num_threads(), expected.mutable_data_ptr<scalar_t>());
  });
  return expected;
}

}  // namespace ptyche
