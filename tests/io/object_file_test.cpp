#include "ptyche/io/object_file.h"

#include "ptyche/io/cxi.h"
#include "ptyche/io/product.h"
#include "tests/io/scan_files.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

TEST(ReadObjectFile, TakesTheTruthOfASimulatedScan) {
  const TestFolder folder;
  const Scan scan = small_scan();
  write_cxi(folder / "scan.h5", scan);
  const Reconstruction image = read_object_file(folder / "scan.h5");
  EXPECT_TRUE(at::equal(image.object, scan.truth()));
  EXPECT_EQ(image.origin_row, 0);
}

TEST(ReadObjectFile, TakesAReconstructionWithItsFrame) {
  const TestFolder folder;
  const Scan scan = small_scan();
  Reconstruction written;
  written.object = scan.truth();
  written.coverage = at::ones(scan.truth().sizes(), at::kFloat);
  written.probe = scan.probe();
  written.positions = scan.positions();
  written.frame_use = scan.frame_use();
  written.origin_row = 7;
  written.geometry.object_pixel_m = 2e-8;
  write_reconstruction(folder / "image.bin", written);
  const Reconstruction image = read_object_file(folder / "image.bin");
  EXPECT_TRUE(at::equal(image.object, scan.truth()));
  EXPECT_EQ(image.origin_row, 7);
  EXPECT_DOUBLE_EQ(image.geometry.object_pixel_m, 2e-8);
}

TEST(ReadObjectFile, TakesTheObjectOfAnNpzFile) {
  const TestFolder folder;
  const at::Tensor object = small_scan().truth();
  write_npz(folder / "a.npz", {{"probe", at::ones({4, 4})}, {"object", object.unsqueeze(0)}});
  EXPECT_TRUE(at::equal(read_object_file(folder / "a.npz").object, object));
}

TEST(ReadObjectFile, RefusesAFileWithoutAnObjectByName) {
  const TestFolder folder;
  write_npz(folder / "probe.npz", {{"probe", at::ones({4, 4})}});
  write_npz(folder / "real.npz", {{"object", at::ones({4, 4})}});
  write_text(folder / "text.h5", "no HDF5");
  for (const char* name : {"probe.npz", "real.npz", "text.h5", "missing.h5"})
    EXPECT_NE(refusal([&] { read_object_file(folder / name); }).find(name), std::string::npos)
        << name;
  EXPECT_NE(
      refusal([&] { read_object_file(folder / "real.npz"); }).find("object: expected complex"),
      std::string::npos);
}

}  // namespace
}  // namespace ptyche
