#include "ptyche/report/report.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/report/page.h"
#include "ptyche/report/result_figures.h"

namespace ptyche {
namespace {

/// Writes files one after the other. A failure waits until all were tried: a file that could not be
/// written must not pass for one.
class ReportFiles {
 public:
  void write(const std::filesystem::path& file, const std::string& content) {
    try {
      write_text(file, content);
    } catch (const InvalidInput& error) {
      if (first_failure_.empty()) first_failure_ = error.what();
    }
  }
  /// Throws InvalidInput with the first failure, which names its file.
  void require_all() const { require(first_failure_.empty(), "{}", first_failure_); }

 private:
  std::string first_failure_;
};

Picture drawn(const CaptionedFigure& figure) {
  return {render_png(figure.figure), figure.alt, figure.caption};
}

/// Draws one figure and adds it to `row`; `what` names it in a warning.
void add_picture(PictureRow& row, const std::string& what,
                 CaptionedFigure (*figure_of)(const Reconstruction&), const Reconstruction& image) {
  warn_on_error(what, [&] { row.pictures.push_back(drawn(figure_of(image))); });
}

/// As above, and writes the picture to `file`, which also names it in a warning.
void add_and_write(ReportFiles& files, PictureRow& row, const std::filesystem::path& file,
                   CaptionedFigure (*figure_of)(const Reconstruction&),
                   const Reconstruction& image) {
  const std::size_t before = row.pictures.size();
  add_picture(row, file.filename().string(), figure_of, image);
  if (row.pictures.size() == before) return;
  files.write(file, row.pictures.back().png);
}

PictureRow extra_row(const ExtraImage& extra) {
  PictureRow row{extra.title, extra.caption, {}};
  add_picture(row, extra.title + ", phase", phase_figure, extra.image);
  add_picture(row, extra.title + ", amplitude", amplitude_figure, extra.image);
  return row;
}

/// Draws a picture, adds it to `row` and writes it to `file`.
void add_to(ReportFiles& files, PictureRow& row, const std::filesystem::path& file,
            const std::function<Picture()>& picture) {
  warn_on_error(file.string(), [&] {
    row.pictures.push_back(picture());
    files.write(file, row.pictures.back().png);
  });
}

/// A correlation's curve, drawn and written to `file`; nothing where it was not measured.
void add_rings(ReportFiles& files, PictureRow& row, const std::filesystem::path& file,
               const std::optional<Comparison>& comparison, const std::string& title,
               const std::string& caption) {
  if (!comparison || comparison->rings.cycles_per_px.empty()) return;
  add_to(files, row, file, [&] {
    return Picture{ring_figure_png(*comparison, title), ring_figure_words(*comparison), caption};
  });
}

PictureRow resolution_row(ReportFiles& files, const std::filesystem::path& folder,
                          const Scores& scores) {
  PictureRow row{"Resolution", "", {}};
  add_rings(files, row, folder / "half_sets.png", scores.half_sets,
            "Odd patterns against even ones",
            "Agreement of two images that share no pattern, each with its own first probe. What "
            "both get wrong in the same way does not show here.");
  add_rings(files, row, folder / "truth_frc.png", scores.truth, "Object against the truth",
            "Agreement with the known truth, ring by ring of spatial frequency.");
  return row;
}

}  // namespace

bool write_report(const std::filesystem::path& folder, const Reconstruction& image,
                  const Scores& scores, const std::vector<ExtraImage>& extras) {
  ReportFiles files;
  PictureRow object, probe{"Probe", "", {}};
  add_and_write(files, object, folder / "phase.png", phase_figure, image);
  add_and_write(files, object, folder / "amplitude.png", amplitude_figure, image);
  add_and_write(files, probe, folder / "probe.png", probe_figure, image);
  std::vector<PictureRow> rows{std::move(object)};
  for (const ExtraImage& extra : extras) rows.push_back(extra_row(extra));
  rows.push_back(std::move(probe));
  rows.push_back(resolution_row(files, folder, scores));
  std::string page;
  warn_on_error("report.html", [&] { page = report_page(image, scores, rows); });
  if (!page.empty()) files.write(folder / "report.html", page);
  files.require_all();
  return !page.empty();
}

// Two images.

namespace {

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
  add_to(files, pairs, folder / "amplitude.png",
         [&] { return drawn(amplitude_pair(compared, names)); });
  add_to(files, pairs, folder / "phase.png", [&] { return drawn(phase_pair(compared, names)); });
  add_to(files, differences, folder / "amplitude_difference.png",
         [&] { return drawn(amplitude_difference(compared)); });
  add_to(files, differences, folder / "phase_difference.png",
         [&] { return drawn(phase_difference_figure(compared)); });
  add_to(files, rings, folder / "frc.png", [&] {
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
