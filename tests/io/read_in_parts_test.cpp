// Patterns that are read in parts are those that are read whole.
#include <gtest/gtest.h>
#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "ptyche/io/pattern_values.h"
#include "ptyche/io/write_scan.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/frame_stack.h"
#include "ptyche/storage/hdf5_chunks.h"
#include "tests/io/layouts.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

/// (14, 9, 11) int16, all values different.
at::Tensor odd_stack() {
  return at::arange(14 * 9 * 11, at::kLong).reshape({14, 9, 11}).to(at::kShort);
}

/// As one thread reads it, and then as many do.
void expect_parts(FrameStack& stack, const at::Tensor& whole) {
  ASSERT_EQ(stack.frames(), whole.size(0));
  for (const bool ready_for_many : {false, true}) {
    if (ready_for_many) stack.read_together();
    EXPECT_TRUE(at::equal(read_all(stack), whole));
    const Window window{2, 7, 3, 10};
    const at::Tensor numbers = at::tensor({0, 1, 5, 6, 7, 13}, at::kLong);
    EXPECT_TRUE(at::equal(read_frames(stack, numbers, window),
                          cut(whole.index_select(0, numbers), window)));
  }
}

TEST(FrameStack, Hdf5ChunksOfAnyShapeGiveTheirPartsOfFramesAndWindows) {
  const TestFolder folder;
  const std::vector<std::vector<hsize_t>> chunks{{}, {1, 9, 11}, {5, 4, 3}, {14, 9, 11}, {3, 9, 2}};
  for (const auto& chunk : chunks)
    for (const bool packed : {false, true}) {
      if (packed && chunk.empty()) continue;
      const auto path = write_chunked(folder / "scan.h5", odd_stack(), chunk, packed);
      expect_parts(*Hdf5File::open(path).frames("data"), odd_stack());
    }
}

TEST(FrameStack, ARasterOfPatternsIsCountedRowByRow) {
  const TestFolder folder;
  const at::Tensor raster = odd_stack().reshape({2, 7, 9, 11});
  for (const std::vector<hsize_t>& chunk :
       {std::vector<hsize_t>{}, {1, 1, 9, 11}, {2, 3, 5, 5}, {1, 7, 9, 11}}) {
    const auto path = write_chunked(folder / "scan.h5", raster, chunk, !chunk.empty());
    const auto stack = Hdf5File::open(path).frames("data");
    EXPECT_EQ(stack->shape().raster, (std::vector<std::int64_t>{2, 7}));
    expect_parts(*stack, odd_stack());
  }
}

TEST(FrameStack, TheLibraryReadsTheSameParts) {
  const TestFolder folder;
  const at::Tensor raster = odd_stack().reshape({2, 7, 9, 11});
  const auto path = write_chunked(folder / "scan.h5", raster, {1, 2, 5, 5}, true);
  const Hdf5File file = Hdf5File::open(path);
  const Hdf5Id data(H5Dopen2(file.id(), "data", H5P_DEFAULT), H5Dclose);
  const ImageBlock block{3, 9, {1, 8, 2, 9}};
  at::Tensor ours = at::empty({9, 7, 7}, at::kShort), theirs = at::empty_like(ours);
  const std::vector<std::int64_t> shape = raster.sizes().vec();
  ASSERT_TRUE(
      read_past_library(data.get(), H5T_NATIVE_INT16, shape, block, ours.mutable_data_ptr()));
  ASSERT_TRUE(
      read_by_library(data.get(), H5T_NATIVE_INT16, shape, block, theirs.mutable_data_ptr()));
  EXPECT_TRUE(at::equal(ours, theirs));
}

TEST(FrameStack, AChunkThatWasNeverWrittenHoldsTheFillValue) {
  const TestFolder folder;
  const auto path = folder / "scan.h5";
  {
    const Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const hsize_t lengths[] = {4, 4, 4}, chunk[] = {1, 4, 4};
    const Hdf5Id space(H5Screate_simple(3, lengths, nullptr), H5Sclose);
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const std::int16_t fill = 7;
    H5Pset_chunk(properties.get(), 3, chunk);
    H5Pset_deflate(properties.get(), 4);
    H5Pset_fill_value(properties.get(), H5T_NATIVE_INT16, &fill);
    const Hdf5Id data(H5Dcreate2(file.get(), "data", H5T_NATIVE_INT16, space.get(), H5P_DEFAULT,
                                 properties.get(), H5P_DEFAULT),
                      H5Dclose);
  }
  const at::Tensor values = read_all(*Hdf5File::open(path).frames("data"));
  EXPECT_TRUE(values.eq(7).all().item<bool>());
}

/// Images `first` on of a source.
struct Mapped {
  std::string file;
  hsize_t to, first, count;
};

