// A list of held-out patterns.
#include "ptyche/io/counts.h"
#include "ptyche/io/read_scan.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ptyche::fuzz::InputFile file(bytes, size, ".json");
  const at::Tensor sums = at::tensor({16., 0.}, at::kDouble).repeat({9, 1});
  const at::Tensor places = at::stack({at::arange(9), at::arange(9)}, 1).to(at::kDouble);
  ptyche::ReadOptions options;
  options.hold_out_file = file.path;
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::choose_frames(sums, 16, places, 0, options); });
  return 0;
}
