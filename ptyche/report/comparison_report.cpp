#include "ptyche/report/comparison_report.h"

#include <fmt/format.h>

#include <functional>

#include "ptyche/report/comparison_figures.h"
#include "ptyche/report/or_warn.h"
#include "ptyche/report/page.h"
#include "ptyche/report/ring_figure.h"
#include "ptyche/report/score_tables.h"

namespace ptyche {
namespace {

/// Draws a picture, adds it to `row` and writes it to `file`.
void add(ReportFiles& files, PictureRow& row, const std::filesystem::path& file,
         const std::function<Picture()>& picture) {
  or_warn(file.string(), [&] {
    row.pictures.push_back(picture());
    files.write(file, row.pictures.back().png);
  });
}

Picture drawn(const CaptionedFigure& figure) {
  return {render_png(figure.figure), figure.alt, figure.caption};
}

std::string headline_of(const Comparison& comparison) {
  const ImageError& error = comparison.error;
  return fmt::format(
      "After one joint alignment, A differs from B by {:.3g} of B's contrast. A flat object would "
      "differ by {:.3g}, B blurred by 1 pixel by {:.3g}.",
      error.nrmse_contrast, comparison.flat.nrmse_contrast, comparison.blurred.nrmse_contrast);
}

std::vector<PictureRow> picture_rows(ReportFiles& files, const std::filesystem::path& folder,
                                     const ComparedImages& compared) {
  const ComparedNames names{"A", "B"};
  PictureRow pairs, differences{"Difference, A less B", "", {}}, rings{"Resolution", "", {}};
  add(files, pairs, folder / "amplitude.png",
      [&] { return drawn(amplitude_pair(compared, names)); });
  add(files, pairs, folder / "phase.png", [&] { return drawn(phase_pair(compared, names)); });
  add(files, differences, folder / "amplitude_difference.png",
      [&] { return drawn(amplitude_difference(compared)); });
  add(files, differences, folder / "phase_difference.png",
      [&] { return drawn(phase_difference_figure(compared)); });
  add(files, rings, folder / "frc.png", [&] {
    return Picture{ring_figure_png(compared.comparison, "A against B"),
                   ring_figure_words(compared.comparison),
                   "Agreement ring by ring of spatial frequency. It is blind to a blur: B blurred "
                   "agrees with B at every frequency."};
  });
  return {pairs, differences, rings};
}

}  // namespace

void write_comparison_report(const std::filesystem::path& folder, const ComparedImages& compared,
                             const std::vector<NamedScore>& scores, const std::string& image,
                             const std::string& reference) {
  ReportFiles files;
  std::string body;
  for (const PictureRow& row : picture_rows(files, folder, compared)) body += pictures_html(row);
  body += section_html("Scores", score_tables(scores));
  body += section_html("Files", table_html("facts", "", {}, {{"A", image}, {"B", reference}}));
  files.write(folder / "report.html",
              html_page("A against B", headline_of(compared.comparison), body));
  files.require_all();
}

}  // namespace ptyche
