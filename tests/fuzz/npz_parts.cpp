// Archives whose parts are what the fuzzer likes and whose checksums are right: names as PtychoPINN
// has them, and behind each a .npy file with any type, shape and values.
#include <fuzzer/FuzzedDataProvider.h>
#include <zip.h>

#include <vector>

#include "ptyche/io/read_scan.h"
#include "tests/fuzz/fuzz_file.h"

namespace {

const std::vector<std::string> kNames = {"diffraction", "diff3d",      "xcoords",    "ycoords",
                                         "probeGuess",  "objectGuess", "scan_index", "mask"};
const std::vector<std::string> kTypes = {"<f4", "<f8", "<c8", "<c16", "|b1", "|u1", "<u2",
                                         ">i4", "<i8", "<u8", "|O",   "<U4", "<f2"};

/// The header of a .npy file; now and then one that is not well made.
std::string header(FuzzedDataProvider& input) {
  std::string shape;
  for (int axes = input.ConsumeIntegralInRange(0, 4); axes > 0; --axes)
    shape += std::to_string(input.ConsumeIntegralInRange(0, 9)) + ",";
  std::string text = "{'descr': '" +
                     kTypes[input.ConsumeIntegralInRange<std::size_t>(0, kTypes.size() - 1)] +
                     "', 'fortran_order': " + (input.ConsumeBool() ? "True" : "False") +
                     ", 'shape': (" + shape + "), }\n";
  if (input.ConsumeIntegralInRange(0, 7) == 0) text = input.ConsumeRandomLengthString(60);
  const auto length = static_cast<char>(text.size());
  return std::string("\x93NUMPY\x01\0", 8) + length + '\0' + text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider input(bytes, size);
  const ptyche::fuzz::InputFile file(nullptr, 0, ".npz");
  std::vector<std::string> parts;  // libzip reads them when it closes
  parts.reserve(8);
  int error = 0;
  zip_t* const archive = zip_open(file.path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &error);
  if (archive == nullptr) return -1;
  for (int count = input.ConsumeIntegralInRange(1, 6); count > 0; --count) {
    const std::string name =
        kNames[input.ConsumeIntegralInRange<std::size_t>(0, kNames.size() - 1)];
    std::string part = header(input);
    part.append(input.ConsumeIntegralInRange<std::size_t>(0, 3000),
                static_cast<char>(input.ConsumeIntegral<std::uint8_t>()));
    part += input.ConsumeRandomLengthString(64);
    parts.push_back(part);
    zip_source_t* const source =
        zip_source_buffer(archive, parts.back().data(), parts.back().size(), 0);
    if (zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_OVERWRITE) < 0)
      zip_source_free(source);
  }
  if (zip_close(archive) != 0) zip_discard(archive);
  ptyche::fuzz::may_refuse(file.path, [&] { ptyche::read_scan({.file = file.path}); });
  return 0;
}
