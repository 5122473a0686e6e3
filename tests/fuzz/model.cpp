// Models with other datasets than training leaves.
#include "ptyche/model/model.h"

#include "ptyche/nn/patch_network.h"
#include "tests/fuzz/changed_file.h"

namespace {

ptyche::Model small_model() {
  ptyche::Model model;
  model.network_options = ptyche::completed({.name = "unet", .widths = {8}}, 32, {});
  model.network = ptyche::make_network(model.network_options, 3);
  model.stem_probe = model.probe = at::ones({1, 32, 32}, at::kComplexFloat);
  model.background = at::ones({32, 32});
  model.position_corrections = at::zeros({9, 2}, at::kDouble);
  model.history = {{1, 0.5, 0.1, 0.1, 0.001}};
  return model;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const ptyche::Model model = small_model();
  const ptyche::fuzz::InputFile file(bytes, size, ".ptyche");
  ptyche::write_model(file.path, model);
  FuzzedDataProvider input(bytes, size);
  ptyche::fuzz::change(file.path, input);
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_model(file.path); });
  return 0;
}
