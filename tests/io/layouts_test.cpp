#include "tests/io/layouts.h"

#include <algorithm>
#include <set>

#include "ptyche/io/detector_frame.h"
#include "ptyche/io/raster.h"
#include "ptyche/io/recipe.h"
#include "ptyche/io/result.h"
#include "ptyche/io/write_result.h"
#include "ptyche/storage/hdf5_filters.h"
#include "tests/support/shared.h"

namespace ptyche {
namespace {

TEST(Hdf5Filters, UnpackWhatTheFieldPacksWith) {
  const auto file = Hdf5File::open(source_folder() / "tests/io/packed.h5");
  const at::Tensor expected =
      (at::arange(12 * 7 * 9, at::kInt).remainder(13) + 1).reshape({12, 7, 9});
  for (const char* name : {"bitshuffle_lz4", "bitshuffle_zstd", "bitshuffle", "lz4", "zstd",
                           "blosc", "lzf", "lzf_shuffled"})
    EXPECT_TRUE(at::equal(file.read(name).values.to(at::kInt), expected)) << name;
}

TEST(Hdf5Filters, RefuseDamagedBytesAndNeverWriteBeyondTheChunk) {
  const std::vector<std::uint8_t> noise(64, 0xff);
  for (const int filter : {kBlosc, kLzf, kLz4, kBitshuffle, kZstd})
    EXPECT_THROW(unpacked(filter, {0, 4, 2, 0, 2}, noise.data(), noise.size(), 32), InvalidInput)
        << filter;
  const std::vector<std::uint8_t> runs{0, 7, 0xff, 0xff, 0};  // one literal, then 264 times itself
  EXPECT_THROW(unpacked(kLzf, {}, runs.data(), runs.size(), 100), InvalidInput);
  EXPECT_EQ(unpacked(kLzf, {}, runs.data(), 2, 100).size(), 1u);
}

TEST(Layouts, CxiWithUnitsOfItsOwn) {
  const TestFolder folder;
  const LayoutScan scan;
  const Scan found = read_layout(
      write_cxi_layout(folder / "a.cxi", scan, [&](Hdf5File& file, const std::string& detector) {
        file.write("entry_1/data_1/translation", translation_of(scan) * 1e6);
        file.set("entry_1/data_1/translation", "units", std::string("um"));
        put(file, detector + "distance", scan.distance_m * 1e3, "mm");
        put(file, detector + "x_pixel_size", scan.detector_pixel_m * 1e6, "um");
        put(file, detector + "y_pixel_size", scan.detector_pixel_m * 1e6, "um");
        put(file, "entry_1/instrument_1/beam_1/energy", scan.energy_ev / 1e3, "keV");
        put(file, "entry_1/instrument_1/source_1/energy", 3, "GeV");  // the machine's
      }));
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, CxiOfPyNXWithTranslationsThreeTimesN) {
  const TestFolder folder;
  const LayoutScan scan;
  const Scan found = read_layout(
      write_cxi_layout(folder / "a.cxi", scan, [&](Hdf5File& file, const std::string& detector) {
        file.set("/", "creator", std::string("PyNX"));
        file.write("entry_1/sample_1/geometry_1/translation",
                   translation_of(scan).transpose(0, 1).contiguous());
        put_lengths(file, detector, scan);
        put(file, "entry_1/instrument_1/source_1/energy", scan.energy_ev * cxi::kJoulesPerEv);
      }));
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, CxiWithAWavelengthAndARasterOfPatterns) {
  const TestFolder folder;
  const LayoutScan scan;
  const Scan found = read_layout(write_cxi_layout(
      folder / "a.cxi", scan,
      [&](Hdf5File& file, const std::string& detector) {
        file.write("entry_1/data_1/translation", translation_of(scan).reshape({4, 3, 3}));
        put_lengths(file, detector, scan);
        put(file, "entry_1/instrument_1/source_1/wavelength", kHcInEvM / scan.energy_ev);
      },
      scan.counts.reshape({4, 3, kSize, kSize})));
  expect_layout(found, scan);
  expect_energy(found, scan);
}

/// The eight turns of a detector: what `basis_vectors` say of patterns that were stored so.
TEST(Layouts, CxiWithATurnedDetectorComesOutAsTheUsualOne) {
  const LayoutScan scan;
  for (int number = 0; number < 8; ++number) {
    const TestFolder folder;
    const Turn turn = turn_numbered(number);
    // Stored so that `turned` gives the counts back: the reversals first, then the transpose.
    at::Tensor stored = turned(scan.counts, {false, turn.reverse_rows, turn.reverse_cols});
    stored = turned(stored, {turn.transpose, false, false});
    const double row = turn.reverse_rows ? 75e-6 : -75e-6, col = turn.reverse_cols ? 75e-6 : -75e-6;
    at::Tensor basis = at::zeros({2, 3}, at::kDouble);
    basis[turn.transpose ? 1 : 0][1] = row;
    basis[turn.transpose ? 0 : 1][0] = col;
    if (number % 2 == 1) basis = basis.transpose(0, 1).contiguous();  // both ways are written
    const Scan found = read_layout(write_cxi_layout(
        folder / "a.cxi", scan,
        [&](Hdf5File& file, const std::string& detector) {
          file.write("entry_1/data_1/translation", translation_of(scan));
          file.write(detector + "basis_vectors", basis);
          put_lengths(file, detector, scan);
          put(file, "entry_1/instrument_1/source_1/energy", scan.energy_ev * cxi::kJoulesPerEv);
        },
        stored.contiguous()));
    SCOPED_TRACE(number);
    expect_layout(found, scan);
  }
}

TEST(Layouts, CxiWithADarkAndAMonitorLosesBoth) {
  const TestFolder folder;
  const LayoutScan scan;
  const at::Tensor dark = at::arange(kSize * kSize, at::kFloat).reshape({kSize, kSize});
  const at::Tensor light = 1 + 0.4 * at::arange(kFrames, at::kDouble).sin();
  const at::Tensor data = scan.counts * light.to(at::kFloat).view({-1, 1, 1}) + dark;
  const Scan found = read_layout(write_cxi_layout(
      folder / "a.cxi", scan,
      [&](Hdf5File& file, const std::string& detector) {
        file.write("entry_1/data_1/translation", translation_of(scan));
        file.write("entry_1/data_1/monitor", light);
        file.write(detector + "data_dark", at::stack({dark, dark}));
        put_lengths(file, detector, scan);
        put(file, "entry_1/instrument_1/source_1/energy", scan.energy_ev * cxi::kJoulesPerEv);
      },
      data));
  LayoutScan brighter = scan;
  brighter.counts = scan.counts * light.mean().item<double>();
  expect_layout(found, brighter, 1e-3);
}

TEST(Layouts, DiamondNexus) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "a.nxs");
  file.write("entry_1/data/data", scan.counts);
  file.write("entry_1/data/x", scan.x * 1e3);
  file.set("entry_1/data/x", "units", std::string("mm"));
  file.write("entry_1/data/y", scan.y * 1e6);
  file.set("entry_1/data/y", "units", std::string("um"));
  put(file, "entry_1/instrument_1/beam_1/energy", scan.energy_ev / 1e3, "keV");
  put_lengths(file, "entry_1/instrument_1/detector_1/", scan);
  file.close();
  const Scan found = read_layout(folder / "a.nxs");
  expect_layout(found, scan);
  expect_energy(found, scan);
}

