// Every way in which a scan file can be wrong that we know of, each with what its message must say.
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>

#include "ptyche/storage/arrays.h"
#include "tests/io/scan_files.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

struct BadFile {
  std::string name;
  std::function<void(const std::filesystem::path&)> write;
  std::vector<std::string> parts;  ///< dataset, expected, found
};

/// A file whose arrays are spoiled by `change`.
std::function<void(const std::filesystem::path&)> spoiled(
    const std::function<void(Arrays&)>& change) {
  return [change](const std::filesystem::path& file) {
    Arrays arrays = small_arrays();
    change(arrays);
    write_npz(file, arrays);
  };
}

/// small_counts with one value of one pattern replaced.
std::function<void(const std::filesystem::path&)> with_value(double value) {
  return spoiled([value](Arrays& arrays) {
    at::Tensor counts = small_counts().clone();
    counts[7][1][2] = value;
    array(arrays, "diffraction") = counts;
  });
}

void truncated(const std::filesystem::path& file) {
  write_npz(file, small_arrays());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) * 2 / 3);
}

void one_pattern(Arrays& arrays) {
  for (const char* name : {"diffraction", "xcoords", "ycoords"}) {
    array(arrays, name) = array(arrays, name).narrow(0, 0, 1).contiguous();
  }
}

