// A white sheet to draw on, on top of cairo, and where its axes are labelled: round numbers in
// steps of 1, 2 or 5. Lengths are sheet pixels, (0, 0) is the top left corner, x goes to the right
// and y down.
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <vector>

typedef struct _cairo cairo_t;
typedef struct _cairo_surface cairo_surface_t;

namespace ptyche {

struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
};

struct Point {
  double x = 0, y = 0;
};

/// sRGB, 0..1.
struct Colour {
  double red = 0.1, green = 0.1, blue = 0.1;
};

/// How a line is drawn; dashes: lengths on and off in turn, empty = one stroke.
struct Pen {
  double width = 1;
  Colour colour = {};
  std::vector<double> dashes = {};
};

/// Which point of a text stands at the given place.
enum class Anchor { left, centre, right };

struct TextStyle {
  double size = 12;
  Anchor anchor = Anchor::left;
  bool bold = false;
  bool upwards = false;  ///< turned by a quarter, read from the bottom up
  double grey = 0.1;     ///< 0 = black, 1 = white
};

class Canvas {
 public:
  /// Throws InvalidInput if the sheet is empty or larger than cairo can hold (32767).
  Canvas(double width, double height);

  /// `rgb` (rows, cols, 3) in 0..1, stretched over `where` with row 0 at the top; enlarged pixels
  /// keep hard edges.
  void image(const at::Tensor& rgb, const Rectangle& where);
  void line(double x0, double y0, double x1, double y1, double width);
  /// Straight from point to point.
  void path(const std::vector<Point>& points, const Pen& pen);
  void frame(const Rectangle& where, double width);
  void fill(const Rectangle& where, double grey, double opacity = 1);
  /// The vertical middle of the text's digits stands at y (at x for text that reads upwards).
  void text(const std::string& words, double x, double y, const TextStyle& style);
  double text_width(const std::string& words, const TextStyle& style);

  /// The sheet as the bytes of a PNG file. Throws InvalidInput with cairo's reason if drawing
  /// failed.
  std::string png() const;

 private:
  struct Destroy {
    void operator()(cairo_t* context) const;
    void operator()(cairo_surface_t* surface) const;
  };
  void set_font(const TextStyle& style);
  std::unique_ptr<cairo_surface_t, Destroy> surface_;
  std::unique_ptr<cairo_t, Destroy> context_;
};

struct Tick {
  double value;
  std::string label;
};

/// The largest of 1, 2, 5 times a power of ten that is <= `length` (> 0).
double round_length(double length);

/// Round numbers in [low, high] (low < high, both finite), `at_most` (>= 2) steps apart at the
/// most.
std::vector<Tick> linear_ticks(double low, double high, int at_most);

/// As above for a logarithmic axis (0 < low < high): 1, 2 and 5 of each decade, or whole decades
/// where there are more than three.
std::vector<Tick> log_ticks(double low, double high);

/// A unit of length that makes numbers up to `extent_m` (> 0) easy to read.
struct LengthUnit {
  std::string name;  ///< "nm", "µm" or "mm"
  double metres;
};
LengthUnit length_unit(double extent_m);

/// A length in metres with its unit: "500 nm", "2 µm".
std::string format_length(double length_m);

/// Four significant digits, whole numbers below a million exactly, a real minus sign, powers of ten
/// as "1.2 × 10⁵"; "not finite" for NaN and infinities.
std::string format_number(double value);

}  // namespace ptyche