/// ptychodus' folder; the product's positions in another order, one pattern without.
void write_ptychodus_folder(const TestFolder& folder, const LayoutScan& scan) {
  Hdf5File diffraction = Hdf5File::create(folder / "diffraction.h5");
  diffraction.write("patterns", at::cat({scan.counts, scan.counts.narrow(0, 0, 1)}));
  diffraction.write("indexes", at::arange(kFrames + 1, at::kLong));
  diffraction.write("bad_pixels", at::zeros({kSize, kSize}, at::kBool));
  diffraction.set("/", "detector_pixel_width_m", scan.detector_pixel_m);
  diffraction.close();
  const at::Tensor order = at::arange(kFrames, at::kLong).flip(0).contiguous();
  Hdf5File product = Hdf5File::create(folder / "product.h5");
  product.write("probe_position_indexes", order);
  product.write("probe_position_x_m", scan.x.index_select(0, order));
  product.write("probe_position_y_m", scan.y.index_select(0, order));
  product.set("/", "photon_energy_eV", scan.energy_ev);
  product.set("/", "detector_object_distance_m", scan.distance_m);
  product.close();
}

TEST(Layouts, PtychodusFolderIsJoinedByIndex) {
  const TestFolder folder;
  const LayoutScan scan;
  write_ptychodus_folder(folder, scan);
  for (const auto& path : {folder.path(), folder / "diffraction.h5"}) {
    const Scan found = read_layout(path);
    expect_layout(found, scan);
    expect_energy(found, scan);
  }
}

