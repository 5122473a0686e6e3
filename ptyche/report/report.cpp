#include "ptyche/report/report.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/report/canvas.h"
#include "ptyche/report/html.h"
#include "ptyche/report/result_figures.h"

namespace ptyche {
namespace {

/// How the report looks: one style sheet for desk, phone and paper, light and dark.
constexpr std::string_view kPageStyle = R"css(
:root { --ink: #1c2024; --soft: #5c6670; --line: #d9dee3; --paper: #ffffff; --accent: #2a5d9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ec; --soft: #a0a9b2; --line: #3a424a; --paper: #14181c; --accent: #86b7f0; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem clamp(0.9rem, 3vw, 2rem) 3rem; max-width: 76rem;
       color: var(--ink); background: var(--paper); line-height: 1.5;
       font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 0.8rem; padding-bottom: 0.25rem;
     border-bottom: 1px solid var(--line); }
p { max-width: 46rem; }
.headline { font-size: 1.15rem; margin: 0 0 1.4rem; }
.pictures { display: grid; gap: 1.2rem; align-items: start;
            grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; max-width: 46rem; }
img { display: block; width: 100%; height: auto; background: #ffffff;
      border: 1px solid var(--line); border-radius: 4px; }
figcaption { margin-top: 0.5rem; font-size: 0.88rem; color: var(--soft); }
table { border-collapse: collapse; width: 100%; margin: 0 0 1.6rem; font-size: 0.93rem; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0; }
th, td { text-align: left; font-weight: 400; vertical-align: top; padding: 0.28rem 0.9rem 0.28rem 0;
         border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
thead th { color: var(--soft); font-size: 0.82rem; }
.scores th[scope=row], .options th { width: 24rem; }
.scores th[scope=row], .options, pre { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
                                       font-size: 0.85rem; }
.scores td:nth-child(2) { width: 7rem; font-variant-numeric: tabular-nums; font-weight: 600; }
.scores td:nth-child(3) { color: var(--soft); }
.facts th { width: 14rem; color: var(--soft); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.plot { display: block; width: 100%; max-width: 46rem; height: auto; }
.plot text { fill: var(--ink); font-size: 13px; }
.plot .grid { stroke: var(--line); fill: none; }
.plot .axis { stroke: var(--soft); fill: none; }
.plot .curve { stroke: var(--accent); stroke-width: 2; fill: none; stroke-linejoin: round; }
.plot .dot { fill: var(--accent); }
footer { margin-top: 2.5rem; font-size: 0.85rem; color: var(--soft); }
@media (max-width: 40rem) {
  .scores thead { display: none; }
  .scores tr { display: grid; grid-template-columns: 1fr auto; column-gap: 1rem;
               padding: 0.35rem 0; border-bottom: 1px solid var(--line); }
  .scores th, .scores td { border: 0; padding: 0; width: auto !important; }
  .scores th[scope=row] { grid-column: 1 / -1; font-size: 0.8rem; }
  .scores td:nth-child(2) { order: 1; }
  .options th { width: 55%; }
  .facts th { width: 38%; }
  .plot text { font-size: 19px; }
}
@media print {
  :root { --ink: #000000; --soft: #444444; --line: #bbbbbb; --paper: #ffffff; --accent: #1c4a86; }
  @page { margin: 15mm; }
  body { padding: 0; max-width: none; font-size: 10pt; }
  .pictures { grid-template-columns: 1fr 1fr; }
  figure, tr, .plot { break-inside: avoid; }
  h2, caption { break-after: avoid; }
}
)css";

/// Pictures that stand side by side under one heading.
struct PictureRow {
  std::string title, text;  ///< the text stands above the pictures; both may be empty
  std::vector<Picture> pictures;
};

std::string paragraph(const std::string& text) {
  return text.empty() ? "" : "<p>" + escape_html(text) + "</p>\n";
}

std::string loss_html(const std::vector<double>& loss) {
  try {
    return line_plot_svg({"Training loss over the epochs", "epoch", "loss per photon", loss});
  } catch (const InvalidInput&) {
    return "";  // nothing was trained
  }
}

std::string options_html(const std::string& json) {
  if (json.empty()) return "";
  try {
    return table_html("options", "", {}, flattened_options(json));
  } catch (const InvalidInput&) {
    return "<pre>" + escape_html(json) + "</pre>\n";
  }
}

std::string patterns_text(const at::Tensor& frame_use) {
  if (!frame_use.defined()) return "";
  const char* names[] = {"used", "held out", "rejected", "unseen"};
  std::string text;
  for (int use = 0; use < 4; ++use) {
    const auto count = (frame_use == use).sum().item<std::int64_t>();
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, names[use]);
  }
  return text;
}

std::string object_text(const Reconstruction& image) {
  if (!image.object.defined()) return "";
  const Geometry& geometry = image.geometry;
  return fmt::format("{} pixels of {}", fmt::join(image.object.sizes(), " \u00d7 "),
                     geometry.has_object_pixel() ? format_length(geometry.object_pixel_m)
                                                 : std::string("unknown size"));
}

std::string provenance_html(const Reconstruction& image) {
  const Provenance& from = image.provenance;
  const Geometry& geometry = image.geometry;
  std::vector<TableRow> rows = {
      {"scan", from.source},
      {"SHA-256 of the scan", from.input_hash},
      {"patterns", patterns_text(image.frame_use)},
      {"object", object_text(image)},
      {"photon energy",
       geometry.energy_ev > 0 ? format_number(geometry.energy_ev / 1000) + " keV" : ""},
      {"distance to the detector",
       geometry.distance_m > 0 ? format_number(geometry.distance_m) + " m" : ""},
      {"between pixels", to_string(image.interpolation)},
      {"seed", std::to_string(from.seed)},
      {"Ptyche", version() + ", commit " + commit()},
      {"command", from.command}};
  std::erase_if(rows, [](const TableRow& row) { return row[1].empty(); });
  return table_html("facts", "", {}, rows);
}

std::string page_head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + std::string(kPageStyle) +
         "</style>\n</head>\n";
}

/// A whole page that loads nothing: `headline` stands below the title, `body` is HTML.
std::string html_page(const std::string& title, const std::string& headline,
                      const std::string& body) {
  return page_head(title) + "<body>\n<header>\n<h1>" + escape_html(title) +
         "</h1>\n<p class=\"headline\">" + escape_html(headline) + "</p>\n</header>\n<main>\n" +
         body + "</main>\n<footer>Written by Ptyche " + escape_html(version()) +
         "</footer>\n</body>\n</html>\n";
}

/// A heading and what stands under it; empty where there is no content (HTML).
std::string section_html(const std::string& title, const std::string& content) {
  if (content.empty()) return "";
  const std::string heading = title.empty() ? "" : "<h2>" + escape_html(title) + "</h2>\n";
  return "<section>\n" + heading + content + "</section>\n";
}

/// The row's text and pictures under its title; empty where there is no picture.
std::string pictures_html(const PictureRow& row) {
  if (row.pictures.empty()) return "";
  std::string html = paragraph(row.text) + "<div class=\"pictures\">\n";
  for (const Picture& picture : row.pictures) html += figure_html(picture);
  return section_html(row.title, html + "</div>\n");
}

/// Everything on one page that loads nothing: pictures (the first row is the image itself),
/// headline, scores with their meaning, loss curve, options, provenance. A part that is missing is
/// left out.
std::string report_page(const Reconstruction& image, const Scores& scores,
                        const std::vector<PictureRow>& pictures) {
  const std::string scan = std::filesystem::path(image.provenance.source).filename().string();
  const std::string title = scan.empty() ? "Ptyche reconstruction" : scan + ": reconstruction";
  std::string body;
  for (const PictureRow& row : pictures) body += pictures_html(row);
  body += section_html("Scores", score_tables(named_scores(scores)));
  body += section_html("Training", loss_html(image.loss));
  body += section_html("Where it comes from", provenance_html(image));
  body += section_html("Options", options_html(image.provenance.options_json));
  const std::string verdict = scores.verdict ? verdict_text(*scores.verdict) + " " : "";
  return html_page(title, verdict + headline(scores), body);
}

// Files.

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

std::string verdict_text(const Verdict& verdict) {
  std::string text = first_line(verdict) + ".";
  for (const std::string& reason : verdict.reasons) text += " " + reason + ".";
  return text;
}

std::string headline(const Scores& scores) {
  if (!scores.held_out)
    return "No pattern was held out, so nothing here tells how well the image predicts patterns "
           "that it has not seen.";
  const DataFit& fit = *scores.held_out;
  std::string text = fmt::format(
      "The image predicts {} held-out pattern{} with R = {:.3g}; photon noise alone would leave "
      "{:.3g}",
      fit.frames, fit.frames == 1 ? "" : "s", fit.r_factor, fit.r_factor_floor);
  if (scores.trivial)
    text += fmt::format(", and one guess for all patterns (their mean amplitude) gives {:.3g}",
                        scores.trivial->r_factor);
  return text + fmt::format(". Poisson deviance per photon: {:.3g}, floor {:.3g}. Lower is better.",
                            fit.deviance_per_photon, fit.deviance_per_photon_floor);
}

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
  if (scores.verdict && scores.verdict->map.defined()) {
    PictureRow sure{"Where the image is sure", "", {}};
    add_to(files, sure, folder / "verdict.png",
           [&] { return drawn(verdict_figure(image, *scores.verdict)); });
    rows.push_back(std::move(sure));
  }
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