/// A virtual dataset of 14 images of 9 x 11.
std::filesystem::path write_virtual(const std::filesystem::path& path,
                                    const std::vector<Mapped>& parts) {
  const Hdf5Id file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  const hsize_t lengths[] = {14, 9, 11};
  const Hdf5Id space(H5Screate_simple(3, lengths, nullptr), H5Sclose);
  const Hdf5Id there(H5Screate_simple(3, lengths, nullptr), H5Sclose);
  const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  for (const Mapped& part : parts) {
    const hsize_t count[] = {part.count, 9, 11}, to[] = {part.to, 0, 0},
                  from[] = {part.first, 0, 0};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, to, nullptr, count, nullptr);
    H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, from, nullptr, count, nullptr);
    if (part.count == 14) H5Sselect_all(there.get());
    H5Pset_virtual(properties.get(), space.get(), part.file.c_str(), "data", there.get());
  }
  H5Sselect_all(space.get());
  const Hdf5Id data(H5Dcreate2(file.get(), "data", H5T_NATIVE_INT16, space.get(), H5P_DEFAULT,
                               properties.get(), H5P_DEFAULT),
                    H5Dclose);
  EXPECT_TRUE(data.valid());
  return path;
}

TEST(FrameStack, AVirtualDatasetIsItsSourcesAndIsReadByManyThreads) {
  const TestFolder folder;
  const at::Tensor all = odd_stack();
  write_chunked(folder / "a.h5", all, {1, 9, 11}, true);
  write_chunked(folder / "b.h5", all.flip(0).contiguous(), {3, 9, 2}, true);
  const auto path =
      write_virtual(folder / "v.h5", {{"b.h5", 5, 2, 4}, {"a.h5", 0, 1, 5}, {"a.h5", 9, 0, 5}});
  const at::Tensor whole =
      at::cat({all.narrow(0, 1, 5), all.flip(0).narrow(0, 2, 4), all.narrow(0, 0, 5)});
  const auto stack = Hdf5File::open(path).frames("data");
  EXPECT_EQ(stack->read_together(), 3);
  expect_parts(*stack, whole);
  const auto linked = open_arrays(path)->linked_files();
  for (const char* name : {"a.h5", "b.h5"})  // part of the scan's hash
    EXPECT_NE(std::find(linked.begin(), linked.end(), folder / name), linked.end());
  const auto one = Hdf5File::open(write_virtual(folder / "v.h5", {{"a.h5", 0, 0, 14}}));
  const auto every = one.frames("data");
  EXPECT_EQ(every->read_together(), 1);
  expect_parts(*every, all);
}

TEST(FrameStack, AVirtualDatasetWithGapsMissingFilesOrOfItselfIsLeftToTheLibrary) {
  const TestFolder folder;
  const at::Tensor all = odd_stack();
  write_chunked(folder / "a.h5", all, {1, 9, 11}, true);
  for (const std::vector<Mapped>& parts :
       {std::vector<Mapped>{{"a.h5", 0, 0, 7}, {"a.h5", 8, 8, 6}},
        {{"a.h5", 0, 0, 7}, {"missing.h5", 7, 7, 7}},
        {{"a.h5", 0, 0, 7}, {".", 7, 0, 7}}}) {
    const auto stack = Hdf5File::open(write_virtual(folder / "v.h5", parts)).frames("data");
    EXPECT_EQ(stack->read_together(), 0);
    at::Tensor read = at::empty({7, 9, 11}, at::kShort);
    stack->read(0, {0, 9, 0, 11}, read);
    EXPECT_TRUE(at::equal(read, all.narrow(0, 0, 7)));
  }
}

TEST(FrameStack, ASourceThatIsDamagedOrMissingIsNamed) {
  const TestFolder folder;
  write_chunked(folder / "a.h5", odd_stack(), {1, 9, 11}, true);
  std::filesystem::copy_file(folder / "a.h5", folder / "b.h5");
  {
    const Hdf5File b = Hdf5File::open(folder / "b.h5");
    const Hdf5Id data(H5Dopen2(b.id(), "data", H5P_DEFAULT), H5Dclose);
    const hsize_t first[] = {5, 0, 0};
    unsigned skipped = 0;
    haddr_t at = 0;
    hsize_t bytes = 0;
    ASSERT_GE(H5Dget_chunk_info_by_coord(data.get(), first, &skipped, &at, &bytes), 0);
    std::fstream file(folder / "b.h5", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at + bytes / 2));
    file << "damage";
  }
  const auto path = write_virtual(folder / "v.h5", {{"a.h5", 0, 0, 7}, {"b.h5", 7, 0, 7}});
  const auto stack = Hdf5File::open(path).frames("data");
  const std::string reason = message_of([&] { read_all(*stack); });
  EXPECT_TRUE(contains(reason, "b.h5: ")) << reason;
  write_virtual(path, {{"a.h5", 0, 0, 7}, {"nowhere.h5", 7, 0, 7}});
  testing::internal::CaptureStderr();
  Hdf5File::open(path).frames("data");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "nowhere.h5")) << said;
}

