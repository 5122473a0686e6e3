#include "ptyche/storage/file_array.h"

#include <fmt/ranges.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/memory.h"
#include "ptyche/core/system_memory.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {

at::Tensor from_unsigned_bits(const at::Tensor& bits) {
  if (bits.numel() == 0 || bits.min().item<std::int64_t>() >= 0) return bits;
  require(bits.scalar_type() != at::kLong, "expected values below 2^63, found larger ones");
  const bool two_bytes = bits.scalar_type() == at::kShort;
  return bits.to(two_bytes ? at::kInt : at::kLong).bitwise_and_(two_bytes ? 0xffffL : 0xffffffffL);
}

double integer_ceiling(std::int64_t bytes, bool is_signed) {
  return std::ldexp(1.0, static_cast<int>(8 * bytes - (is_signed ? 1 : 0))) - 1;
}

std::int64_t checked_bytes(const std::vector<std::int64_t>& shape, std::int64_t item_bytes) {
  double bytes = static_cast<double>(item_bytes);
  bool empty = false;
  for (const std::int64_t length : shape) {
    require(length >= 0, "shape: expected lengths >= 0, found ({})", fmt::join(shape, ", "));
    // A length of 0 must not hide absurd ones beside it: their strides would overflow.
    bytes *= static_cast<double>(std::max<std::int64_t>(length, 1));
    empty = empty || length == 0;
  }
  const double most = std::min(address_space(), memory_there() + scratch_room());
  require(bytes <= most,
          "shape: expected at most {:.3g} GB, the memory (and room on disk) that there is, found "
          "({}), which needs {:.3g} GB",
          most / 1e9, fmt::join(shape, ", "), bytes / 1e9);
  return empty ? 0 : static_cast<std::int64_t>(bytes);
}

std::string list_of(const std::vector<std::string>& names, std::size_t most) {
  if (names.empty()) return "nothing";
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), most));
  const std::string shown = fmt::format("{}", fmt::join(names.begin(), end, ", "));
  return names.size() <= most ? shown : fmt::format("{} and {} more", shown, names.size() - most);
}

namespace {

/// libpng's reader of one file; its errors come back by longjmp.
struct PngReader {
  PngReader() {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message, keep_message, ignore_warning);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  static void keep_message(png_structp reader, png_const_charp text) {
    *static_cast<std::string*>(png_get_error_ptr(reader)) = text;
    std::longjmp(png_jmpbuf(reader), 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}

  std::string message;
  png_structp png = nullptr;
  png_infop info = nullptr;
};

/// Header and conversion to plain grey, 8 or 16 bits. False: reader.message says why not. Nothing
/// with a destructor may live in here, for an error jumps over it.
bool open_as_grey(PngReader& reader, std::FILE* file) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_init_io(reader.png, file);
  png_read_info(reader.png, reader.info);
  png_set_expand(reader.png);
  png_set_strip_alpha(reader.png);
  if (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_COLOR)
    png_set_rgb_to_gray(reader.png, PNG_ERROR_ACTION_NONE, PNG_RGB_TO_GRAY_DEFAULT,
                        PNG_RGB_TO_GRAY_DEFAULT);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

at::Tensor read_png(std::FILE* file) {
  PngReader reader;
  require(reader.info != nullptr, "not enough memory to read a PNG");
  require(open_as_grey(reader, file), "not a PNG that can be read: {}", reader.message);
  const auto rows = static_cast<std::int64_t>(png_get_image_height(reader.png, reader.info));
  const auto cols = static_cast<std::int64_t>(png_get_image_width(reader.png, reader.info));
  const std::int64_t bytes = png_get_bit_depth(reader.png, reader.info) / 8;
  checked_bytes({rows, cols}, bytes + 8);
  at::Tensor pixels = at::empty({rows, cols, bytes}, at::kByte);
  std::vector<png_bytep> row(static_cast<std::size_t>(rows));
  for (std::int64_t r = 0; r < rows; ++r)
    row[static_cast<std::size_t>(r)] = pixels.data_ptr<std::uint8_t>() + r * cols * bytes;
  require(read_rows(reader, row.data()), "a damaged PNG: {}", reader.message);
  const at::Tensor high = pixels.select(2, 0).to(at::kDouble);  // big endian
  return bytes == 1 ? high / 255 : (256 * high + pixels.select(2, 1)) / 65535;
}

at::Tensor read_png_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  require(file != nullptr, "cannot be opened");
  return read_png(file.get());
}

at::Tensor read_array(const std::filesystem::path& file) {
  const at::Tensor values = read_npy_file(file).values;
  require(values.dim() == 2 && values.numel() > 0 && !values.is_complex(),
          "expected real numbers (rows, cols), found {}", describe(values));
  const at::Tensor image = values.to(at::kDouble).contiguous();
  require(at::isfinite(image).all().item<bool>(), "expected finite numbers, found others");
  return image;
}

}  // namespace

at::Tensor read_image(const std::filesystem::path& file) {
  return with_context(file.string(), [&] {
    const std::string extension = file.extension().string();
    if (const std::string other = not_a_file(file); other != "none")
      require(other.empty(), "expected a picture, found {}", other);
    if (extension == ".npy") return read_array(file);
    require(extension == ".png", "expected a picture that ends in .png or .npy");
    return read_png_file(file);
  });
}

}  // namespace ptyche
