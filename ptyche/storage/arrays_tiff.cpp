// TIFF: a folder of images by number, or one file of many pages; strips or tiles.
#include <tiffio.h>

#include <algorithm>
#include <cstring>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/arrays.h"

/// Takes the place of libtiff's JBIG codec (one bit a pixel, which is no pattern) and says that
/// there is none: JBIG-KIT is under the GPL, and a package with it could not hold what LibTorch
/// needs of CUDA. The linker finds this one first (cmake/Dependencies.cmake).
extern "C" int TIFFInitJBIG(TIFF*, int) { return 0; }

namespace ptyche {
namespace fs = std::filesystem;
namespace {

struct TiffCloser {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
};
using Tiff = std::unique_ptr<TIFF, TiffCloser>;

Tiff open_quietly(const fs::path& file) {
  TIFFSetErrorHandler(nullptr);
  TIFFSetWarningHandler(nullptr);
  Tiff tiff(TIFFOpen(file.c_str(), "r"));
  require(tiff != nullptr, "{}: expected a TIFF image, found a damaged one", file.string());
  return tiff;
}

// LZW packs by no more than this, the others by less; below the size, no harm is done.
constexpr double kLargestPacking = 3000, kHarmless = 256e6;

struct TiffPage {
  std::uint32_t cols = 0, rows = 0;
  std::uint16_t bits = 1, samples = 1, format = SAMPLEFORMAT_UINT;
  bool operator==(const TiffPage&) const = default;
  std::size_t pixel_bytes() const { return bits / 8u; }
};

TiffPage page_of(TIFF* tiff) {
  TiffPage page;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &page.cols);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &page.rows);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &page.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &page.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &page.format);
  if (page.format == SAMPLEFORMAT_VOID) page.format = SAMPLEFORMAT_UINT;
  const bool known = page.bits == 8 || page.bits == 16 || page.bits == 32 || page.bits == 64;
  require(known && page.samples == 1 && page.rows > 0 && page.cols > 0,
          "expected TIFF images of one number a pixel, found {} numbers of {} bits", page.samples,
          page.bits);
  return page;
}

at::ScalarType type_of_page(const TiffPage& page) {
  if (page.format == SAMPLEFORMAT_IEEEFP) return page.bits == 64 ? at::kDouble : at::kFloat;
  if (page.bits == 8) return page.format == SAMPLEFORMAT_INT ? at::kChar : at::kByte;
  return page.bits == 64 ? at::kLong : page.bits == 16 ? at::kShort : at::kInt;
}

void read_strips(TIFF* tiff, const TiffPage& page, char* to) {
  const std::size_t line = page.cols * page.pixel_bytes();
  require(static_cast<std::size_t>(TIFFScanlineSize(tiff)) == line,
          "expected rows of {} pixels, found another length", page.cols);
  for (std::uint32_t row = 0; row < page.rows; ++row)
    require(TIFFReadScanline(tiff, to + row * line, row, 0) == 1, "row {} could not be read", row);
}

/// Tiles reach beyond the image's right and lower edge.
void read_tiles(TIFF* tiff, const TiffPage& page, char* to) {
  std::uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  const std::size_t pixel = page.pixel_bytes(), line = width * pixel;
  const auto bytes = static_cast<std::size_t>(TIFFTileSize(tiff));
  require(width > 0 && height > 0 && bytes == line * height && bytes < std::size_t{1} << 30,
          "expected tiles of {} x {} pixels, found {} bytes", height, width, bytes);
  std::vector<char> tile(bytes);
  for (std::uint32_t row = 0; row < page.rows; row += height)
    for (std::uint32_t col = 0; col < page.cols; col += width) {
      require(TIFFReadTile(tiff, tile.data(), col, row, 0, 0) >= 0,
              "the tile at row {}, column {} could not be read", row, col);
      const std::size_t kept = std::min(width, page.cols - col) * pixel;
      for (std::uint32_t i = 0; i < std::min(height, page.rows - row); ++i)
        std::memcpy(to + ((row + i) * std::size_t{page.cols} + col) * pixel, tile.data() + i * line,
                    kept);
    }
}

at::Tensor read_page(TIFF* tiff, const TiffPage& expected) {
  const TiffPage page = page_of(tiff);
  require(page == expected, "expected an image of {} x {} pixels of {} bits, found {} x {} of {}",
          expected.rows, expected.cols, expected.bits, page.rows, page.cols, page.bits);
  at::Tensor image = at::empty({page.rows, page.cols}, type_of_page(page));
  auto* const to = static_cast<char*>(image.mutable_data_ptr());
  if (TIFFIsTiled(tiff))
    read_tiles(tiff, page, to);
  else
    read_strips(tiff, page, to);
  return image;
}

