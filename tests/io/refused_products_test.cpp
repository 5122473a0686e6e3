// Products that hold no image, and files that are none.
#include <limits>

#include "ptyche/io/cxi_paths.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/object_file.h"
#include "ptyche/io/product.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

Reconstruction some_image() {
  Reconstruction image;
  image.object = at::ones({20, 24}, at::kComplexFloat);
  image.coverage = at::ones({20, 24});
  image.probe = at::ones({1, 8, 8}, at::kComplexFloat);
  image.positions = at::full({3, 2}, 10, at::kDouble);
  image.frame_use = at::zeros({3}, at::kByte);
  return image;
}

std::string reason_to_refuse(const Reconstruction& image) {
  const TestFolder folder;
  write_reconstruction(folder / "spoilt.h5", image);
  return refusal([&] { read_reconstruction(folder / "spoilt.h5"); });
}

TEST(RefusedProduct, HasAnObjectOrProbeThatIsNotFiniteAndIsNamedWithIt) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, std::numeric_limits<double>::infinity(), 1e30}) {
    Reconstruction image = some_image();
    image.object[2][3] = value;
    const std::string reason = reason_to_refuse(image);
    EXPECT_NE(reason.find("spoilt.h5: object: expected finite"), std::string::npos) << reason;
    image = some_image();
    image.probe[0][1][1] = value;
    EXPECT_NE(reason_to_refuse(image).find("probe: expected finite"), std::string::npos);
  }
}

TEST(RefusedProduct, HasAProbeWithoutLight) {
  Reconstruction image = some_image();
  image.probe.zero_();
  const std::string reason = reason_to_refuse(image);
  EXPECT_NE(reason.find("probe: expected light"), std::string::npos) << reason;
  EXPECT_EQ(reason_to_refuse(some_image()), "");
}

TEST(RefusedScan, HasComplexTruePositions) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "complex.cxi");
  file.write("entry_1/data_1/data", small_counts());
  file.write("entry_1/data_1/translation", at::zeros({kFrames, 3}, at::kDouble));
  file.write(cxi::kTruePositions, at::ones({kFrames, 2}, at::kComplexDouble));
  file.close();
  ReadOptions options;
  options.file = folder / "complex.cxi";
  const std::string reason = refusal([&] { read_scan(options); });
  EXPECT_NE(reason.find("ptyche/true_positions: expected (n, 2) real"), std::string::npos)
      << reason;
}

TEST(Hdf5, SaysOfAFolderAndOfNothingThatTheyAreNoFileAndNamesThem) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "a folder");
  for (const char* name : {"a folder", "missing.h5"}) {
    const std::string expected = (folder / name).string() + ": expected an HDF5 file, found " +
                                 (std::string(name) == "a folder" ? "a folder" : "none");
    EXPECT_EQ(refusal([&] { read_reconstruction(folder / name); }), expected);
    EXPECT_EQ(refusal([&] { read_object_file(folder / name); }), expected);
  }
}

}  // namespace
}  // namespace ptyche
