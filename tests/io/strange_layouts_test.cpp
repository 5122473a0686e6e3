// Files that are nearly as usual: axes left out, oblong pixels, several energies, series with gaps,
// more patterns than positions.
#include <algorithm>

#include "ptyche/io/readers.h"
#include "ptyche/io/write_result.h"
#include "tests/io/layouts.h"

namespace ptyche {
namespace {

/// A complex image whose pixels are all different.
at::Tensor image_of(std::int64_t rows, std::int64_t cols) {
  const at::Tensor values = at::arange(rows * cols, at::kDouble).reshape({rows, cols});
  return at::complex(values, -2 * values);
}

/// As MATLAB writes an array of these axes in HDF5: the last axis first.
at::Tensor reversed_axes(const at::Tensor& array) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = array.dim(); axis-- > 0;) axes.push_back(axis);
  return array.permute(axes).contiguous();
}

Reconstruction read_matlab(const at::Tensor& object, const at::Tensor& probe, bool with_p = true) {
  const TestFolder folder;
  Hdf5File file = Hdf5File::create(folder / "a.mat");
  file.write("object", reversed_axes(object));
  file.set("object", "MATLAB_class", std::string("double"));
  if (probe.defined()) file.write("probe", reversed_axes(probe));
  if (with_p) file.write("p/dx_spec", at::full({2, 1}, 1e-8, at::kDouble));
  file.close();
  return read_object_file(folder / "a.mat");
}

TEST(LowerRank, AResultOfMatlabHasItsRowsAndColumnsHoweverManyAxesAreLeftOut) {
  const at::Tensor image = image_of(10, 14), other = image_of(10, 14) + 1;
  const at::Tensor probe = image_of(6, 6);
  const at::Tensor two = at::stack({probe, probe * 2}, 2);  // (rows, cols, modes)
  for (const bool with_p : {true, false}) {
    for (const at::Tensor& object : {image, image.unsqueeze(2)})
      for (const at::Tensor& modes : {probe, two, two.unsqueeze(3)}) {
        const Reconstruction found = read_matlab(object, modes, with_p);
        EXPECT_TRUE(at::equal(found.projection(), image.to(at::kComplexFloat)));
        EXPECT_TRUE(at::equal(found.main_probe()[0], probe.to(at::kComplexFloat)));
        EXPECT_EQ(found.modes(), modes.dim() == 2 ? 1 : 2);
      }
    const Reconstruction slices = read_matlab(at::stack({image, other}, 2), probe, with_p);
    EXPECT_TRUE(at::allclose(slices.projection(), (image * other).to(at::kComplexFloat)));
  }
  EXPECT_TRUE(at::equal(read_matlab(image, {}, false).projection(), image.to(at::kComplexFloat)));
}

TEST(LowerRank, OfOneModeAndSeveralPositionsOfTheProbeTheFirstIsTaken) {
  const at::Tensor image = image_of(10, 14), probe = image_of(6, 6);
  const at::Tensor several = at::stack({probe, probe * 3}, 2).unsqueeze(2);  // r, c, 1, 2
  const Reconstruction found = read_matlab(image, several);
  ASSERT_EQ(found.modes(), 1);
  EXPECT_TRUE(at::equal(found.main_probe()[0], probe.to(at::kComplexFloat)));
}

TEST(LowerRank, AnArrayOfMoreAxesThanAreKnownIsRefused) {
  const std::string said = message_of([] { read_matlab(image_of(10, 14).view({2, 5, 7, 2}), {}); });
  EXPECT_TRUE(contains(said, "object: expected 3 axes")) << said;
}

/// An EMD file whose detector's steps are these multiples of the usual one.
std::filesystem::path write_emd(const TestFolder& folder, double rows, double cols) {
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "cube.h5");
  file.set("/", "emd_group_type", std::string("file"));
  file.write("root/datacube/data", scan.counts.reshape({4, 3, kSize, kSize}));
  const double step = 1e-10 / (kSize * scan.object_pixel_m());
  const std::vector<std::pair<double, const char*>> axes{
      {600, "nm"}, {900, "nm"}, {rows * step, "A^-1"}, {cols * step, "A^-1"}};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string name = fmt::format("root/datacube/dim{}", axis);
    file.write(name, at::tensor({0.0, axes[axis].first}, at::kDouble));
    file.set(name, "units", std::string(axes[axis].second));
  }
  file.close();
  return folder / "cube.h5";
}

