// A .npy file as --mask or --object takes it.
#include "ptyche/storage/numpy.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ptyche::fuzz::InputFile file(bytes, size, ".npy");
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_npy_file(file.path); });
  return 0;
}
