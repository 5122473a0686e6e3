#include "ptyche/report/canvas.h"

#include <cairo.h>
#include <fmt/format.h>
#include <fontconfig/fontconfig.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/plugin.h"

namespace ptyche {

namespace {

void require_success(cairo_status_t status) {
  require(status == CAIRO_STATUS_SUCCESS, "drawing failed: {}", cairo_status_to_string(status));
}

cairo_surface_t* new_surface(double width, double height) {
  constexpr double kLargest = 32767;
  require(width >= 1 && height >= 1 && width <= kLargest && height <= kLargest,
          "a sheet of 1 to {} pixels expected, found {} x {}", kLargest, width, height);
  return cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(std::ceil(width)),
                                    static_cast<int>(std::ceil(height)));
}

/// (rows, cols) int32, contiguous, each pixel as cairo wants it: 0x00RRGGBB.
at::Tensor packed_pixels(const at::Tensor& rgb) {
  const at::Tensor bytes = (rgb.clamp(0, 1) * 255).round().to(at::kInt);
  const at::Tensor weights = at::tensor({1 << 16, 1 << 8, 1}, at::kInt);
  return (bytes * weights).sum(-1, false, at::kInt).contiguous();
}

/// Red, green, blue of each pixel of a sheet, row by row.
std::vector<unsigned char> rgb_of(cairo_surface_t* surface) {
  const int rows = cairo_image_surface_get_height(surface);
  const int cols = cairo_image_surface_get_width(surface);
  std::vector<unsigned char> rgb(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) *
                                 3);
  unsigned char* next = rgb.data();
  for (int row = 0; row < rows; ++row) {
    const unsigned char* line =
        cairo_image_surface_get_data(surface) +
        static_cast<std::ptrdiff_t>(row) * cairo_image_surface_get_stride(surface);
    for (int col = 0; col < cols; ++col, line += 4, next += 3) {
      std::uint32_t pixel = 0;  // 0x00RRGGBB in the machine's order of bytes
      std::memcpy(&pixel, line, sizeof pixel);
      next[0] = static_cast<unsigned char>(pixel >> 16);
      next[1] = static_cast<unsigned char>(pixel >> 8);
      next[2] = static_cast<unsigned char>(pixel);
    }
  }
  return rgb;
}

/// A package has its own fonts beside the program (cmake/Install.cmake): its pictures need none of
/// the system and look the same everywhere. Without a package the system's are used.
bool use_own_fonts() {
  std::error_code none;
  const std::filesystem::path fonts = program_folder().parent_path() / "fonts";
  if (!std::filesystem::is_directory(fonts, none)) return false;
  FcConfig* const own = FcConfigCreate();
  for (const auto& font : std::filesystem::directory_iterator(fonts, none))
    FcConfigAppFontAddFile(own, reinterpret_cast<const FcChar8*>(font.path().c_str()));
  FcConfigSetCurrent(own);
  FcConfigDestroy(own);  // the library holds it, too
  return true;
}

}  // namespace

void Canvas::Destroy::operator()(cairo_t* context) const { cairo_destroy(context); }
void Canvas::Destroy::operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }

Canvas::Canvas(double width, double height)
    : surface_(new_surface(width, height)), context_(cairo_create(surface_.get())) {
  require_success(cairo_status(context_.get()));
  fill({0, 0, std::ceil(width), std::ceil(height)}, 1);
}

void Canvas::image(const at::Tensor& rgb, const Rectangle& where) {
  const at::Tensor pixels = packed_pixels(rgb);
  const auto rows = static_cast<int>(pixels.size(0)), cols = static_cast<int>(pixels.size(1));
  const std::unique_ptr<cairo_surface_t, Destroy> source(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, cols, rows));
  require_success(cairo_surface_status(source.get()));
  unsigned char* target = cairo_image_surface_get_data(source.get());
  const int stride = cairo_image_surface_get_stride(source.get());
  for (std::int64_t row = 0; row < rows; ++row)
    std::memcpy(target + row * stride, pixels.const_data_ptr<int>() + row * cols, 4 * cols);
  cairo_surface_mark_dirty(source.get());

  cairo_t* context = context_.get();
  cairo_save(context);
  cairo_translate(context, where.x, where.y);
  cairo_scale(context, where.width / cols, where.height / rows);
  cairo_set_source_surface(context, source.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(context), CAIRO_FILTER_NEAREST);
  cairo_rectangle(context, 0, 0, cols, rows);
  cairo_fill(context);
  cairo_restore(context);
}

void Canvas::line(double x0, double y0, double x1, double y1, double width) {
  cairo_set_source_rgb(context_.get(), 0.1, 0.1, 0.1);
  cairo_set_line_width(context_.get(), width);
  cairo_move_to(context_.get(), x0, y0);
  cairo_line_to(context_.get(), x1, y1);
  cairo_stroke(context_.get());
}

void Canvas::path(const std::vector<Point>& points, const Pen& pen) {
  cairo_t* context = context_.get();
  cairo_save(context);
  cairo_set_source_rgb(context, pen.colour.red, pen.colour.green, pen.colour.blue);
  cairo_set_line_width(context, pen.width);
  cairo_set_line_join(context, CAIRO_LINE_JOIN_ROUND);
  cairo_set_dash(context, pen.dashes.data(), static_cast<int>(pen.dashes.size()), 0);
  cairo_new_path(context);
  for (const Point& point : points) cairo_line_to(context, point.x, point.y);
  cairo_stroke(context);
  cairo_restore(context);
}

void Canvas::frame(const Rectangle& where, double width) {
  cairo_set_source_rgb(context_.get(), 0.1, 0.1, 0.1);
  cairo_set_line_width(context_.get(), width);
  cairo_rectangle(context_.get(), where.x, where.y, where.width, where.height);
  cairo_stroke(context_.get());
}