TEST(OblongPixels, OfAnEmdFileAreRefused) {
  const TestFolder folder;
  for (const auto& pixel : {std::pair{1.5, 1.0}, {1.0, 1.5}, {1.0, 0.98}}) {
    const std::string said =
        message_of([&] { read_layout(write_emd(folder, pixel.first, pixel.second)); });
    EXPECT_TRUE(contains(said, "expected square detector pixels")) << said;
  }
  expect_layout(read_layout(write_emd(folder, 1, 1.0000001)), LayoutScan{}, 0);
}

TEST(OblongPixels, OfAPtydFileAreRefused) {
  const TestFolder folder;
  const LayoutScan scan;
  for (const double ratio : {1.0, 1.5, 0.5}) {
    Hdf5File file = Hdf5File::create(folder / "a.ptyd");
    file.write("chunks/0/data", scan.counts);
    file.write("chunks/0/positions", at::stack({scan.y, scan.x}, 1));
    put(file, "meta/energy", scan.energy_ev / 1e3);
    put(file, "meta/distance", scan.distance_m);
    file.write("meta/psize",
               at::tensor({ratio * scan.detector_pixel_m, scan.detector_pixel_m}, at::kDouble));
    file.close();
    const std::string said = message_of([&] { read_layout(folder / "a.ptyd"); });
    EXPECT_EQ(contains(said, "meta/psize: expected square pixels"), ratio != 1) << said;
  }
}

/// Files of three patterns each, of which those that are named are linked by the master.
std::filesystem::path write_series(const TestFolder& folder, const std::vector<int>& parts,
                                   bool numbered, double pixel_ratio = 1) {
  const LayoutScan scan;
  for (const int part : parts) {
    Hdf5File data = Hdf5File::create(folder / fmt::format("s_data_{:06d}.h5", part));
    data.write("entry/data/data", scan.counts.narrow(0, 3 * (part - 1), 3).to(at::kInt));
    if (numbered) data.set("entry/data/data", "image_nr_low", std::int64_t{3 * (part - 1) + 1});
    data.close();
  }
  Hdf5File master = Hdf5File::create(folder / "s_master.h5");
  put(master, "entry/instrument/detector/x_pixel_size", scan.detector_pixel_m, "m");
  put(master, "entry/instrument/detector/y_pixel_size", pixel_ratio * scan.detector_pixel_m, "m");
  put(master, "entry/instrument/detector/detector_distance", scan.distance_m, "m");
  put(master, "entry/instrument/detector/detectorSpecific/photon_energy", scan.energy_ev, "eV");
  master.close();
  for (int part = 1; part <= 4; ++part)
    link_to(folder / "s_master.h5", fmt::format("entry/data/data_{:06d}", part),
            fmt::format("s_data_{:06d}.h5", part), "/entry/data/data");
  return folder / "s_master.h5";
}

/// Positions of all 12 patterns as a table, and how they are asked for.
ReadOptions with_table(const TestFolder& folder) {
  const LayoutScan scan;
  std::string table = "# x y\n";
  for (std::int64_t i = 0; i < kFrames; ++i)
    table += fmt::format("{:.9f} {:.9f}\n", scan.x[i].item<double>() * 1e6,
                         scan.y[i].item<double>() * 1e6);
  write_raw(folder / "pos.txt", table);
  const std::string text = (folder / "pos.txt").string();
  ReadOptions options{.energy_ev = scan.energy_ev, .distance_m = scan.distance_m};
  options.detector_pixel_m = scan.detector_pixel_m;
  options.positions = text + ":x*1e-6," + text + ":y*1e-6";
  return options;
}

/// The scan without some patterns: counts, and places up to their origin.
void expect_without(const Scan& found, const std::vector<std::int64_t>& missing) {
  const LayoutScan scan;
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < kFrames; ++i)
    if (std::ranges::find(missing, i) == missing.end()) numbers.push_back(i);
  const at::Tensor kept = at::tensor(numbers, at::kLong);
  ASSERT_EQ(found.frames(), kept.size(0));
  EXPECT_TRUE(at::equal(found.counts().to(at::kFloat), scan.counts.index_select(0, kept)));
  const at::Tensor places =
      at::stack({scan.y, scan.x}, 1).index_select(0, kept) / scan.object_pixel_m();
  const at::Tensor off = (found.positions() - found.positions()[0]) - (places - places[0]);
  EXPECT_LT(off.abs().max().item<double>(), 1e-4);
}

