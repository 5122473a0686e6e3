// TIFF, MIB, EMPAD, tables of text: all files of named arrays but HDF5, MATLAB's and NumPy's.
#include "ptyche/storage/arrays.h"

#include "tests/fuzz/fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  for (const char* other : {"\x89HDF", "MATLAB 5", "PK", "\x93NUMPY"})
    if (text.starts_with(other)) return -1;
  const bool xml = text.starts_with("<");
  const ptyche::fuzz::InputFile file(bytes, size, xml ? ".xml" : ".raw");
  ptyche::fuzz::may_refuse(file.path, [&] {
    const auto arrays = ptyche::open_arrays(file.path);
    arrays->scan_shape();
    for (const std::string& name : arrays->names()) {
      ptyche::with_context(file.path.string(), [&] { return arrays->read(name).values.numel(); });
      arrays->text(name);
      arrays->unit(name);
    }
  });
  return 0;
}
