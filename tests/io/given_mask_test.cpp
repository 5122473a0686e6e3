#include "ptyche/io/given_mask.h"

#include <gtest/gtest.h>
#include <tiffio.h>

#include "ptyche/storage/hdf5.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSide = 16;

/// Patterns of which nearly all light lies in the middle 6 x 6 pixels, and in a dead corner none.
at::Tensor patterns() {
  at::Tensor counts = at::ones({kFrames, kSide, kSide}, at::kInt);
  counts.narrow(1, 5, 6).narrow(2, 5, 6).add_(
      100 + at::arange(kFrames * 36, at::kInt).reshape({kFrames, 6, 6}).remainder(7));
  counts.narrow(1, 0, 3).narrow(2, 0, 5).zero_();
  return counts;
}

/// true = counted: all but the dead corner.
at::Tensor right_mask() {
  at::Tensor mask = at::ones({kSide, kSide}, at::kBool);
  mask.narrow(0, 0, 3).narrow(1, 0, 5).fill_(false);
  return mask;
}

/// A probe whose far field is the same everywhere.
at::Tensor point() {
  at::Tensor probe = at::zeros({kSide, kSide}, at::kComplexFloat);
  probe[kSide / 2][kSide / 2] = 1;
  return probe;
}

struct Written {
  TestFolder folder;
  ReadOptions options;

  explicit Written(const at::Tensor& counts = patterns()) {
    Arrays arrays = small_arrays();
    array(arrays, "diffraction") = counts;
    array(arrays, "probeGuess") = point();
    write_npz(folder / "scan.npz", arrays);
    options.file = folder / "scan.npz";
  }

  void give(const at::Tensor& mask) {
    write_npz(folder / "mask.npz", {{"mask", mask}});
    options.mask = (folder / "mask.npz").string();
  }
  at::Tensor read() const { return read_scan(options).mask(); }
  std::string refusal() const {
    return message_of([&] { read_scan(options); });
  }
};

TEST(GivenMask, OfWholeNumbersCountsWhatHasTheLightWhateverTheyAre) {
  const at::Tensor right = right_mask(), wrong = right.logical_not();
  const std::vector<at::Tensor> same{right.to(at::kByte),       right.to(at::kInt),
                                     right.to(at::kFloat),      right.to(at::kByte) * 255,
                                     wrong.to(at::kByte),       wrong.to(at::kLong),
                                     wrong.to(at::kDouble) * 3, wrong.to(at::kInt) * (1 << 20)};
  for (const at::Tensor& mask : same) {
    Written scan;
    scan.give(mask);
    EXPECT_TRUE(at::equal(scan.read(), right)) << mask.toString() << mask[0][0] << mask[8][8];
  }
}

TEST(GivenMask, OfCodesCountsZero) {
  Written scan;
  at::Tensor codes = right_mask().logical_not().to(at::kInt);
  codes[0][0] = 2;
  codes[0][1] = 32768;
  scan.give(codes);
  EXPECT_TRUE(at::equal(scan.read(), right_mask()));
}

TEST(GivenMask, ThatLeavesOutMostOfTheLightIsAskedAboutAndTakenWhenThatIsSaid) {
  const at::Tensor right = right_mask();
  at::Tensor codes = right.to(at::kInt);
  codes[8][8] = 4;
  for (const at::Tensor& inverted : {right.logical_not(), codes}) {
    Written scan;
    scan.give(inverted);
    const std::string message = scan.refusal();
    for (const char* part : {"% of the pixels are left out", "% of the counts", "inverted",
                             "--mask-counts zero", "--mask-counts nonzero"})
      EXPECT_TRUE(contains(message, part)) << message;
    const bool truth = inverted.scalar_type() == at::kBool;
    const at::Tensor light = light_of_pixels(patterns());
    EXPECT_EQ(counted_pixels(inverted, light, truth ? "nonzero" : "zero", "m").sum().item<int>(),
              15);
    scan.options.mask_counts = truth ? "zero" : "nonzero";
    EXPECT_TRUE(at::equal(scan.read(), right));
  }
}

TEST(GivenMask, OfTwoNumbersThatTheLightDoesNotTellApartIsAskedAbout) {
  Written scan(at::full({kFrames, kSide, kSide}, 9, at::kInt));
  at::Tensor half = at::zeros({kSide, kSide}, at::kByte);
  half.narrow(0, 0, 8).fill_(1);
  scan.give(half);
  EXPECT_TRUE(contains(scan.refusal(), "0 or another number may be what counts")) << scan.refusal();
  scan.options.mask_counts = "zero";
  EXPECT_TRUE(at::equal(scan.read(), half.eq(0)));
}

