// A MATLAB 5 file, by way of the trial process.
#include "ptyche/storage/arrays.h"
#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  if (!text.starts_with("MATLAB 5.0")) return -1;
  const ptyche::fuzz::InputFile file(bytes, size, ".mat");
  ptyche::fuzz::may_refuse(file.path, [&] {
    const auto arrays = ptyche::open_arrays(file.path);
    for (const std::string& name : arrays->names())
      ptyche::with_context(file.path.string(), [&] { return arrays->read(name).values.numel(); });
  });
  return 0;
}