TEST(Layouts, PtychodusPatternsAloneSayThatTheProductIsMissing) {
  const TestFolder folder;
  write_ptychodus_folder(folder, {});
  std::filesystem::remove(folder / "product.h5");
  const std::string reason = message_of([&] { read_layout(folder.path()); });
  for (const char* part : {"product.h5", "--positions", "--scan-shape"})
    EXPECT_TRUE(contains(reason, part)) << reason;
}

/// A master with external links to two files of patterns.
void write_eiger(const TestFolder& folder, const LayoutScan& scan) {
  for (int part = 0; part < 2; ++part) {
    Hdf5File data = Hdf5File::create(folder / ("s_data_00000" + std::to_string(part + 1) + ".h5"));
    data.write("entry/data/data", scan.counts.narrow(0, part * 6, 6).to(at::kInt));
    data.close();
  }
  Hdf5File master = Hdf5File::create(folder / "s_master.h5");
  put(master, "entry/instrument/detector/x_pixel_size", scan.detector_pixel_m, "m");
  put(master, "entry/instrument/detector/detector_distance", scan.distance_m, "m");
  put(master, "entry/instrument/detector/detectorSpecific/photon_energy", scan.energy_ev, "eV");
  at::Tensor bad = at::zeros({kSize, kSize}, at::kInt);
  bad[2][3] = 1;
  master.write("entry/instrument/detector/detectorSpecific/pixel_mask", bad);
  master.close();
  for (const char* part : {"1", "2"})
    link_to(folder / "s_master.h5", std::string("entry/data/data_00000") + part,
            std::string("s_data_00000") + part + ".h5", "/entry/data/data");
}

TEST(Layouts, EigerMasterFollowsItsLinksAndTakesPositionsOfATable) {
  const TestFolder folder;
  const LayoutScan scan;
  write_eiger(folder, scan);
  std::string table = "trigger,x,y\n";
  for (std::int64_t i = 0; i < kFrames; ++i)
    table += fmt::format("{},{:.6f},{:.6f}\n", i, scan.x[i].item<double>() * 1e9,
                         scan.y[i].item<double>() * 1e9);
  write_raw(folder / "pos.csv", table);
  ReadOptions options;
  const std::string csv = (folder / "pos.csv").string();
  options.positions = csv + ":x*1e-9," + csv + ":3*1e-9";
  const Scan found = read_layout(folder / "s_master.h5", options);
  expect_layout(found, scan);
  expect_energy(found, scan);
  EXPECT_FALSE(found.mask()[2][3].item<bool>());
  EXPECT_TRUE(contains(message_of([&] { read_layout(folder / "s_master.h5"); }), "--positions"));
}

