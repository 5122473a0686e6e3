#include "ptyche/io/readers.h"

#include <limits>

#include "ptyche/data/probe.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/product.h"
#include "tests/io/scan_files.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// A format of a test: the word TOY, then one digit per photon in 2 x 2 pixels of each pattern.
Reader toy_reader() {
  return {.name = "TOY",
          .signature = "a text that begins with TOY",
          .recognises = [](const FileSample& sample) { return sample.start.starts_with("TOY"); },
          .read_scan =
              [](const std::filesystem::path& file) {
                const std::string digits = read_bytes(file).substr(3);
                RawScan raw;
                raw.patterns_name = "digits";
                raw.positions_name = "counted";
                raw.patterns = at::empty({4, 2, 2}, at::kInt);
                for (std::int64_t i = 0; i < 16; ++i)
                  raw.patterns.view(-1)[i] = digits[static_cast<std::size_t>(i)] - '0';
                const at::Tensor line = at::arange(4, at::kDouble);
                raw.positions = at::stack({line, line}, 1);
                return raw;
              },
          .read_object = nullptr};
}

TEST(Readers, OneMoreFormatIsReadAndListedWithTheOthers) {
  const TestFolder folder;
  std::vector<Reader> formats = readers();
  formats.push_back(toy_reader());
  ReadOptions options;
  options.file = folder / "scan.npz";  // the name does not count
  write_raw(options.file, "TOY1234567891234567");
  const Scan scan = read_scan(options, formats);
  EXPECT_EQ(scan.frames(), 4);
  EXPECT_EQ(scan.counts()[1][0][1].item<int>(), 6);
  EXPECT_TRUE(format_names(Content::scan, formats).starts_with("NPZ, CXI, TOY or one of "));
  EXPECT_TRUE(format_names(Content::scan).starts_with("NPZ, CXI or one of "));
  write_raw(options.file, "something else");
  EXPECT_TRUE(contains(message_of([&] { read_scan(options, formats); }),
                       "CXI (HDF5 with a group entry_1), TOY (a text that begins with TOY)"));
}

TEST(Readers, AProbeOfNoPowerIsTakenForNoneWhereOthersAreTakenAsTheyAre) {
  const TestFolder folder;
  Reader toy = toy_reader();
  toy.read_scan = [read = toy.read_scan](const std::filesystem::path& file) {
    RawScan raw = read(file);
    raw.probe = at::full({1, 2, 2}, std::numeric_limits<float>::quiet_NaN(), at::kComplexFloat);
    raw.probe_calibrated = true;
    return raw;
  };
  ReadOptions options;
  options.file = folder / "scan.toy";
  write_raw(options.file, "TOY1234567891234567");
  const Scan scan = read_scan(options, {toy});
  EXPECT_FALSE(scan.probe_given());
  EXPECT_FALSE(scan.fields().probe_calibrated);
  EXPECT_GT(probe_power(scan.probe()), 0);
}

TEST(Readers, SayWhatAFileHoldsThatIsNoScan) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "other.h5");
  file.write("measured/frames", small_counts());
  file.close();
  ReadOptions options;
  options.file = folder / "other.h5";
  EXPECT_TRUE(contains(message_of([&] { read_scan(options); }), "found HDF5 with measured/frames"));
  Hdf5File product = Hdf5File::create(options.file);
  product.write("object", at::ones({4, 4}, at::kComplexFloat));
  product.close();
  EXPECT_TRUE(contains(message_of([&] { read_scan(options); }), "found ptychodus product"));
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
  const std::string reason = message_of([&] { read_scan(options); });
  EXPECT_NE(reason.find("ptyche/true_positions: expected (n, 2) real"), std::string::npos)
      << reason;
}

TEST(ReadObjectFile, TakesTheTruthOfASimulatedScan) {
  const TestFolder folder;
  const Scan scan = small_scan();
  write_cxi(folder / "scan.h5", scan);
  const Reconstruction image = read_object_file(folder / "scan.h5");
  EXPECT_TRUE(at::equal(image.projection(), scan.truth()));
  EXPECT_EQ(image.origin_row, 0);
}

TEST(ReadObjectFile, TakesAReconstructionWithItsFrame) {
  const TestFolder folder;
  const Scan scan = small_scan();
  Reconstruction written;
  written.object = scan.truth().unsqueeze(0);
  written.coverage = at::ones(scan.truth().sizes(), at::kFloat);
  written.probe = scan.probe().unsqueeze(0);
  written.positions = scan.positions();
  written.frame_use = scan.frame_use();
  written.origin_row = 7;
  written.geometry.object_pixel_m = 2e-8;
  write_reconstruction(folder / "image.bin", written);
  const Reconstruction image = read_object_file(folder / "image.bin");
  EXPECT_TRUE(at::equal(image.projection(), scan.truth()));
  EXPECT_EQ(image.origin_row, 7);
  EXPECT_DOUBLE_EQ(image.geometry.object_pixel_m, 2e-8);
}

TEST(ReadObjectFile, TakesTheObjectOfAnNpzFile) {
  const TestFolder folder;
  const at::Tensor object = small_scan().truth();
  write_npz(folder / "a.npz", {{"probe", at::ones({4, 4})}, {"object", object.unsqueeze(0)}});
  EXPECT_TRUE(at::equal(read_object_file(folder / "a.npz").projection(), object));
}

TEST(ReadObjectFile, RefusesAFileWithoutAnObjectByName) {
  const TestFolder folder;
  write_npz(folder / "probe.npz", {{"probe", at::ones({4, 4})}});
  write_npz(folder / "real.npz", {{"object", at::ones({4, 4})}});
  write_text(folder / "text.h5", "no HDF5");
  for (const char* name : {"probe.npz", "real.npz", "text.h5", "missing.h5"})
    EXPECT_NE(message_of([&] { read_object_file(folder / name); }).find(name), std::string::npos)
        << name;
  EXPECT_NE(
      message_of([&] { read_object_file(folder / "real.npz"); }).find("object: expected complex"),
      std::string::npos);
}

TEST(ReadObjectFile, SaysOfAFolderAndOfNothingThatTheyAreNoFileAndNamesThem) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "a folder");
  for (const std::string name : {"a folder", "missing.h5"}) {
    const std::string file = (folder / name).string();
    const std::string found = name == "a folder" ? "a folder" : "none";
    EXPECT_EQ(message_of([&] { read_reconstruction(file); }),
              file + ": expected an HDF5 file, found " + found);
    EXPECT_EQ(message_of([&] { read_object_file(file); }),
              file + ": expected a file, found " + found);
  }
}

}  // namespace
}  // namespace ptyche