TEST(GivenMask, MayHideABeamStopHotPixelsMarkedModulesAndMostOfADarkDetector) {
  const at::Tensor right = right_mask();
  at::Tensor stop = right.clone();
  stop.narrow(0, 7, 2).narrow(1, 7, 2).fill_(false);
  Written beam_stop;
  beam_stop.give(stop);
  EXPECT_TRUE(at::equal(beam_stop.read(), stop));

  at::Tensor counts = patterns();
  counts.narrow(1, 12, 4).fill_(2147483647);  // a module that sees nothing
  at::Tensor module = right.clone();
  module.narrow(0, 12, 4).fill_(false);
  Written marked(counts);
  marked.give(module);
  EXPECT_TRUE(at::equal(marked.read(), module));

  at::Tensor aperture = at::zeros({kSide, kSide}, at::kBool);
  aperture.narrow(0, 4, 8).narrow(1, 4, 8).fill_(true);
  Written dark;
  dark.give(aperture);
  EXPECT_TRUE(at::equal(dark.read(), aperture));
}

void write_tiff(const std::filesystem::path& path, const at::Tensor& mask) {
  TIFF* tiff = TIFFOpen(path.c_str(), "w");
  ASSERT_NE(tiff, nullptr);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<std::uint32_t>(mask.size(1)));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<std::uint32_t>(mask.size(0)));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
  at::Tensor rows = mask.to(at::kByte).contiguous().clone();
  for (std::int64_t row = 0; row < rows.size(0); ++row)
    ASSERT_EQ(
        TIFFWriteScanline(tiff, rows[row].mutable_data_ptr(), static_cast<std::uint32_t>(row)), 1);
  TIFFClose(tiff);
}

TEST(GivenMask, IsReadFromHdf5ByPathOrByItsNameFromTiffNpyAndNpz) {
  Written scan;
  const at::Tensor right = right_mask();
  {
    Hdf5File file = Hdf5File::create(scan.folder / "m.h5");
    file.write("entry/pixel_mask", right.logical_not().to(at::kInt));
    file.write("entry/other", at::zeros({3}, at::kInt));
    file.write("good", right.to(at::kByte).unsqueeze(0));
  }
  write_tiff(scan.folder / "m.tif", right.to(at::kByte) * 255);
  write_npz(scan.folder / "one.npz", {{"anything", right}});
  write_npz(scan.folder / "two.npz", {{"a", right.to(at::kInt) * 7}, {"b", right}});
  for (const char* name :
       {"m.h5:/entry/pixel_mask", "m.h5", "m.h5:good", "m.tif", "one.npz", "two.npz:b"}) {
    scan.options.mask = (scan.folder / name).string();
    EXPECT_TRUE(at::equal(scan.read(), right)) << name;
  }
  scan.options.mask = (scan.folder / "two.npz").string();
  EXPECT_TRUE(contains(scan.refusal(), "an array named mask")) << scan.refusal();
  EXPECT_TRUE(contains(scan.refusal(), "a, b")) << scan.refusal();
}

TEST(GivenMask, OfWhatIsKeptOrOfTheWholeDetectorFitsBesideCrop) {
  for (const bool kept : {false, true}) {
    Written scan;
    scan.options.crop = 8;
    at::Tensor whole = right_mask();
    whole[6][9] = false;
    const at::Tensor middle = whole.narrow(0, 4, 8).narrow(1, 4, 8).contiguous();
    scan.give(kept ? middle : whole);
    EXPECT_TRUE(at::equal(scan.read(), middle)) << kept;
  }
}

TEST(GivenMask, OfAnotherShapeIsRefusedNamingBoth) {
  Written scan;
  scan.give(at::ones({kSide, kSide + 2}, at::kBool));
  EXPECT_TRUE(contains(scan.refusal(), "expected (16, 16) like the patterns, found (16, 18)"))
      << scan.refusal();
}

TEST(GivenMask, OfTheScansOwnFileMayBeNumbersToo) {
  const at::Tensor right = right_mask();
  Written scan;
  Arrays arrays = small_arrays();
  array(arrays, "diffraction") = patterns();
  array(arrays, "probeGuess") = point();
  array(arrays, "mask") = right.to(at::kInt);
  EXPECT_TRUE(at::equal(read_arrays(arrays).mask(), right));
  array(arrays, "mask") = right.logical_not().to(at::kByte);
  EXPECT_TRUE(at::equal(read_arrays(arrays).mask(), right));
}

}  // namespace
}  // namespace ptyche