TEST(FrameStack, NpzMembersArePartsOfTheArrayStoredAndDeflatedAndOfItsLastAxis) {
  const TestFolder folder;
  const at::Tensor values = odd_stack();
  write_npz(folder / "deflated.npz", {{"a", values}});
  const NpzFile deflated(folder / "deflated.npz");
  expect_parts(*deflated.frames("a"), values);
  EXPECT_TRUE(deflated.frames("a")->in_order_only());
  write_npz(folder / "last.npz", {{"a", values.permute({1, 2, 0}).contiguous()}});
  expect_parts(*NpzFile(folder / "last.npz").frames("a", true), values);
  const std::string header = npy_header(values);
  std::string bytes = header;
  bytes.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  write_raw(folder / "plain.npy", bytes);
  expect_parts(*npy_frames(folder / "plain.npy"), values);
}

TEST(FrameStack, APartBehindTheEndOfATruncatedFileIsRefused) {
  const TestFolder folder;
  const at::Tensor values = odd_stack();
  std::string bytes = npy_header(values);
  bytes.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  write_raw(folder / "plain.npy", bytes);
  const auto stack = npy_frames(folder / "plain.npy");
  std::filesystem::resize_file(folder / "plain.npy", bytes.size() - 400);
  EXPECT_THROW(read_all(*stack), InvalidInput);
}

TEST(FrameStack, TiledTiffPagesAreWholeImages) {
  const TestFolder folder;
  const at::Tensor values = odd_stack();
  TIFF* const tiff = TIFFOpen((folder / "tiles.tif").c_str(), "w");
  for (std::int64_t i = 0; i < 14; ++i) {
    TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 11);
    TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 9);
    TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 16);
    TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
    TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK);
    TIFFSetField(tiff, TIFFTAG_TILEWIDTH, 16);
    TIFFSetField(tiff, TIFFTAG_TILELENGTH, 16);
    TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
    at::Tensor tile = at::zeros({16, 16}, at::kShort);
    tile.narrow(0, 0, 9).narrow(1, 0, 11).copy_(values[i]);
    TIFFWriteTile(tiff, tile.mutable_data_ptr(), 0, 0, 0, 0);
    TIFFWriteDirectory(tiff);
  }
  TIFFClose(tiff);
  expect_parts(*open_tiff(folder / "tiles.tif")->frames("frames"), values);
}

TEST(OpenArrays, RefusesATiffThatIsPackedByJbig) {
  const TestFolder folder;
  const auto file = folder / "page.tif";
  TIFF* const tiff = TIFFOpen(file.c_str(), "w");
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 8);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_PACKBITS);
  std::array<std::uint8_t, 8> row{};
  TIFFWriteScanline(tiff, row.data(), 0, 0);
  TIFFClose(tiff);
  std::string bytes = read_bytes(file);
  const std::uint16_t tag[] = {TIFFTAG_COMPRESSION, TIFF_SHORT, 1, 0, COMPRESSION_PACKBITS};
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(tag), sizeof tag));
  ASSERT_NE(at, std::string::npos);
  const std::uint16_t jbig = COMPRESSION_JBIG;
  std::memcpy(bytes.data() + at + 8, &jbig, 2);
  write_raw(file, bytes);
  EXPECT_THROW(read_all(*open_tiff(file)->frames("frames")), InvalidInput);
}

// Merlin's raw modes, written as the chips send them.

/// Reverses what a raw mode does to a row of pixels: words of 8 bytes, the last byte first.
std::string raw_row(const at::Tensor& pixels, int bits) {
  const std::int64_t each = bits == 1 ? 64 : bits == 6 ? 8 : 4;
  std::string row;
  for (std::int64_t first = 0; first < pixels.size(0); first += each) {
    std::uint64_t word = 0;
    for (std::int64_t i = each; i-- > 0;)
      word =
          word << (64 / each) | static_cast<std::uint64_t>(pixels[first + i].item<std::int64_t>());
    for (int byte = 7; byte >= 0; --byte) row += static_cast<char>(word >> (8 * byte) & 0xff);
  }
  return row;
}

std::string mib_header_of(int bits, std::int64_t rows, std::int64_t cols, int chips) {
  std::string header = fmt::format("MQ1,000001,00384,{:02},{:04},{:04},R64,{:>6},01,1.0E0,0,{}",
                                   chips, cols, rows, chips == 4 ? "2x2" : "1x1", bits);
  header.resize(384, ' ');
  return header;
}

