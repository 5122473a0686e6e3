// Pieces of HTML: text made safe, pictures as part of the page, tables of options and scores,
// curves.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptyche/data/scores.h"

namespace ptyche {

/// `text` for the content of an element or a quoted attribute: & < > " ' are escaped, bytes that
/// are not UTF-8 and control characters other than tab and line feed become U+FFFD.
std::string escape_html(std::string_view text);

/// RFC 4648 base64, padded, one line.
std::string base64(std::string_view bytes);

/// A picture on the page.
struct Picture {
  std::string png;      ///< the bytes of a PNG file
  std::string alt;      ///< for those who do not see it
  std::string caption;  ///< below the picture
};

/// <figure> with the picture as a data URI.
std::string figure_html(const Picture& picture);

/// One row of cells, as plain text.
using TableRow = std::vector<std::string>;

/// <table class="kind"> with a caption and a head where they are not empty; the first cell of each
/// row is its header. All text is escaped.
std::string table_html(const std::string& kind, const std::string& caption, const TableRow& head,
                       const std::vector<TableRow>& rows);

/// JSON options as rows (dotted name, value), in their order: {"a": {"b": 1}} gives ("a.b", "1").
/// Throws InvalidInput if `json` is not a JSON object.
std::vector<TableRow> flattened_options(const std::string& json);

/// One HTML table (name, value, meaning) for each group of scores, in the order given; the group is
/// the name up to its first dot (none: one table without a caption). What trivial predictors get
/// stands behind the meaning of the score beside which they belong. Empty where there are no
/// scores.
std::string score_tables(const std::vector<NamedScore>& scores);

/// A part of a curve: where one way to compute gave way to the next.
struct PlotStage {
  std::string label;
  std::size_t steps = 0;
};

struct LinePlot {
  std::string title;                   ///< read out where the plot is not seen
  std::string x_label, y_label;        ///< beside the axes
  std::vector<double> y;               ///< one value per step; the first step is number 1
  std::vector<PlotStage> stages = {};  ///< the parts of the curve, in order; none = one part
};

/// <svg> of the curve, in parts with a line between any two and the label above each: logarithmic
/// in y where all values are positive and span more than a factor of ten, else linear. Values that
/// are not finite leave a gap. Throws InvalidInput if no value is finite.
std::string line_plot_svg(const LinePlot& plot);

}  // namespace ptyche
