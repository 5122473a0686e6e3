// A scan in any format, CXI among them: HDF5 of another program, by way of the trial process.
#include "ptyche/io/read_scan.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const ptyche::fuzz::InputFile file(bytes, size, ".h5");
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_scan({.file = file.path}); });
  return 0;
}