TEST(Layouts, VelociprobeTakesTheMeanOfTheRowsOfATrigger) {
  const TestFolder folder;
  const LayoutScan scan;
  write_eiger(folder, scan);
  std::string table;
  for (std::int64_t i = 0; i < kFrames; ++i)
    for (const double off : {-20.0, 20.0})  // nm, zero in the mean
      table += fmt::format("0,{:.6f},0,0,0,{:.6f},0,{}\n", scan.x[i].item<double>() * 1e9 + off,
                           -scan.y[i].item<double>() * 1e9 - off, i + 1);
  write_raw(folder / "s.csv", table);
  const Scan found = read_layout(folder / "s_master.h5");
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, FoldSliceIsTransposedWithBothSignsReversed) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File dp = Hdf5File::create(folder / "data_roi0_dp.hdf5");
  dp.write("dp", scan.counts.transpose(1, 2).contiguous());
  dp.close();
  Hdf5File para = Hdf5File::create(folder / "data_roi0_para.hdf5");
  para.write("ppX", -scan.x.unsqueeze(0));
  para.write("ppY", -scan.y.unsqueeze(0));
  put(para, "lambda", kHcInEvM / scan.energy_ev);
  put(para, "dx", scan.object_pixel_m());
  para.close();
  const Scan found = read_layout(folder / "data_roi0_dp.hdf5");
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, PtyChi) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File dp = Hdf5File::create(folder / "test_dp.hdf5");
  dp.write("dp", scan.counts);
  dp.close();
  Hdf5File para = Hdf5File::create(folder / "test_para.hdf5");
  para.write("object", at::ones({1, 40, 40}, at::kComplexFloat));
  para.set("object", "pixel_height_m", scan.object_pixel_m());
  para.write("probe", at::ones({1, 1, kSize, kSize}, at::kComplexFloat));
  para.write("probe_position_x_m", scan.x);
  para.write("probe_position_y_m", scan.y);
  para.close();
  const Scan found = read_layout(folder / "test_dp.hdf5");
  expect_layout(found, scan);
  EXPECT_TRUE(found.probe_given());
}

void expect_ptyd_read(const std::function<void(Hdf5File&)>& write_weights) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "a.ptyd");
  for (std::int64_t k = 0; k < kFrames; ++k) {
    const std::string chunk = fmt::format("chunks/{}/", k);
    file.write(chunk + "data", scan.counts.narrow(0, k, 1));
    file.write(chunk + "positions", at::stack({scan.y, scan.x}, 1).narrow(0, k, 1));
  }
  put(file, "meta/energy", scan.energy_ev / 1e3);
  put(file, "meta/distance", scan.distance_m);
  file.write("meta/psize", at::full({2}, scan.detector_pixel_m, at::kDouble));
  file.write_text("meta/center", "None");
  write_weights(file);
  file.close();
  const Scan found = read_layout(folder / "a.ptyd");
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, PtydWithTwelveChunksInTheOrderOfTheirNumbersHasNoMaskWhereItsWeightsAreEmpty) {
  expect_ptyd_read([](Hdf5File& file) { file.write_text("common/weight2d", "None"); });
  expect_ptyd_read([](Hdf5File& file) { file.write("common/weight2d", at::empty({0})); });
}

TEST(Layouts, HxnHoldsAmplitudesWithZeroFrequencyAtTheCorner) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "scan_1.h5");
  file.write("diffamp", scan.counts.sqrt().roll({-kSize / 2, -kSize / 2}, {1, 2}));
  file.write("points", at::stack({scan.x, scan.y}) * 1e6);
  put(file, "lambda_nm", kHcInEvM / scan.energy_ev * 1e9);
  put(file, "z_m", scan.distance_m);
  put(file, "ccd_pixel_um", scan.detector_pixel_m * 1e6);
  file.close();
  const Scan found = read_layout(folder / "scan_1.h5");
  expect_layout(found, scan);
  expect_energy(found, scan);
}