TEST(OblongPixels, OfADetectorsFileAreRefused) {
  const TestFolder folder;
  const auto file = write_series(folder, {1, 2, 3, 4}, true, 1.5);
  const std::string said = message_of([&] { read_layout(file, with_table(folder)); });
  EXPECT_TRUE(contains(said, "expected square pixels")) << said;
}

TEST(SeriesWithGaps, OfADetectorsFilesHaveThePositionsOfTheirNumbers) {
  for (const bool numbered : {true, false}) {
    for (const auto& [parts, missing] :
         {std::pair{std::vector<int>{1, 2, 4}, std::vector<std::int64_t>{6, 7, 8}},
          {{1, 3, 4}, {3, 4, 5}},
          {{1, 2, 3, 4}, {}}}) {
      const TestFolder folder;
      expect_without(read_layout(write_series(folder, parts, numbered), with_table(folder)),
                     missing);
    }
  }
}

void write_pictures(const TestFolder& folder, const std::vector<std::int64_t>& missing,
                    std::int64_t first) {
  const LayoutScan scan;
  std::filesystem::create_directories(folder / "all");
  for (std::int64_t i = 0; i < kFrames; ++i) {
    if (std::ranges::find(missing, i) != missing.end()) continue;
    Reconstruction image;
    image.object = at::complex(scan.counts[i], at::zeros_like(scan.counts[i])).unsqueeze(0);
    write_result_as("images", folder / "one", image);
    std::filesystem::rename(folder / "one" / "amplitude.tif",
                            folder / "all" / fmt::format("run3_{:04d}.tif", first + i));
  }
}

TEST(SeriesWithGaps, OfPicturesHaveThePositionsOfTheNumbersInTheirNames) {
  for (const std::int64_t first : {0, 1})
    for (const std::vector<std::int64_t>& missing :
         {std::vector<std::int64_t>{4}, {2, 7}, {5, 6, 9}, {3, 10}}) {
      const TestFolder folder;
      write_pictures(folder, missing, first);
      expect_without(read_layout(folder / "all", with_table(folder)), missing);
    }
}

TEST(SeriesWithGaps, AreRefusedWithTheirNumbersWhereTheseDoNotTell) {
  const TestFolder folder;
  write_pictures(folder, {4, 7}, 500);
  const std::string said = message_of([&] { read_layout(folder / "all", with_table(folder)); });
  EXPECT_TRUE(contains(said, "has no number 504, 507")) << said;
  EXPECT_FALSE(contains(said, "--frames")) << said;
}

/// A CXI file with these patterns and the positions of LayoutScan.
Scan read_more(const at::Tensor& patterns, ReadOptions options) {
  const TestFolder folder;
  const LayoutScan scan;
  return read_layout(write_cxi_layout(
                         folder / "a.cxi", scan,
                         [&](Hdf5File& file, const std::string& detector) {
                           put_lengths(file, detector, scan);
                           file.write("entry_1/data_1/translation", translation_of(scan));
                           put(file, "entry_1/instrument_1/source_1/energy",
                               scan.energy_ev * cxi::kJoulesPerEv);
                         },
                         patterns),
                     options);
}

TEST(Exposures, OfEachPositionAreSummed) {
  LayoutScan summed;
  summed.counts = 6 * small_counts();
  const at::Tensor each = at::stack({small_counts(), 2 * small_counts(), 3 * small_counts()}, 1);
  ReadOptions options;
  options.exposures = 3;
  for (const at::ScalarType type : {at::kByte, at::kShort, at::kInt, at::kFloat}) {
    const at::Tensor stored = each.to(type).contiguous();
    expect_layout(read_more(stored.flatten(0, 1), options), summed);
    expect_layout(read_more(stored, options), summed);
    expect_layout(read_more(stored.transpose(0, 1).contiguous(), options), summed);
  }
  const std::string said = message_of([&] { read_more(each.flatten(0, 1), {}); });
  EXPECT_TRUE(contains(said, "--exposures 3 sums")) << said;
}

