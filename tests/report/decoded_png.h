// Reads a PNG back, through cairo, so that tests can look at its pixels.
#pragma once

#include <cairo/cairo.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace ptyche {

struct DecodedPng {
  int rows = 0, cols = 0;
  std::vector<std::uint32_t> pixels;  ///< 0xRRGGBB, row by row
  std::uint32_t at(int row, int col) const { return pixels[row * cols + col]; }
};

inline cairo_status_t take_bytes(void* source, unsigned char* target, unsigned length) {
  auto& rest = *static_cast<std::string_view*>(source);
  if (rest.size() < length) return CAIRO_STATUS_READ_ERROR;
  std::memcpy(target, rest.data(), length);
  rest.remove_prefix(length);
  return CAIRO_STATUS_SUCCESS;
}

/// Throws std::runtime_error if `bytes` are not a PNG file.
inline DecodedPng decode_png(std::string_view bytes) {
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(take_bytes, &bytes);
  if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS) throw std::runtime_error("not a PNG");
  DecodedPng png{
      cairo_image_surface_get_height(surface), cairo_image_surface_get_width(surface), {}};
  const unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  png.pixels.resize(static_cast<std::size_t>(png.rows) * png.cols);
  for (int row = 0; row < png.rows; ++row)
    std::memcpy(png.pixels.data() + row * png.cols, data + row * stride, 4 * png.cols);
  for (std::uint32_t& pixel : png.pixels) pixel &= 0xffffff;
  cairo_surface_destroy(surface);
  return png;
}

/// Smallest box that holds all pixels of one of the colours; empty (row_end 0) where there is none.
struct ColourBox {
  int row_begin = 1 << 30, row_end = 0, col_begin = 1 << 30, col_end = 0;
};
inline ColourBox box_of(const DecodedPng& png, const std::vector<std::uint32_t>& colours) {
  ColourBox box;
  for (int row = 0; row < png.rows; ++row)
    for (int col = 0; col < png.cols; ++col) {
      if (std::find(colours.begin(), colours.end(), png.at(row, col)) == colours.end()) continue;
      box = {std::min(box.row_begin, row), std::max(box.row_end, row + 1),
             std::min(box.col_begin, col), std::max(box.col_end, col + 1)};
    }
  return box;
}

}  // namespace ptyche
