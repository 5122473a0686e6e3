#include "ptyche/report/page.h"

#include <fmt/format.h>

#include <filesystem>

#include "ptyche/core/error.h"
#include "ptyche/core/version.h"
#include "ptyche/report/line_plot.h"
#include "ptyche/report/page_style.h"
#include "ptyche/report/score_tables.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

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
         escape_html(title) + "</title>\n<style>\n" + std::string(page_style) +
         "</style>\n</head>\n";
}

}  // namespace

std::string html_page(const std::string& title, const std::string& headline,
                      const std::string& body) {
  return page_head(title) + "<body>\n<header>\n<h1>" + escape_html(title) +
         "</h1>\n<p class=\"headline\">" + escape_html(headline) + "</p>\n</header>\n<main>\n" +
         body + "</main>\n<footer>Written by Ptyche " + escape_html(version()) +
         "</footer>\n</body>\n</html>\n";
}

std::string section_html(const std::string& title, const std::string& content) {
  if (content.empty()) return "";
  const std::string heading = title.empty() ? "" : "<h2>" + escape_html(title) + "</h2>\n";
  return "<section>\n" + heading + content + "</section>\n";
}

std::string pictures_html(const PictureRow& row) {
  if (row.pictures.empty()) return "";
  std::string html = paragraph(row.text) + "<div class=\"pictures\">\n";
  for (const Picture& picture : row.pictures) html += figure_html(picture);
  return section_html(row.title, html + "</div>\n");
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
  return html_page(title, headline(scores), body);
}

}  // namespace ptyche
