#include "ptyche/io/object_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/npz.h"
#include "ptyche/io/product.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

class ReadObjectFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("ptyche_object_file_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

std::string refusal(const fs::path& file) {
  try {
    read_object_file(file);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST_F(ReadObjectFile, TakesTheTruthOfASimulatedScan) {
  const Scan scan = small_scan();
  write_cxi(folder_ / "scan.h5", scan);
  const Reconstruction image = read_object_file(folder_ / "scan.h5");
  EXPECT_TRUE(at::equal(image.object, scan.truth()));
  EXPECT_EQ(image.origin_row, 0);
}

TEST_F(ReadObjectFile, TakesAReconstructionWithItsFrame) {
  const Scan scan = small_scan();
  Reconstruction written;
  written.object = scan.truth();
  written.coverage = at::ones(scan.truth().sizes(), at::kFloat);
  written.probe = scan.probe();
  written.positions = scan.positions();
  written.frame_use = scan.frame_use();
  written.origin_row = 7;
  written.geometry.object_pixel_m = 2e-8;
  write_reconstruction(folder_ / "image.bin", written);
  const Reconstruction image = read_object_file(folder_ / "image.bin");
  EXPECT_TRUE(at::equal(image.object, scan.truth()));
  EXPECT_EQ(image.origin_row, 7);
  EXPECT_DOUBLE_EQ(image.geometry.object_pixel_m, 2e-8);
}

TEST_F(ReadObjectFile, TakesTheObjectOfAnNpzFile) {
  const at::Tensor object = small_scan().truth();
  write_npz(folder_ / "a.npz", {{"probe", at::ones({4, 4})}, {"object", object.unsqueeze(0)}});
  EXPECT_TRUE(at::equal(read_object_file(folder_ / "a.npz").object, object));
}

TEST_F(ReadObjectFile, RefusesAFileWithoutAnObjectByName) {
  write_npz(folder_ / "probe.npz", {{"probe", at::ones({4, 4})}});
  write_npz(folder_ / "real.npz", {{"object", at::ones({4, 4})}});
  write_text(folder_ / "text.h5", "no HDF5");
  for (const char* name : {"probe.npz", "real.npz", "text.h5", "missing.h5"})
    EXPECT_NE(refusal(folder_ / name).find(name), std::string::npos) << name;
  EXPECT_NE(refusal(folder_ / "real.npz").find("object: expected complex"), std::string::npos);
}

}  // namespace
}  // namespace ptyche