TEST(Layouts, NpzWithStartingCoordinatesOnly) {
  Arrays arrays = small_arrays();
  const at::Tensor x = array(arrays, "xcoords"), y = array(arrays, "ycoords");
  remove(arrays, "xcoords");
  remove(arrays, "ycoords");
  arrays.emplace_back("xcoords_start", x);
  arrays.emplace_back("ycoords_start", y);
  EXPECT_TRUE(at::equal(read_arrays(arrays).positions(), at::stack({y, x}, 1)));
}

TEST(Layouts, TikeHasZeroFrequencyAtTheCornerAndRowsFirst) {
  const TestFolder folder;
  const Arrays small = small_arrays();
  const at::Tensor scan = at::stack({small[2].second, small[1].second}, 1);
  write_npz(folder / "a.npz", {{"data", small_counts().roll({-kSize / 2, -kSize / 2}, {1, 2})},
                               {"scan", scan},
                               {"probe", at::ones({1, 1, 1, kSize, kSize}, at::kComplexFloat)}});
  const Scan found = read_layout(folder / "a.npz");
  EXPECT_TRUE(at::equal(found.counts().to(at::kFloat), small_counts()));
  EXPECT_TRUE(at::equal(found.positions(), scan));
}

/// The frames as Merlin writes them: a header of text, then 16 bits a pixel, the higher byte first.
std::string mib_of(const at::Tensor& frames) {
  std::string bytes;
  for (std::int64_t i = 0; i < frames.size(0); ++i) {
    std::string header = fmt::format("MQ1,{:06d},00384,01,0008,0008,U16,   1x1,01,", i + 1);
    bytes += header + std::string(384 - header.size(), ' ');
    for (std::int64_t k = 0; k < kSize * kSize; ++k) {
      const int value = frames[i].reshape(-1)[k].item<int>();
      bytes += static_cast<char>(value >> 8);
      bytes += static_cast<char>(value & 255);
    }
  }
  return bytes;
}

constexpr const char* kHdr =
    "HDR,\nFrames in Acquisition (Number):\t12\nFrames per Trigger (Number):\t3\nEnd\n";

TEST(Layouts, MibInManyFilesIsReadInTheirOrderByFolderOrByItsText) {
  const TestFolder folder;
  std::filesystem::create_directory(folder / "run");
  for (int part : {0, 1, 2})
    write_raw(folder / fmt::format("run/scan_{}.mib", part == 2 ? 10 : part + 8),
              mib_of(small_counts().narrow(0, 4 * part, 4)));
  write_raw(folder / "run/scan.hdr", kHdr);
  ReadOptions options;
  options.scan_step_m = 1e-6;
  options.energy_ev = 8800;
  options.distance_m = 2;
  options.detector_pixel_m = 75e-6;
  std::set<std::string> hashes;
  for (const char* name : {"run", "run/scan.hdr"}) {
    const Scan found = read_layout(folder / name, options);
    EXPECT_TRUE(at::equal(found.counts().to(at::kFloat), small_counts())) << name;
    const double step = 1e-6 / found.geometry().object_pixel_m;
    EXPECT_NEAR((found.positions()[3] - found.positions()[0])[0].item<double>(), step, 1e-9);
    hashes.insert(found.input_hash());
  }
  write_raw(folder / "run/scan_9.mib", mib_of(small_counts().narrow(0, 0, 4)));
  for (const char* name : {"run", "run/scan.hdr"})
    hashes.insert(read_layout(folder / name, options).input_hash());
  EXPECT_EQ(hashes.size(), 4u);  // every file counts
  write_raw(folder / "run/scan_10.mib", "MQ1,000001,00384,01,0004,0004,U16,");
  EXPECT_TRUE(contains(message_of([&] { read_layout(folder / "run", options); }), "scan_10.mib"));
}

