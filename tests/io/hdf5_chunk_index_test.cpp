// Where chunks lie, by the file's own index beside the library.
#include "ptyche/storage/hdf5_chunk_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "ptyche/storage/hdf5.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

constexpr hsize_t kChunks = 700, kChunkSide = 6;

/// Frames of numbers, a packed chunk each, but for every seventh, which is never written.
void write_chunks(const std::filesystem::path& file, H5F_libver_t low, H5F_libver_t high,
                  hsize_t user_block) {
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const Hdf5Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_libver_bounds(access.get(), low, high);
  H5Pset_userblock(creation.get(), user_block);
  const Hdf5Id made(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
  const std::array<hsize_t, 3> shape{kChunks, kChunkSide, kChunkSide},
      chunk{1, kChunkSide, kChunkSide};
  const Hdf5Id space(H5Screate_simple(3, shape.data(), nullptr), H5Sclose);
  const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_chunk(properties.get(), 3, chunk.data());
  H5Pset_deflate(properties.get(), 1);
  const Hdf5Id dataset(H5Dcreate2(made.get(), "counts", H5T_NATIVE_INT16, space.get(), H5P_DEFAULT,
                                  properties.get(), H5P_DEFAULT),
                       H5Dclose);
  // Attributes make the header go on in another block.
  for (int i = 0; i < 20; ++i) {
    const Hdf5Id one(H5Screate(H5S_SCALAR), H5Sclose);
    const Hdf5Id attribute(H5Acreate2(dataset.get(), fmt::format("a{}", i).c_str(),
                                      H5T_NATIVE_DOUBLE, one.get(), H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
  }
  const Hdf5Id memory(H5Screate_simple(3, chunk.data(), nullptr), H5Sclose);
  std::array<std::int16_t, kChunkSide * kChunkSide> values{};
  for (hsize_t frame = 0; frame < kChunks; ++frame) {
    if (frame % 7 == 3) continue;
    std::iota(values.begin(), values.end(), static_cast<std::int16_t>(frame));
    const std::array<hsize_t, 3> start{frame, 0, 0};
    H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, chunk.data(), nullptr);
    H5Dwrite(dataset.get(), H5T_NATIVE_INT16, memory.get(), space.get(), H5P_DEFAULT,
             values.data());
  }
}

std::optional<std::vector<IndexedChunk>> chunks_in(const std::filesystem::path& file,
                                                   std::int64_t base) {
  const Hdf5Id opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  const Hdf5Id dataset(H5Dopen2(opened.get(), "counts", H5P_DEFAULT), H5Dclose);
  const SharedFile bytes(file);
  const auto chunks = chunks_by_tree(dataset.get(), bytes, base, 3, 10000);
  if (!chunks) return chunks;
  for (const IndexedChunk& chunk : *chunks) {
    const std::array<hsize_t, 3> at{static_cast<hsize_t>(chunk.offset[0]), 0, 0};
    haddr_t address = 0;
    hsize_t length = 0;
    unsigned skipped = 9;
    H5Dget_chunk_info_by_coord(dataset.get(), at.data(), &skipped, &address, &length);
    EXPECT_EQ(chunk.at, static_cast<std::int64_t>(address));
    EXPECT_EQ(chunk.bytes, static_cast<std::int64_t>(length));
    EXPECT_EQ(chunk.skipped, skipped);
  }
  EXPECT_FALSE(chunks_by_tree(dataset.get(), bytes, base, 3, 99)) << "more than are asked for";
  EXPECT_FALSE(chunks_by_tree(dataset.get(), bytes, base + 8, 3, 10000)) << "elsewhere";
  return chunks;
}

TEST(ChunkIndex, SaysWhatTheLibrarySaysOfEveryChunk) {
  const TestFolder folder;
  for (const auto& [low, high] : {std::pair{H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST},
                                  std::pair{H5F_LIBVER_V18, H5F_LIBVER_V18}})
    for (const hsize_t user_block : {0, 512}) {
      write_chunks(folder / "a.h5", low, high, user_block);
      const auto chunks = chunks_in(folder / "a.h5", static_cast<std::int64_t>(user_block));
      ASSERT_TRUE(chunks) << low << " " << user_block;
      EXPECT_EQ(chunks->size(), kChunks - kChunks / 7);
    }
}

TEST(ChunkIndex, IsLeftToTheLibraryWhereItIsALaterOne) {
  const TestFolder folder;
  write_chunks(folder / "b.h5", H5F_LIBVER_LATEST, H5F_LIBVER_LATEST, 0);
  EXPECT_FALSE(chunks_in(folder / "b.h5", 0));
}

}  // namespace
}  // namespace ptyche