std::vector<fs::path> tiffs_in(const fs::path& folder) {
  if (!fs::is_directory(folder)) return {folder};
  std::vector<fs::path> files = files_in_order(folder, {".tif", ".tiff"});
  require(!files.empty(), "expected a folder with .tif files, found none");
  return files;
}

/// What the first image is stands for all; every file has as many pages as the first.
class TiffStack : public FrameStack {
 public:
  explicit TiffStack(std::vector<fs::path> files)
      : FrameStack(StackShape{}), files_(std::move(files)) {
    with_context(files_.front().string(), [&] {
      const Tiff tiff = open_quietly(files_.front());
      page_ = page_of(tiff.get());
      pages_ = TIFFNumberOfDirectories(tiff.get());
    });
    require(pages_ > 0, "{}: expected an image, found none", files_.front().string());
    shape_.frames = static_cast<std::int64_t>(files_.size()) * pages_;
    require_possible();
    shape_.rows = page_.rows;
    shape_.cols = page_.cols;
    shape_.type = type_of_page(page_);
    shape_.unsigned_bits = page_.format == SAMPLEFORMAT_UINT && page_.bits > 8;
    if (pages_ == 1) shape_.numbers = numbers_in(names_of(files_));
  }

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    const std::int64_t count = to.size(0);
    const std::int64_t step = pages_ > 1 ? kPagesAtOnce : 1;
    on_all_cores((count + step - 1) / step, [&](std::int64_t piece) {
      for (std::int64_t i = piece * step; i < std::min(count, (piece + 1) * step);)
        i += read_from_file(first + i, std::min(count, (piece + 1) * step) - i, window, i, to);
    });
  }

 private:
  static constexpr std::int64_t kPagesAtOnce = 64;  // a page is found by going through those before

  /// Throws InvalidInput for images that are larger than what the files can hold.
  void require_possible() const {
    const std::int64_t page = checked_bytes({page_.rows, page_.cols}, page_.pixel_bytes());
    checked_bytes({shape_.frames, page_.rows, page_.cols}, page_.pixel_bytes());
    double stored = 0;
    for (const fs::path& file : files_) stored += static_cast<double>(fs::file_size(file));
    require(static_cast<double>(page) * static_cast<double>(shape_.frames) <=
                kHarmless + kLargestPacking * stored,
            "{}: declares {} images of {:.3g} bytes, more than the file can hold: damaged",
            files_.front().string(), shape_.frames, static_cast<double>(page));
  }

  /// Pages from frame `frame` on, of one file; how many there were.
  std::int64_t read_from_file(std::int64_t frame, std::int64_t most, const Window& window,
                              std::int64_t place, const at::Tensor& to) const {
    const fs::path& file = files_[static_cast<std::size_t>(frame / pages_)];
    const std::int64_t page = frame % pages_, count = std::min(most, pages_ - page);
    return with_context(file.string(), [&] {
      const Tiff tiff = open_quietly(file);
      for (std::int64_t i = 0; i < count; ++i) {
        const bool there = i == 0 ? TIFFSetDirectory(tiff.get(), static_cast<tdir_t>(page)) == 1
                                  : TIFFReadDirectory(tiff.get()) == 1;
        require(there, "expected {} images, found {}", pages_, page + i);
        to.select(0, place + i).copy_(cut(read_page(tiff.get(), page_), window));
      }
      return count;
    });
  }

  std::vector<fs::path> files_;
  TiffPage page_;
  std::int64_t pages_ = 0;
};

class TiffFrames : public ArrayFile {
 public:
  explicit TiffFrames(const fs::path& path) : path_(path) { tiffs_in(path); }
  std::vector<std::string> names() const override { return {"frames"}; }
  bool has(const std::string& name) const override { return name.empty() || name == "frames"; }
  std::unique_ptr<FrameStack> frames(const std::string&) const override {
    return std::make_unique<TiffStack>(tiffs_in(path_));
  }
  FileArray read(const std::string& name) const override { return {read_all(*frames(name)), 0}; }

 private:
  fs::path path_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_tiff(const fs::path& file) {
  return std::make_unique<TiffFrames>(file);
}

}  // namespace ptyche
