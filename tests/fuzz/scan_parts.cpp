// Scans and products with other datasets than ours have, read as far as a solver would.
#include "ptyche/core/files.h"
#include "ptyche/io/product.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/solve/solve.h"
#include "tests/fuzz/changed_file.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace {

const std::vector<std::string> kFormats = {"CXI", "NXcxi_ptycho", "ptyd"};

ptyche::Scan in_metres(const ptyche::Scan& scan) {
  ptyche::ScanFields fields = scan.fields();
  fields.geometry = {.energy_ev = 8800, .distance_m = 1.5, .detector_pixel_m = 75e-6};
  fields.geometry.object_pixel_m = ptyche::far_field_object_pixel_m(fields.geometry, 16);
  return ptyche::Scan(fields);
}

struct Files {
  std::vector<std::string> bytes;  ///< of a scan in each format, then of a product

  Files() {
    const ptyche::Silence silence;
    const ptyche::Scan scan = in_metres(ptyche::small_scan(9));
    const auto path = ptyche::fuzz::file_named("_first.h5");
    for (const std::string& format : kFormats) {
      ptyche::write_scan_as(format, path, scan);
      bytes.push_back(ptyche::read_bytes(path));
    }
    ptyche::write_reconstruction(path, ptyche::solve(scan, {}, ptyche::plain({{"ml", 1}})).image);
    bytes.push_back(ptyche::read_bytes(path));
    std::filesystem::remove(path);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Files files;
  FuzzedDataProvider input(bytes, size);
  const auto which = input.ConsumeIntegralInRange<std::size_t>(0, kFormats.size());
  const ptyche::fuzz::InputFile file(bytes, size, ".h5");
  ptyche::write_text(file.path, files.bytes[which]);
  ptyche::fuzz::change(file.path, input);
  ptyche::fuzz::may_refuse(file.path, [&] {
    if (which == kFormats.size())
      ptyche::read_object_file(file.path);
    else
      ptyche::read_scan({.file = file.path});
  });
  return 0;
}