std::vector<BadFile> bad_files() {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return {
      {"absent", [](auto&) {}, {"expected a file", "found none"}},
      {"empty", [](auto& file) { write_raw(file, ""); }, {"expected a scan", "empty file"}},
      {"not a zip",
       [](auto& file) { write_raw(file, "position,counts\n1,2\n"); },
       {"expected NPZ", "CXI", "found none of them"}},
      {"truncated zip", truncated, {"expected a whole zip archive", "found a damaged one"}},
      {"truncated HDF5",
       [](auto& file) { write_raw(file, "\x89HDF\r\n\x1a\nrest"); },
       {"expected a whole HDF5 file", "found a damaged one"}},
      {"no patterns",
       spoiled([](auto& a) { remove(a, "diffraction"); }),
       {"expected an array named diffraction, diff3d", "found xcoords, ycoords, probeGuess"}},
      {"no coordinates",
       spoiled([](auto& a) { remove(a, "ycoords"); }),
       {"ycoords: expected", "found diffraction, xcoords, probeGuess"}},
      {"two dimensions",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({12, 64});
       }),
       {"diffraction: expected (M, N, N)", "found (12, 64) float32"}},
      {"not square",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({12, 8, 10});
       }),
       {"diffraction: expected square patterns", "found (12, 8, 10) float32"}},
      {"complex",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({12, 8, 8}, at::kComplexFloat);
       }),
       {"diffraction: expected", "real numbers", "complex64"}},
      {"more photons than there are",
       with_value(3e30),
       {"diffraction: expected counts of at most 1e+15", "found 3e+30"}},
      {"a single pixel",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({12, 1, 1});
         remove(a, "probeGuess");
       }),
       {"diffraction: expected patterns of at least 2 x 2 pixels", "found (12, 1, 1)"}},
      {"negative",
       with_value(-3.5),
       {"diffraction: expected", ">= 0", "(1 negative)", "pattern 7"}},
      {"coordinates of another length",
       spoiled([](auto& a) { array(a, "ycoords") = at::ones({11}, at::kDouble); }),
       {"ycoords: expected 12 values", "found 11"}},
      {"patterns of another length",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({13, 8, 8});
       }),
       {"xcoords, ycoords: expected as many positions as patterns, 13, found 12",
        "--frames 0:12 takes the first 12 patterns, --frames 1:13 the last"}},
      {"patterns of another length on the last axis",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({8, 8, 13});
       }),
       {"xcoords, ycoords: expected as many positions as patterns, 13, found 12"}},
      {"as many rows as positions, and patterns of another length",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({13, 12, 12});
       }),
       {"xcoords, ycoords: expected as many positions as patterns, 13, found 12"}},
      {"a cube, and another number of positions",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({13, 13, 13});
       }),
       {"xcoords, ycoords: expected as many positions as patterns, 13, found 12"}},
      {"several scans, and another number of positions",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({13, 8, 8});
         a.push_back({"scan_index", at::arange(13, at::kLong).remainder(2)});
       }),
       {"scan_index: expected one scan, found 2"}},
      {"twice as many patterns as positions",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({24, 8, 8});
       }),
       {"found 12; --exposures 2 sums", "--frames 0:12 takes", "--frames ::2 every other one"}},
      {"patterns of quite another length",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({30, 8, 8});
       }),
       {"xcoords: expected as many values as", "(30, 8, 8)", "found 12"}},
      {"coordinates that are not finite",
       spoiled([nan](auto& a) { array(a, "xcoords") = at::full({12}, nan, at::kDouble); }),
       {"xcoords, ycoords: expected at least 2 patterns that have a position", "found 0 of 12"}},
      {"coordinates in nanometres",
       spoiled([](auto& a) { array(a, "xcoords") = array(a, "xcoords") * 1e6; }),
       {"xcoords, ycoords: expected a scan of at most", "found 5e+06"}},
      {"coordinates in another unit in both directions",
       spoiled([](auto& a) {
         array(a, "xcoords") = array(a, "xcoords") * 19000;
         array(a, "ycoords") = array(a, "ycoords") * 21000;
       }),
       {"xcoords, ycoords: are the positions in another unit?", "(94508, 95008)", "memory"}},
      {"no pattern at all",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::ones({0, 8, 8});
         for (const char* name : {"xcoords", "ycoords"})
           array(a, name) = at::ones({0}, at::kDouble);
       }),
       {"diffraction: expected at least 1 pattern", "found none"}},
      {"mask that counts nothing",
       spoiled([](auto& a) {
         array(a, "mask") = at::zeros({8, 8}, at::kBool);
       }),
       {"mask: expected counted pixels", "found none"}},
      {"all patterns zero",
       spoiled([](auto& a) {
         array(a, "diffraction") = at::zeros({12, 8, 8});
       }),
       {"patterns: expected photons", "found all 12 patterns zero"}},
      {"one pattern", spoiled(one_pattern), {"patterns: expected at least 2", "found 1"}},
      {"positions all equal",
       spoiled([](auto& a) {
         array(a, "xcoords") = at::full({12}, 5.0, at::kDouble);
         array(a, "ycoords") = at::full({12}, 6.0, at::kDouble);
       }),
       {"positions: expected patterns at different positions", "found all 12 at row 6, col 5"}},
      {"probe of another size",
       spoiled([](auto& a) {
         array(a, "probeGuess") = at::ones({6, 6}, at::kComplexFloat);
       }),
       {"probeGuess: expected (8, 8)", "found (1, 6, 6) complex64"}},
      {"mask of another size",
       spoiled([](auto& a) {
         array(a, "mask") = at::ones({4, 4}, at::kBool);
       }),
       {"mask: expected (8, 8)", "found (4, 4) bool"}},
  };
}

TEST(BadInput, PixelsThatHoldNoCountsInAnyPatternAreMasked) {
  const TestFolder folder;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [type, value] :
       std::vector<std::pair<at::ScalarType, double>>{{at::kInt, -1},
                                                      {at::kFloat, -2},
                                                      {at::kFloat, nan},
                                                      {at::kInt, 65535},
                                                      {at::kLong, 4294967295.0},
                                                      {at::kFloat, 4294967296.0}}) {
    const BadFile gaps{"gaps",
                       spoiled([type = type, value = value](auto& a) {
                         at::Tensor counts = small_counts().to(type).clone();
                         counts.select(1, 1).select(1, 2).fill_(value);
                         array(a, "diffraction") = counts;
                       }),
                       {}};
    ReadOptions options;
    options.file = folder / "gaps.npz";
    options.domain = "counts";
    gaps.write(options.file);
    const Scan scan = read_scan(options);
    EXPECT_FALSE(scan.mask()[1][2].item<bool>()) << value;
    EXPECT_EQ(scan.mask().sum().item<std::int64_t>(), 63) << value;
    EXPECT_LT(scan.counts().max().item<double>(), 1000) << value;
  }
}