TEST(Layouts, MibOfARasterAsksForTheStepAndNamesTheShape) {
  const TestFolder folder;
  write_raw(folder / "a.mib", mib_of(small_counts()));
  write_raw(folder / "a.hdr", kHdr);
  const std::string reason = message_of([&] { read_layout(folder / "a.mib"); });
  for (const char* part : {"raster of 4 x 3", "--scan-step"})
    EXPECT_TRUE(contains(reason, part)) << reason;
  ReadOptions options;
  options.scan_step_m = 1e-6;
  options.energy_ev = 8800;
  options.distance_m = 2;
  options.detector_pixel_m = 75e-6;
  const Scan found = read_layout(folder / "a.mib", options);
  EXPECT_TRUE(at::equal(found.counts().to(at::kFloat), small_counts()));
  const double step = 1e-6 / found.geometry().object_pixel_m;
  EXPECT_NEAR((found.positions()[1] - found.positions()[0])[1].item<double>(), step, 1e-9);
  EXPECT_NEAR((found.positions()[3] - found.positions()[0])[0].item<double>(), step, 1e-9);
}

TEST(Layouts, CxiOfPtychodusTakesPlacesAndEnergyFromTheProductBeside) {
  const TestFolder folder;
  const LayoutScan scan;
  write_cxi_layout(folder / "diffraction.cxi", scan, [&](Hdf5File& file, const std::string& where) {
    put_lengths(file, where, scan);
  });
  Hdf5File product = Hdf5File::create(folder / "product.cxi");
  product.write("entry_1/sample_1/geometry_1/translation", translation_of(scan));
  product.write("entry_1/image_1/data", at::ones({1, 2, kSize, kSize}, at::kComplexFloat));
  product.write("entry_1/image_2/data", at::ones({1, 30, 30}, at::kComplexFloat));
  product.make_group("entry_1/ptychodus");
  put(product, "entry_1/instrument_1/source_1/energy", scan.energy_ev * cxi::kJoulesPerEv);
  product.close();
  const Scan found = read_layout(folder.path());
  expect_layout(found, scan);
  expect_energy(found, scan);
  EXPECT_EQ(found.probe().size(0), 2);
  EXPECT_EQ(read_result(folder / "product.cxi").format, "ptychodus CXI product");
}

TEST(Layouts, EmdHasTheRasterAndThePixelInItsAxes) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "cube.h5");
  file.set("/", "emd_group_type", std::string("file"));
  file.write("root/datacube/data", scan.counts.reshape({4, 3, kSize, kSize}));
  const double step = 1e-10 / (kSize * scan.object_pixel_m());
  const std::vector<std::pair<double, const char*>> axes{
      {600, "nm"}, {900, "nm"}, {step, "A^-1"}, {step, "A^-1"}};
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    const std::string name = fmt::format("root/datacube/dim{}", axis);
    file.write(name, at::tensor({0.0, axes[axis].first}, at::kDouble));
    file.set(name, "units", std::string(axes[axis].second));
  }
  file.close();
  expect_layout(read_layout(folder / "cube.h5"), scan);
}

