#include <gtest/gtest.h>
#include <png.h>

#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/storage/file_array.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

/// A file of the test's own, removed when the test ends.
struct TempFile {
  explicit TempFile(const std::string& name)
      : path(std::filesystem::path(testing::TempDir()) / name) {}
  ~TempFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

/// Writes pixels of one of libpng's formats.
void write_png(const std::filesystem::path& file, unsigned format, int rows, int cols,
               const void* pixels, const void* colours = nullptr, int colour_count = 0) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.format = format;
  image.width = static_cast<unsigned>(cols);
  image.height = static_cast<unsigned>(rows);
  image.colormap_entries = static_cast<unsigned>(colour_count);
  ASSERT_TRUE(png_image_write_to_file(&image, file.c_str(), 0, pixels, 0, colours))
      << image.message;
}

const std::vector<std::uint8_t> kGrey = {0, 51, 102, 153, 204, 255};
const at::Tensor kLevels = at::arange(6, at::kDouble).view({2, 3}) / 5;

TEST(ReadImage, GivesTheGreyValuesOfEveryKindOfPng) {
  const TempFile file("picture.png");
  write_png(file.path, PNG_FORMAT_GRAY, 2, 3, kGrey.data());
  EXPECT_TRUE(at::allclose(read_image(file.path), kLevels, 0, 1e-12));
  std::vector<std::uint8_t> rgba;
  for (const std::uint8_t grey : kGrey) rgba.insert(rgba.end(), {grey, grey, grey, 77});
  write_png(file.path, PNG_FORMAT_RGBA, 2, 3, rgba.data());
  EXPECT_TRUE(at::allclose(read_image(file.path), kLevels, 0, 1e-2));
  std::vector<std::uint8_t> rgb, index = {0, 1, 2, 3, 4, 5};
  for (const std::uint8_t grey : kGrey) rgb.insert(rgb.end(), {grey, grey, grey});
  write_png(file.path, PNG_FORMAT_RGB_COLORMAP, 2, 3, index.data(), rgb.data(), 6);
  EXPECT_TRUE(at::allclose(read_image(file.path), kLevels, 0, 1e-2));
}

TEST(ReadImage, KeepsSixteenBits) {
  const TempFile file("deep.png");
  const std::vector<std::uint16_t> deep = {0, 1, 256, 257, 65534, 65535};
  write_png(file.path, PNG_FORMAT_LINEAR_Y, 1, 6, deep.data());
  const at::Tensor values = 65535 * read_image(file.path).flatten();
  for (std::size_t i = 0; i < deep.size(); ++i)
    EXPECT_NEAR(values[static_cast<std::int64_t>(i)].item<double>(), deep[i], 1e-9);
}

TEST(ReadImage, TakesRealArrays) {
  const TempFile file("numbers.npy");
  const at::Tensor numbers = at::tensor({-3.5F, 0.25F, 7.0F, 1e6F}).view({2, 2});
  std::ofstream out(file.path, std::ios::binary);
  out << npy_header(numbers);
  out.write(reinterpret_cast<const char*>(numbers.data_ptr<float>()), 16);
  out.close();
  EXPECT_TRUE(at::equal(read_image(file.path), numbers.to(at::kDouble)));
}

TEST(ReadImage, RefusesWhatIsNoPictureAndNamesTheFile) {
  const auto refuses = [](const std::filesystem::path& file, const std::string& says) {
    try {
      read_image(file);
      ADD_FAILURE() << file;
    } catch (const InvalidInput& error) {
      EXPECT_EQ(std::string(error.what()).find(file.string()), 0u) << error.what();
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  };
  refuses("no-such-file.png", "cannot be opened");
  refuses("picture.jpg", ".png or .npy");
  const TempFile text("text.png"), cut("cut.png");
  std::ofstream(text.path) << "this is not a picture";
  refuses(text.path, "not a PNG");
  const std::vector<std::uint8_t> noise(4096, 3);
  write_png(cut.path, PNG_FORMAT_GRAY, 64, 64, noise.data());
  std::filesystem::resize_file(cut.path, std::filesystem::file_size(cut.path) - 30);
  refuses(cut.path, "damaged");
}

}  // namespace
}  // namespace ptyche
