// A recipe, as --format takes it, and what is read by it out of a scan and a product.
#include "ptyche/io/recipe.h"

#include "ptyche/core/files.h"
#include "ptyche/io/product.h"
#include "ptyche/io/write_scan.h"
#include "tests/fuzz/fuzz_file.h"
#include "tests/support/small_scan.h"

namespace {

struct Samples {
  std::filesystem::path scan = ptyche::fuzz::file_named("_scan.cxi");
  std::filesystem::path table = ptyche::fuzz::file_named("_table.txt");

  Samples() {
    ptyche::write_scan_as("CXI", scan, ptyche::small_scan(9));
    ptyche::write_text(table, "# x y\n1 2\n3 4\n");
  }
  ~Samples() {
    std::error_code ignored;
    for (const auto& file : {scan, table}) std::filesystem::remove(file, ignored);
  }
};

void read_by(const ptyche::Recipe& recipe, const std::filesystem::path& file) {
  ptyche::recognises(recipe, file);
  if (recipe.scan) ptyche::read_scan_by(*recipe.scan, file);
  if (recipe.object) ptyche::read_object_by(*recipe.object, file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Samples samples;
  const std::string text(reinterpret_cast<const char*>(bytes), size);
  const std::filesystem::path name = "a recipe.toml";
  for (const auto& file : {samples.scan, samples.table})
    ptyche::fuzz::may_refuse(
        name, [&] { read_by(ptyche::parse_recipe(text, name), file); }, /*works_on=*/true);
  return 0;
}