at::Tensor raw_frames(std::int64_t size, int bits) {
  return at::arange(3 * size * size, at::kLong)
      .mul(2654435761)
      .remainder(std::int64_t{1} << bits)
      .reshape({3, size, size});
}

at::Tensor read_mib(const std::filesystem::path& path, const std::string& bytes) {
  write_raw(path, bytes);
  return read_all(*open_mib(path)->frames("frames")).to(at::kLong);
}

TEST(MibRaw, OneChipOfEveryDepthComesOutInTheOrderOfItsPixels) {
  const TestFolder folder;
  for (const int bits : {1, 6, 12, 24}) {
    const at::Tensor frames = raw_frames(64, bits);
    std::string bytes;
    for (std::int64_t i = 0; i < 3; ++i) {
      bytes += mib_header_of(bits, 64, bits == 24 ? 128 : 64, 1);
      const at::Tensor high = frames[i].bitwise_right_shift(12), low = frames[i].remainder(4096);
      for (const at::Tensor& half : bits == 24 ? std::vector{high, low} : std::vector{frames[i]})
        for (std::int64_t row = 0; row < 64; ++row)
          bytes += raw_row(half[row], bits == 24 ? 12 : bits);
    }
    EXPECT_TRUE(at::equal(read_mib(folder / "raw.mib", bytes), frames)) << bits << " bits";
  }
}

TEST(MibRaw, OfFourChipsTheLowerTwoAreTurned) {
  const TestFolder folder;
  for (const int bits : {1, 6, 12}) {
    const at::Tensor frames = raw_frames(128, bits);
    std::string bytes;
    for (std::int64_t i = 0; i < 3; ++i) {
      bytes += mib_header_of(bits, 64, 256, 4);
      const at::Tensor upper = frames[i].narrow(0, 0, 64);
      const at::Tensor lower = frames[i].narrow(0, 64, 64).flip(0);
      for (std::int64_t row = 0; row < 64; ++row) {
        bytes += raw_row(lower[row].narrow(0, 64, 64).flip(0), bits);
        bytes += raw_row(lower[row].narrow(0, 0, 64).flip(0), bits);
        bytes += raw_row(upper[row].narrow(0, 64, 64), bits);
        bytes += raw_row(upper[row].narrow(0, 0, 64), bits);
      }
    }
    EXPECT_TRUE(at::equal(read_mib(folder / "raw.mib", bytes), frames)) << bits << " bits";
  }
}

// Values.

TEST(PatternValues, AreWholeOrRootsOrInvalidInCountedPixelsOnly) {
  const at::Tensor mask = at::ones({4, 4}, at::kBool);
  mask[0][0] = false;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    at::Tensor values = at::arange(32, at::kDouble).reshape({2, 4, 4}).to(type);
    values.select(1, 0).select(1, 0).fill_(NAN);
    ValueSurvey found = survey(values, {mask}, true);
    EXPECT_TRUE(found.valid && found.whole && found.cleared);
    EXPECT_EQ(found.largest, 31);
    found = survey(values.sqrt(), {mask}, true);
    EXPECT_TRUE(found.valid && !found.whole && found.whole_squares);
    values[1][2][2] = 5.3;
    found = survey(values, {mask}, true);
    EXPECT_TRUE(!found.whole && !found.whole_squares);
    values[1][2][2] = -1;
    EXPECT_FALSE(survey(values, {mask}, true).valid);
    values[1][2][2] = INFINITY;
    EXPECT_FALSE(survey(values, {mask}, true).valid);
  }
}

TEST(PatternValues, HiddenPixelsAtTheCeilingBecomeZeroAndOthersStay) {
  const at::Tensor mask = at::ones({2, 2}, at::kBool);
  mask[0][1] = false;
  const at::Tensor values = at::tensor({255, 255, 3, 4}, at::kByte).reshape({1, 2, 2});
  const at::Tensor counts = converted(values, {mask, 255}, {.type = at::kShort});
  EXPECT_TRUE(at::equal(counts, at::tensor({255, 0, 3, 4}, at::kShort).reshape({1, 2, 2})));
}

TEST(PatternValues, SquaresOfRootsAreTheCountsOfEveryType) {
  const at::Tensor mask = at::ones({8, 8}, at::kBool);
  for (const double most : {200.0, 30000.0, 2e9}) {
    const at::Tensor counts = at::rand({3, 8, 8}, at::kDouble).mul(most).round();
    const at::ScalarType type = most > 32767 ? at::kInt : most > 255 ? at::kShort : at::kByte;
    const CountRules how{.square = true, .round = true, .type = type};
    const at::Tensor roots = most > 1e6 ? counts.sqrt() : counts.sqrt().to(at::kFloat);
    EXPECT_TRUE(at::equal(converted(roots, {mask}, how).to(at::kDouble), counts)) << most;
  }
}

}  // namespace
}  // namespace ptyche
