#include "ptyche/report/report.h"

#include <optional>
#include <utility>

#include "ptyche/report/object_figures.h"
#include "ptyche/report/or_warn.h"
#include "ptyche/report/page.h"
#include "ptyche/report/ring_figure.h"

namespace ptyche {
namespace {

/// Draws one figure and adds it to `row`; `what` names it in a warning.
void add_picture(PictureRow& row, const std::string& what,
                 CaptionedFigure (*figure_of)(const Reconstruction&), const Reconstruction& image) {
  or_warn(what, [&] {
    const CaptionedFigure drawn = figure_of(image);
    row.pictures.push_back({render_png(drawn.figure), drawn.alt, drawn.caption});
  });
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

/// A correlation's curve, drawn and written to `file`; nothing where it was not measured.
void add_rings(ReportFiles& files, PictureRow& row, const std::filesystem::path& file,
               const std::optional<Comparison>& comparison, const std::string& title,
               const std::string& caption) {
  if (!comparison || comparison->rings.cycles_per_px.empty()) return;
  or_warn(file.string(), [&] {
    row.pictures.push_back(
        {ring_figure_png(*comparison, title), ring_figure_words(*comparison), caption});
    files.write(file, row.pictures.back().png);
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
  or_warn("report.html", [&] { page = report_page(image, scores, rows); });
  if (!page.empty()) files.write(folder / "report.html", page);
  files.require_all();
  return !page.empty();
}

}  // namespace ptyche
