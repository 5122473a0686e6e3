// A picture as `simulate --object` takes it.
#include "ptyche/storage/file_array.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ptyche::fuzz::InputFile file(bytes, size, ".png");
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_image(file.path); });
  return 0;
}