void Canvas::fill(const Rectangle& where, double grey, double opacity) {
  cairo_set_source_rgba(context_.get(), grey, grey, grey, opacity);
  cairo_rectangle(context_.get(), where.x, where.y, where.width, where.height);
  cairo_fill(context_.get());
}

void Canvas::set_font(const TextStyle& style) {
  [[maybe_unused]] static const bool own_fonts = use_own_fonts();
  cairo_select_font_face(context_.get(), "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(context_.get(), style.size);
}

double Canvas::text_width(const std::string& words, const TextStyle& style) {
  set_font(style);
  cairo_text_extents_t extents;
  cairo_text_extents(context_.get(), words.c_str(), &extents);
  return extents.x_advance;
}

void Canvas::text(const std::string& words, double x, double y, const TextStyle& style) {
  constexpr double kDigitHeight = 0.73;  // of the font size, in common sans-serif faces
  const double width = text_width(words, style);
  const double before = style.anchor == Anchor::left     ? 0
                        : style.anchor == Anchor::centre ? width / 2
                                                         : width;
  cairo_t* context = context_.get();
  cairo_save(context);
  cairo_set_source_rgb(context, style.grey, style.grey, style.grey);
  cairo_translate(context, x, y);
  if (style.upwards) cairo_rotate(context, -std::acos(0.0));
  cairo_move_to(context, -before, kDigitHeight * style.size / 2);
  cairo_show_text(context, words.c_str());
  cairo_restore(context);
}

std::string Canvas::png() const {
  require_success(cairo_status(context_.get()));
  cairo_surface_flush(surface_.get());
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  picture.width = static_cast<png_uint_32>(cairo_image_surface_get_width(surface_.get()));
  picture.height = static_cast<png_uint_32>(cairo_image_surface_get_height(surface_.get()));
  picture.format = PNG_FORMAT_RGB;
  picture.flags = PNG_IMAGE_FLAG_FAST;  // a quarter of cairo's time, a third more bytes
  const std::vector<unsigned char> rgb = rgb_of(surface_.get());
  png_alloc_size_t length = PNG_IMAGE_PNG_SIZE_MAX(picture);
  std::string bytes(length, '\0');
  const int written =
      png_image_write_to_memory(&picture, bytes.data(), &length, 0, rgb.data(), 0, nullptr);
  require(written != 0, "drawing failed: {}", picture.message);
  bytes.resize(length);
  return bytes;
}

namespace {

constexpr double kSlack = 1e-9;  // so that rounding does not lose a tick at an end of the axis

std::string with_real_minus(std::string text) {
  for (auto at = text.find('-'); at != std::string::npos; at = text.find('-', at + 1))
    text.replace(at, 1, "\u2212");
  return text;
}

/// 5: "\u2075". Superscripts 1, 2 and 3 stand apart from the others in Unicode.
std::string superscript(const std::string& digits) {
  const char* raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                          "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
  std::string text;
  for (const char digit : digits) text += digit == '-' ? "\u207b" : raised[digit - '0'];
  return text;
}

/// Four significant digits; very large and very small numbers as "1.2 \u00d7 10\u2075".
std::string significant(double value) {
  const std::string text = fmt::format("{:.4g}", value);
  const auto at = text.find('e');
  if (at == std::string::npos) return with_real_minus(text);
  const std::string power = std::to_string(std::stoi(text.substr(at + 1)));
  return with_real_minus(text.substr(0, at)) + " \u00d7 10" + superscript(power);
}

double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least) + kSlack));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1 - kSlack)) return factor * power;
  return 10 * power;
}

std::string tick_label(double value, double step) {
  if (std::abs(value) < step / 2) return "0";
  if (std::abs(value) >= 1e6 || step < 1e-4) return significant(value);
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + kSlack)));
  return with_real_minus(fmt::format("{:.{}f}", value, decimals));
}

}  // namespace

double round_length(double length) {
  const double power = std::pow(10, std::floor(std::log10(length) + kSlack));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= length * (1 + kSlack)) return factor * power;
  return power;
}

std::vector<Tick> linear_ticks(double low, double high, int at_most) {
  const double step = round_step((high - low) / at_most);
  const double last = std::floor(high / step + kSlack);
  std::vector<Tick> ticks;
  for (double index = std::ceil(low / step - kSlack); index <= last; ++index)
    ticks.push_back({index * step, tick_label(index * step, step)});
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high) {
  const bool wide = std::log10(high / low) > 3;
  std::vector<Tick> ticks;
  for (double decade = std::floor(std::log10(low)); decade <= std::log10(high); ++decade)
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, decade);
      if (value < low * (1 - kSlack) || value > high * (1 + kSlack)) continue;
      if (wide && factor != 1) continue;
      ticks.push_back({value, significant(value)});
    }
  return ticks;
}

LengthUnit length_unit(double extent_m) {
  if (extent_m >= 2e-3) return {"mm", 1e-3};
  if (extent_m >= 2e-6) return {"\u00b5m", 1e-6};
  return {"nm", 1e-9};
}

std::string format_length(double length_m) {
  const double largest_first[] = {1e-3, 1e-6};
  for (const double metres : largest_first)
    if (length_m >= metres * (1 - kSlack))
      return format_number(length_m / metres) + " " + (metres == 1e-3 ? "mm" : "\u00b5m");
  return format_number(length_m / 1e-9) + " nm";
}

std::string format_number(double value) {
  if (!std::isfinite(value)) return "not finite";
  if (value == std::round(value) && std::abs(value) < 1e6)
    return with_real_minus(fmt::format("{:.0f}", value + 0.0));
  return significant(value);
}

}  // namespace ptyche