TEST(Layouts, EmpadLosesItsTwoLastRowsAndWhatIsBelowZero) {
  const TestFolder folder;
  at::Tensor stored = at::full({6, 130, 128}, 1e6f);
  const at::Tensor pixels = at::arange(6.0f).view({6, 1, 1}) + at::ones({6, 128, 128});
  stored.narrow(1, 0, 128).copy_(pixels);
  stored[2][3][4] = -0.5f;
  write_raw(folder / "scan_x3_y2.raw",
            std::string(static_cast<const char*>(stored.const_data_ptr()), stored.nbytes()));
  write_raw(folder / "scan.xml",
            "<root><raw_file filename=\"scan_x3_y2.raw\"/><scan_parameters mode=\"search\">"
            "<scan_resolution_x>99</scan_resolution_x></scan_parameters><scan_parameters "
            "mode=\"acquire\"><scan_resolution_x>3</scan_resolution_x><scan_resolution_y>2"
            "</scan_resolution_y></scan_parameters></root>");
  ReadOptions options{.scan_step_m = 1e-6, .energy_ev = 8800, .distance_m = 2};
  options.detector_pixel_m = 150e-6;
  for (const char* name : {"scan.xml", "scan_x3_y2.raw"}) {
    const Scan found = read_layout(folder / name, options);
    EXPECT_EQ(found.counts().sizes(), at::IntArrayRef({6, 128, 128}));
    EXPECT_EQ(found.counts()[5].max().item<double>(), 6);
    EXPECT_EQ(found.counts()[2][3][4].item<double>(), 0);
    EXPECT_EQ(found.positions()[3][1].item<double>(), found.positions()[0][1].item<double>());
  }
}

TEST(Layouts, TiffImagesFollowEachOtherByNumber) {
  const TestFolder folder;
  const LayoutScan scan;
  for (std::int64_t i = 0; i < kFrames; ++i) {
    Reconstruction image;
    image.object = at::complex(scan.counts[i], at::zeros_like(scan.counts[i])).unsqueeze(0);
    write_result_as("images", folder / "one", image);
    std::filesystem::create_directories(folder / "all");
    std::filesystem::rename(folder / "one" / "amplitude.tif",
                            folder / "all" / fmt::format("img_{}.tif", i + 1));
  }
  std::string table = "# x y\n";
  for (std::int64_t i = 0; i < kFrames; ++i)
    table += fmt::format("{:.9f} {:.9f}\n", scan.x[i].item<double>() * 1e6,
                         scan.y[i].item<double>() * 1e6);
  write_raw(folder / "pos.txt", table);
  ReadOptions options{.energy_ev = scan.energy_ev, .distance_m = scan.distance_m};
  options.detector_pixel_m = scan.detector_pixel_m;
  const std::string text = (folder / "pos.txt").string();
  options.positions = text + ":x*1e-6," + text + ":y*1e-6";
  expect_layout(read_layout(folder / "all", options), scan);
}

TEST(Layouts, AnyHdf5IsReadWhereTheOptionsPoint) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "any.h5");
  file.write("measured/frames", scan.counts);
  file.write("measured/motor_x", scan.x * 1e6);
  file.write("measured/motor_y", scan.y * 1e6);
  file.close();
  ReadOptions options;
  options.patterns = "/measured/frames";
  options.positions = "/measured/motor_x*1e-6,/measured/motor_y*1e-6";
  options.energy_ev = scan.energy_ev;
  options.distance_m = scan.distance_m;
  options.detector_pixel_m = scan.detector_pixel_m;
  expect_layout(read_layout(folder / "any.h5", options), scan);
}

TEST(Layouts, ATableOfPositionsAloneIsReadByItsColumnsAndTheirUnits) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "any.h5");
  file.write("frames", scan.counts);
  file.close();
  ReadOptions options{.energy_ev = scan.energy_ev, .distance_m = scan.distance_m};
  options.detector_pixel_m = scan.detector_pixel_m;
  options.patterns = "/frames";
  const auto written = [&](const std::string& head, bool numbered, double unit) {
    std::string table = head;
    for (std::int64_t i = 0; i < kFrames; ++i)
      table += fmt::format("{}{:.9f},{:.9f}\n", numbered ? fmt::format("{},", i) : "",
                           scan.x[i].item<double>() / unit, scan.y[i].item<double>() / unit);
    write_raw(folder / "pos.csv", table);
    return (folder / "pos.csv").string();
  };
  options.positions = written("index,x_um,y_um\n", true, 1e-6);
  expect_layout(read_layout(folder / "any.h5", options), scan);
  options.positions = written("sam x [nm],sam y [nm]\n", false, 1e-9);
  expect_layout(read_layout(folder / "any.h5", options), scan);
  for (const bool numbered : {false, true}) {
    options.positions = written("", numbered, 1e-6) + "*um";
    expect_layout(read_layout(folder / "any.h5", options), scan);
  }
  options.positions = written("here,there,elsewhere\n1,2,3\n", true, 1);
  const std::string message = message_of([&] { read_layout(folder / "any.h5", options); });
  EXPECT_TRUE(contains(message, "columns x and y of") && contains(message, "elsewhere")) << message;
}

