// HDF5 files that begin with bytes of another program, as all of MATLAB 7.3 do.
#include <fstream>
#include <numeric>

#include "ptyche/storage/frame_stack.h"
#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

/// How a dataset lies in its file.
enum class Layout { contiguous, chunked, packed, compact, external };

struct Stored {
  hsize_t user_block = 0;
  Layout layout = Layout::contiguous;
  hid_t type = H5T_NATIVE_INT16;  ///< in the file
  std::vector<hsize_t> shape;
};

Hdf5Id properties_of(const Stored& stored, const std::filesystem::path& file) {
  Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const hsize_t values = std::accumulate(stored.shape.begin(), stored.shape.end(), hsize_t{1},
                                         std::multiplies<hsize_t>());
  std::vector<hsize_t> chunk = stored.shape;
  chunk.front() = 2;
  if (stored.layout == Layout::chunked || stored.layout == Layout::packed)
    H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
  if (stored.layout == Layout::packed) H5Pset_deflate(properties.get(), 4);
  if (stored.layout == Layout::compact) H5Pset_layout(properties.get(), H5D_COMPACT);
  if (stored.layout == Layout::external)
    H5Pset_external(properties.get(), (file.string() + ".raw").c_str(), 0,
                    values * H5Tget_size(stored.type));
  return properties;
}

/// Values 1, 2, 3 ... as `data`, between two other arrays.
void write_stored(const std::filesystem::path& file, const Stored& stored) {
  const Hdf5Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation.get(), stored.user_block);
  const Hdf5Id made(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation.get(), H5P_DEFAULT), H5Fclose);
  const Hdf5Id space(
      H5Screate_simple(static_cast<int>(stored.shape.size()), stored.shape.data(), nullptr),
      H5Sclose);
  const Hdf5Id properties = properties_of(stored, file);
  const Hdf5Id plain(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  for (const char* name : {"before", "data", "behind"}) {
    const bool own = std::string(name) == "data";
    std::iota(values.begin(), values.end(), own ? 1.0 : 50.0);
    const Hdf5Id data(H5Dcreate2(made.get(), name, stored.type, space.get(), H5P_DEFAULT,
                                 own ? properties.get() : plain.get(), H5P_DEFAULT),
                      H5Dclose);
    ASSERT_GE(H5Dwrite(data.get(), H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0)
        << name;
  }
}

at::Tensor expected_of(const Stored& stored) {
  const std::vector<std::int64_t> shape(stored.shape.begin(), stored.shape.end());
  const std::int64_t count = c10::multiply_integers(shape);
  return at::arange(1, count + 1, at::kDouble).reshape(shape);
}

const std::vector<std::vector<hsize_t>> kShapes = {{60}, {6, 10}, {5, 3, 4}, {5, 2, 3, 2}};
constexpr hsize_t kUserBlocks[] = {0, 512, 1024, 2048};

TEST(UserBlock, ArraysOfAnyRankTypeAndLayoutAreReadAsTheyWereWritten) {
  const TestFolder folder;
  for (const hsize_t user_block : kUserBlocks)
    for (const auto& shape : kShapes)
      for (const Layout layout :
           {Layout::contiguous, Layout::chunked, Layout::packed, Layout::compact, Layout::external})
        for (const hid_t type : {H5T_NATIVE_UINT8, H5T_NATIVE_UINT16, H5T_STD_I16BE,
                                 H5T_NATIVE_INT32, H5T_NATIVE_FLOAT, H5T_IEEE_F64BE}) {
          const Stored stored{user_block, layout, type, shape};
          write_stored(folder / "a.h5", stored);
          const at::Tensor found = Hdf5File::open(folder / "a.h5").read("data").values;
          EXPECT_TRUE(at::equal(found.to(at::kDouble), expected_of(stored)))
              << user_block << " rank " << shape.size() << " layout " << static_cast<int>(layout)
              << " type " << H5Tget_size(type);
        }
}

TEST(UserBlock, PatternsAreReadByPartsAsTheyWereWritten) {
  const TestFolder folder;
  for (const hsize_t user_block : kUserBlocks)
    for (const auto layout : {Layout::contiguous, Layout::chunked, Layout::packed}) {
      const Stored stored{user_block, layout, H5T_NATIVE_UINT16, {7, 5, 6}};
      write_stored(folder / "a.h5", stored);
      const auto stack = Hdf5File::open(folder / "a.h5").frames("data");
      const at::Tensor some = read_frames(*stack, at::tensor({1, 2, 5}, at::kLong), {1, 4, 2, 6});
      const at::Tensor expected = expected_of(stored)
                                      .index_select(0, at::tensor({1, 2, 5}, at::kLong))
                                      .slice(1, 1, 4)
                                      .slice(2, 2, 6);
      EXPECT_TRUE(at::equal(some.to(at::kDouble), expected)) << user_block;
    }
}

TEST(UserBlock, AVirtualDatasetIsPutTogetherFromSuchFiles) {
  const TestFolder folder;
  for (const hsize_t user_block : kUserBlocks) {
    const Stored stored{user_block, Layout::contiguous, H5T_NATIVE_INT16, {5, 3, 4}};
    write_stored(folder / "source.h5", stored);
    const Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const Hdf5Id space(H5Screate_simple(3, stored.shape.data(), nullptr), H5Sclose);
    H5Pset_virtual(properties.get(), space.get(), "source.h5", "data", space.get());
    const Hdf5Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_userblock(creation.get(), user_block);
    {
      const Hdf5Id made(
          H5Fcreate((folder / "v.h5").c_str(), H5F_ACC_TRUNC, creation.get(), H5P_DEFAULT),
          H5Fclose);
      const Hdf5Id data(H5Dcreate2(made.get(), "data", H5T_NATIVE_INT16, space.get(), H5P_DEFAULT,
                                   properties.get(), H5P_DEFAULT),
                        H5Dclose);
    }
    const Hdf5File file = Hdf5File::open(folder / "v.h5");
    const auto stack = file.frames("data");
    const at::Tensor all = read_frames(*stack, at::arange(5, at::kLong), {0, 3, 0, 4});
    EXPECT_TRUE(at::equal(all.to(at::kDouble), expected_of(stored))) << user_block;
    EXPECT_TRUE(at::equal(file.read("data").values.to(at::kDouble), expected_of(stored)));
  }
}

}  // namespace
}  // namespace ptyche