TEST(BadInput, AProbeWithoutLightIsTakenForNone) {
  const TestFolder folder;
  for (const double value : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    const BadFile empty{"empty",
                        spoiled([value](auto& a) {
                          array(a, "probeGuess") = at::full({8, 8}, value).to(at::kComplexFloat);
                        }),
                        {}};
    ReadOptions options;
    options.file = folder / "empty.npz";
    empty.write(options.file);
    const Scan scan = read_scan(options);
    EXPECT_FALSE(scan.probe_given());
    EXPECT_GT(at::real(scan.probe()).abs().sum().item<double>(), 0);
  }
}

TEST(BadInput, EachIsRefusedWithFileDatasetExpectedAndFound) {
  const TestFolder folder;
  for (const BadFile& bad : bad_files()) {
    ReadOptions options;
    options.file = folder / (bad.name + ".npz");
    bad.write(options.file);
    const std::string message = message_of([&] { read_scan(options); });
    const std::string file = options.file.string() + ": ";
    EXPECT_TRUE(message.starts_with(file)) << bad.name << ": " << message;
    EXPECT_EQ(message.find(file, 1), std::string::npos)
        << bad.name << " is named once: " << message;
    for (const std::string& part : bad.parts) {
      EXPECT_TRUE(contains(message, part)) << bad.name << " should say " << part << ": " << message;
    }
  }
}

TEST(BadInput, AMatlabVariableThatSaysMoreValuesThanTheFileHoldsIsNamed) {
  const auto corpus = source_folder() / "tests/fuzz/corpus/matlab/plain";
  std::ifstream whole(corpus, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(whole), {});
  constexpr std::size_t kLengths = 160;  // of the first variable, (2, 3, 4)
  ASSERT_EQ(bytes[kLengths + 8], 4);
  bytes[kLengths + 11] = 0x20;
  const TestFolder folder;
  write_raw(folder / "huge.mat", bytes);
  const std::string said = message_of([&] { open_arrays(folder / "huge.mat"); });
  EXPECT_NE(said.find("dp: the file is damaged: it says"), std::string::npos) << said;
}

TEST(BadInput, OptionsOutOfRangeAreNamed) {
  const std::vector<std::pair<std::function<void(ReadOptions&)>, std::string>> table = {
      {[](auto& o) { o.domain = "phase"; }, "--domain: expected one of auto, counts, amplitude"},
      {[](auto& o) { o.crop = 40; }, "--crop: expected"},
      {[](auto& o) { o.crop = 5; }, "even pattern size N, found 5"},
      {[](auto& o) { o.crop = -2; }, "--crop: expected a whole number (0..1"},
      {[](auto& o) {
         o.centre = DetectorCentre{9, 2};
       },
       "--center: expected a pixel of the 8 x 8"},
      {[](auto& o) { o.hold_out = 0.7; }, "--hold-out: expected a number (0..0.5), found '0.7'"},
      {[](auto& o) { o.unseen_half = "left"; },
       "--unseen-half: expected one of none, upper, lower"},
      {[](auto& o) { o.mask = "/nonexistent/mask.npy"; }, "/nonexistent/mask.npy"},
      {[](auto& o) { o.photons = -1; }, "--photons: expected a number (>= 0), found '-1'"},
  };
  for (const auto& [change, part] : table) {
    ReadOptions options;
    change(options);
    const std::string message = message_of([&] { read_arrays(small_arrays(), options); });
    EXPECT_TRUE(contains(message, part)) << "expected " << part << " in: " << message;
  }
}

TEST(BadInput, AMaskFileThatCannotBeReadIsNamed) {
  const TestFolder folder;
  ReadOptions options;
  options.mask = folder / "bad text.npz";
  write_raw(options.mask, "not a zip");
  const std::string message = message_of([&] { read_arrays(small_arrays(), options); });
  EXPECT_TRUE(contains(message, "--mask: " + options.mask + ": expected")) << message;
}

}  // namespace
}  // namespace ptyche