TEST(Layouts, AUsersRecipeReadsHisFile) {
  const TestFolder folder;
  const LayoutScan scan;
  Hdf5File file = Hdf5File::create(folder / "mine.h5");
  file.write("frames", scan.counts.transpose(1, 2).contiguous());
  file.write("stage", at::stack({scan.y, -scan.x}, 1) * 1e9);
  file.close();
  write_raw(folder / "mine.toml",
            "name = \"mine\"\n[scan]\npatterns = \"frames\"\naxes = \"ncr\"\nx_sign = -1\n"
            "vectors = { name = \"stage\", unit = \"nm\" }\nvector_order = \"yx\"\n");
  ReadOptions options;
  options.format = (folder / "mine.toml").string();
  options.energy_ev = scan.energy_ev;
  options.distance_m = scan.distance_m;
  options.detector_pixel_m = scan.detector_pixel_m;
  expect_layout(read_layout(folder / "mine.h5", options), scan);
}

TEST(Recipes, NameTheLineOfAKeyThatTheyDoNotKnow) {
  const std::string reason =
      message_of([] { parse_recipe("[scan]\npatterns = \"a\"\nenergi = \"b\"\n", "x.toml"); });
  for (const char* part : {"x.toml", "line 3", "energi", "energy"})
    EXPECT_TRUE(contains(reason, part)) << reason;
}

TEST(Recipes, RefuseAFlagThatIsNeitherTrueNorFalse) {
  const auto said = [](const std::string& line) {
    return message_of([&] { parse_recipe("[scan]\npatterns = \"a\"\n" + line, "x.toml"); });
  };
  EXPECT_NE(said("clip_negative = \"yes\"\n").find("line 3: clip_negative: expected true or false"),
            std::string::npos);
  EXPECT_NE(said("x = { name = \"b\", in_pixels = 1 }\n").find("in_pixels: expected true or false"),
            std::string::npos);
}

TEST(Recipes, AllThatAreShippedAreReadAndHaveNamesOfTheirOwn) {
  std::vector<std::string> names;
  for (const Recipe& recipe : shipped_recipes()) {
    EXPECT_FALSE(recipe.about.empty() || recipe.source.empty()) << recipe.name;
    EXPECT_EQ(std::count(names.begin(), names.end(), recipe.name), 0) << recipe.name;
    names.push_back(recipe.name);
  }
  EXPECT_GE(names.size(), 25u);
}

TEST(Turned, KeepsTheZeroFrequencyInTheMiddle) {
  at::Tensor image = at::zeros({2, 8, 8});
  image.select(1, 4).select(1, 4).fill_(1);
  for (int number = 0; number < 8; ++number)
    EXPECT_TRUE(at::equal(turned(image, turn_numbered(number)), image)) << number;
}

TEST(Raster, RotatesTheColumnsTowardsTheRows) {
  Raster raster = raster_of_shape("2x3");
  raster.step_row_m = raster.step_col_m = 2;
  raster.rotation_deg = 90;
  const at::Tensor step = raster_positions(raster)[1] - raster_positions(raster)[0];
  EXPECT_NEAR(step[0].item<double>(), 2, 1e-12);
  EXPECT_NEAR(step[1].item<double>(), 0, 1e-12);
  EXPECT_TRUE(contains(message_of([] { raster_of_shape("16*32"); }), "16x32"));
}

}  // namespace
}  // namespace ptyche