TEST(Exposures, OfAnotherNumberAreRefused) {
  ReadOptions options;
  options.exposures = 2;
  const at::Tensor each = small_counts().repeat_interleave(3, 0);
  const std::string said = message_of([&] { read_more(each, options); });
  EXPECT_TRUE(contains(said, "--exposures 2: expected 24 patterns for 12 positions, found 36"))
      << said;
}

TEST(Exposures, ThatAreNotWantedAreLeftOutByFrames) {
  ReadOptions options;
  const at::Tensor first = at::cat({small_counts(), small_counts() + 1, small_counts() + 2});
  options.frames = "0:12";
  expect_layout(read_more(first, options), {});
  options.frames = "::3";
  expect_layout(
      read_more(
          at::stack({small_counts(), small_counts() + 1, small_counts() + 2}, 1).flatten(0, 1),
          options),
      {});
}

TEST(Exposures, WithAGapAtTheLargestValueAreMaskedThere) {
  at::Tensor each = small_counts().to(at::kByte).repeat_interleave(3, 0);
  each.select(1, 2).select(1, 3).fill_(255);
  ReadOptions options;
  options.exposures = 3;
  const TestFolder folder;
  EXPECT_FALSE(read_more(each, options).mask()[2][3].item<bool>());
}

TEST(Flyback, IsOfferedAndLeftOutBesideWrittenPositions) {
  for (const std::int64_t back : {1, 2}) {
    const at::Tensor rows = small_counts().view({4, 3, kSize, kSize});
    const at::Tensor more = at::cat({rows, rows.narrow(1, 0, back) + 20}, 1).contiguous();
    for (const at::Tensor& stored : {more, more.flatten(0, 1)}) {
      const std::string said = message_of([&] { read_more(stored, {}); });
      // Two of three would be no flyback.
      EXPECT_EQ(contains(said, "found 12; --flyback 1 leaves out"), back == 1) << said;
      ReadOptions options;
      options.flyback = back;
      expect_layout(read_more(stored, options), {});
    }
  }
}

Scan read_energies(const at::Tensor& patterns, const at::Tensor& places, const at::Tensor& energies,
                   std::int64_t which) {
  const TestFolder folder;
  const LayoutScan scan;
  ReadOptions options;
  options.scan_index = which;
  return read_layout(write_cxi_layout(
                         folder / "a.cxi", scan,
                         [&](Hdf5File& file, const std::string& detector) {
                           put_lengths(file, detector, scan);
                           file.write("entry_1/data_1/translation", places);
                           file.write("entry_1/instrument_1/source_1/energy",
                                      energies * cxi::kJoulesPerEv);
                         },
                         patterns),
                     options);
}

TEST(Energies, OfOneFileAreScansOfTheirOwn) {
  const LayoutScan scan;
  const at::Tensor energies = at::tensor({8000.0, scan.energy_ev, 9000.0}, at::kDouble);
  const at::Tensor patterns =
      at::stack({scan.counts + 3, scan.counts, scan.counts + 7}).contiguous();
  const at::Tensor places = translation_of(scan);
  for (const at::Tensor& all : {places, at::stack({places, places, places})}) {
    const Scan found = read_energies(patterns, all, energies, 1);
    expect_layout(found, scan);
    expect_energy(found, scan);
    const std::string said = message_of([&] { read_energies(patterns, all, energies, -1); });
    EXPECT_TRUE(contains(said, "--scan-index")) << said;
  }
}

TEST(Energies, ThatHardlyDifferAreOne) {
  const LayoutScan scan;
  const at::Tensor energies = scan.energy_ev * (1 + 1e-5 * at::arange(kFrames, at::kDouble));
  expect_layout(read_energies(scan.counts, translation_of(scan), energies, -1), scan);
}

TEST(Energies, ThatDoNotBelongToTheFirstAxisAreRefused) {
  const LayoutScan scan;
  const at::Tensor energies = scan.energy_ev * (1 + 0.1 * at::arange(3, at::kDouble));
  const std::string said =
      message_of([&] { read_energies(scan.counts, translation_of(scan), energies, -1); });
  EXPECT_TRUE(contains(said, "expected one energy, found 3 from 8800 to 10560 eV")) << said;
}

}  // namespace
}  // namespace ptyche
