#include "ptyche/report/report.h"

#include <exception>
#include <utility>

#include "ptyche/core/files.h"
#include "ptyche/core/log.h"
#include "ptyche/report/object_figures.h"
#include "ptyche/report/page.h"

namespace ptyche {
namespace {

/// Runs `work`; whatever it throws becomes a warning, for no figure is worth a lost result.
template <typename Work>
void or_warn(const std::string& what, Work&& work) {
  try {
    work();
  } catch (const std::exception& error) {
    warn("{}: {}", what, error.what());
  }
}

/// Draws one figure and adds it to `row`; `what` names it in a warning.
void add_picture(PictureRow& row, const std::string& what,
                 CaptionedFigure (*figure_of)(const Reconstruction&), const Reconstruction& image) {
  or_warn(what, [&] {
    const CaptionedFigure drawn = figure_of(image);
    row.pictures.push_back({render_png(drawn.figure), drawn.alt, drawn.caption});
  });
}

/// As above, and writes the picture to `file`, which also names it in a warning.
void add_and_write(PictureRow& row, const std::filesystem::path& file,
                   CaptionedFigure (*figure_of)(const Reconstruction&),
                   const Reconstruction& image) {
  const std::size_t before = row.pictures.size();
  add_picture(row, file.filename().string(), figure_of, image);
  if (row.pictures.size() == before) return;
  or_warn(file.string(), [&] { write_text(file, row.pictures.back().png); });
}

PictureRow extra_row(const ExtraImage& extra) {
  PictureRow row{extra.title, extra.caption, {}};
  add_picture(row, extra.title + ", phase", phase_figure, extra.image);
  add_picture(row, extra.title + ", amplitude", amplitude_figure, extra.image);
  return row;
}

}  // namespace

void write_report(const std::filesystem::path& folder, const Reconstruction& image,
                  const Scores& scores, const std::vector<ExtraImage>& extras) {
  or_warn(folder.string(), [&] { std::filesystem::create_directories(folder); });
  PictureRow object, probe{"Probe", "", {}};
  add_and_write(object, folder / "phase.png", phase_figure, image);
  add_and_write(object, folder / "amplitude.png", amplitude_figure, image);
  add_and_write(probe, folder / "probe.png", probe_figure, image);
  std::vector<PictureRow> rows{std::move(object)};
  for (const ExtraImage& extra : extras) rows.push_back(extra_row(extra));
  rows.push_back(std::move(probe));
  const std::filesystem::path page = folder / "report.html";
  or_warn(page.string(), [&] { write_text(page, report_page(image, scores, rows)); });
}

}  // namespace ptyche
