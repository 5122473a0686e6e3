#include "ptyche/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/probe.h"
#include "ptyche/report/canvas.h"
#include "ptyche/report/html.h"
#include "ptyche/report/page.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/report/scan_figures.h"

namespace ptyche {
namespace {

// What the page says.

/// The number of each step that was kept, and its passes; nothing where these are not those of the
/// curve, as in results of other programs.
std::vector<PlotStage> stages_of(const Reconstruction& image) {
  std::vector<PlotStage> stages;
  std::size_t passes = 0;
  const std::vector<Attempt>& attempts = image.provenance.attempts;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (!attempts[i].kept) continue;
    stages.push_back({std::to_string(i + 1), static_cast<std::size_t>(attempts[i].passes)});
    passes += stages.back().steps;
  }
  return passes == image.loss.size() ? stages : std::vector<PlotStage>();
}

std::string loss_html(const Reconstruction& image) {
  const std::vector<PlotStage> stages = stages_of(image);
  const std::string title = "Loss over the passes";
  try {
    return "<figure>\n" +
           line_plot_svg({title, "pass over the patterns", "loss per photon", image.loss, stages}) +
           "<figcaption>" + title +
           (stages.size() > 1 ? " of the steps that were kept, by their numbers." : ".") +
           " A Poisson loss is half of the deviance.</figcaption>\n</figure>\n";
  } catch (const InvalidInput&) {
    return "";  // nothing was solved
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

/// "12.3 keV" of 12300 and "eV"; lengths and doses likewise are written where they are known.
std::string energy_text(double energy_ev) {
  return energy_ev >= 1000 ? format_number(energy_ev / 1000) + " keV"
                           : format_number(energy_ev) + " eV";
}

void add(std::vector<NamedNumber>& numbers, bool known, const std::string& name,
         const std::string& value, const std::string& note = "") {
  if (known) numbers.push_back({name, value, note});
}

void add_setting(std::vector<NamedNumber>& numbers, const Geometry& geometry) {
  add(numbers, geometry.energy_ev > 0, "energy", energy_text(geometry.energy_ev));
  // Electrons have another wavelength at an energy; these are below a tenth of a MeV only for
  // light.
  add(numbers, geometry.energy_ev > 0 && geometry.energy_ev < 5e4, "wavelength",
      format_length(wavelength_m(geometry)));
  add(numbers, geometry.distance_m > 0, "distance to the detector",
      format_number(geometry.distance_m) + " m");
  add(numbers, geometry.detector_pixel_m > 0, "detector pixel",
      format_length(geometry.detector_pixel_m));
  add(numbers, geometry.has_object_pixel(), "object pixel", format_length(geometry.object_pixel_m));
}

void add_object(std::vector<NamedNumber>& numbers, const Reconstruction& image) {
  if (!image.object.defined()) return;
  const double pixel = image.geometry.object_pixel_m;
  const bool known = image.geometry.has_object_pixel();
  const auto length = [&](int axis) {
    return format_length(pixel * static_cast<double>(image.object.size(axis + 1)));
  };
  add(numbers, true, "image",
      fmt::format("{} px", fmt::join(image.projection().sizes(), " \u00d7 ")),
      known ? length(0) + " \u00d7 " + length(1) : "");
}

void add_light(std::vector<NamedNumber>& numbers, const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  if (used.numel() == 0) return;
  const double counts =
      mean_pattern(scan, used).masked_fill(scan.mask().logical_not(), 0).sum().item<double>();
  const double step = median_step_px(scan.positions());
  add(numbers, true, "dose", format_number(counts) + " counts a pattern",
      step > 0 ? format_number(counts / (step * step)) + " per object pixel" : "");
}

void add_probe(std::vector<NamedNumber>& numbers, const Reconstruction& image) {
  if (!image.probe.defined() || probe_power(image.main_probe()) <= 0) return;
  const double diameter = probe_diameter_px(image.main_probe());
  const double pixel = image.geometry.object_pixel_m;
  const std::string px = fmt::format("{:.1f} px", diameter);
  const std::int64_t modes = image.modes();
  add(numbers, true, "probe, 90 % of its light within",
      image.geometry.has_object_pixel() ? format_length(diameter * pixel) : px,
      fmt::format("{}{} mode{}", image.geometry.has_object_pixel() ? px + ", " : "", modes,
                  modes == 1 ? "" : "s"));
  add(numbers, likeness_to_twin(image.main_probe()) > kOwnTwin, "which way round",
      corrected_positions(image).empty() ? "as the file says" : "as the positions were corrected",
      "no pattern tells: a probe in focus is its own twin");
  const double step = image.positions.defined() ? median_step_px(image.positions) : 0;
  add(numbers, step > 0, "step to the nearest neighbour", fmt::format("{:.2f} px", step),
      fmt::format("overlap {:.0f} % of the probe", 100 * std::max(0.0, 1 - step / diameter)));
}

void add_freedom(std::vector<NamedNumber>& numbers, const Reconstruction& image,
                 const std::optional<Scan>& scan) {
  const std::string corrected = corrected_positions(image);
  add(numbers, !corrected.empty(), "positions of the file", "corrected", corrected);
  if (scan) {
    const Movement moved = movement(image, *scan);
    add(numbers, true, "positions",
        moved.largest_px > 0 ? fmt::format("moved by {:.2g} px", moved.rms_px) : "not moved",
        moved.largest_px > 0 ? fmt::format("root mean square; {:.2g} px at most", moved.largest_px)
                             : "");
  }
  if (image.background.defined()) {
    const double background = image.background.sum().item<double>();
    add(numbers, true, "background",
        fmt::format(
            "{:.2g} % of the light",
            100 * background / std::max(background + probe_power(image.main_probe()), 1e-30)));
  }
  if (image.intensities.defined()) {
    const at::Tensor known = image.intensities.masked_select(at::isfinite(image.intensities));
    add(numbers, known.numel() > 1, "intensity of the beam",
        fmt::format("changes by {:.2g} %", 100 * known.std().item<double>()),
        "fitted in each pattern");
  }
}

void add_resolution(std::vector<NamedNumber>& numbers, const Reconstruction& image,
                    const Scores& scores) {
  if (!scores.half_sets) return;
  const double cycles = scores.half_sets->error.frc.half_bit;
  add(numbers, cycles > 0, "resolution, half period",
      image.geometry.has_object_pixel()
          ? format_length(0.5 * image.geometry.object_pixel_m / std::max(cycles, 1e-9))
          : fmt::format("{:.2f} px", 0.5 / std::max(cycles, 1e-9)),
      "half sets, half-bit criterion");
}

void add_fit(std::vector<NamedNumber>& numbers, const Scores& scores) {
  const std::optional<DataFit>& fit = scores.held_out ? scores.held_out : scores.used;
  if (!fit) return;
  const std::string patterns = scores.held_out ? "held-out patterns" : "patterns used";
  // Beside each score the best guess that knows nothing of positions.
  const auto beside = [&scores](double floor, const char* guess, double TrivialFit::*of_guess) {
    const std::string noise = fmt::format("photon noise {:.3g}", floor);
    return scores.trivial ? fmt::format("{}, {} {:.3g}", noise, guess, (*scores.trivial).*of_guess)
                          : noise;
  };
  const bool tells = r_factor_tells(*fit, scores.trivial);
  add(numbers, true, "R-factor of " + patterns, fmt::format("{:.3g}", fit->r_factor),
      beside(fit->r_factor_floor, "mean amplitude", &TrivialFit::r_factor) +
          (tells ? "" : ": tells little, noise leaves about as much"));
  add(numbers, true, "Poisson deviance of " + patterns,
      fmt::format("{:.3g} per photon", fit->deviance_per_photon),
      beside(fit->deviance_per_photon_floor, "mean pattern",
             &TrivialFit::mean_pattern_deviance_per_photon));
}

std::vector<NamedNumber> numbers_of(const Reconstruction& image, const Scores& scores,
                                    const std::optional<Scan>& scan) {
  std::vector<NamedNumber> numbers;
  add_setting(numbers, image.geometry);
  add_object(numbers, image);
  add(numbers, image.frame_use.defined(), "patterns", patterns_text(image.frame_use));
  if (scan) add_light(numbers, *scan);
  add_probe(numbers, image);
  add_freedom(numbers, image, scan);
  add_resolution(numbers, image, scores);
  add_fit(numbers, scores);
  return numbers;
}

std::string attempts_html(const std::vector<Attempt>& attempts) {
  std::vector<TableRow> rows;
  for (const Attempt& each : attempts)
    rows.push_back({fmt::format("{}. {}", rows.size() + 1, each.what), std::to_string(each.passes),
                    each.seconds > 0 ? fmt::format("{:.1f}", each.seconds) : "",
                    each.held_out_deviance > 0 ? fmt::format("{:.4g}", each.held_out_deviance) : "",
                    each.kept ? "yes" : "no"});
  if (rows.empty()) return "";
  return table_html("stages", "",
                    {"step", "passes", "seconds", "deviance of held-out patterns", "kept"}, rows);
}

std::string interpolation_text(Interpolation how) {
  return how == Interpolation::bilinear ? "object interpolated linearly (bilinear)"
                                        : "probe moved by Fourier shift (probe_fourier)";
}

std::string provenance_html(const Reconstruction& image, const Scores& scores) {
  const Provenance& from = image.provenance;
  std::vector<TableRow> rows = {
      {"command", from.command},
      {"scan", from.source},
      {"SHA-256 of the scan", from.input_hash},
      {"date", from.date},
      {"time", scores.seconds > 0 ? format_duration(scores.seconds) + ", without the verdict" : ""},
      {"machine", from.machine},
      {"Ptyche", from.version},
      {"seed", std::to_string(from.seed)},
      {"patches between pixels", interpolation_text(image.interpolation)}};
  std::erase_if(rows, [](const TableRow& row) { return row[1].empty(); });
  return table_html("facts", "", {}, rows);
}

std::string verdict_html(const Scores& scores) {
  if (!scores.verdict)
    return scores.trust ? "" : "<p class=\"verdict\">This image was not judged.</p>\n";
  const std::string word = to_string(scores.verdict->word);
  const std::string text = verdict_text(*scores.verdict);
  return fmt::format("<p class=\"verdict {0}\"><strong>{0}</strong>{1}</p>\n", word,
                     escape_html(text.substr(word.size())));
}

/// How far a network's image can be trusted: doubtful where the scan is unlike those it knows.
std::string trust_html(const Scores& scores) {
  if (!scores.trust) return "";
  return fmt::format("<p class=\"verdict {}\"><strong>Trust</strong>: {}</p>\n",
                     scores.trust->alarmed() ? "doubtful" : "",
                     escape_html(trust_text(*scores.trust)));
}

std::string remark_html(const Remark& remark) {
  std::string text = remark.cause.empty() ? "" : remark.cause + ": ";
  text += remark.text;
  if (!remark.after.empty())
    text += fmt::format(" ({} \u2192 {})", remark.before.empty() ? "as read" : remark.before,
                        remark.after);
  const bool corrected = remark.kind == Remark::Kind::correction;
  return fmt::format("<li>{}{}</li>\n", corrected ? "<strong>Corrected</strong> " : "",
                     escape_html(text));
}

/// Corrections and warnings, or what was noted.
std::string remarks_html(const std::vector<Remark>& remarks, bool noted) {
  std::string html;
  for (const Remark& remark : remarks)
    if ((remark.kind == Remark::Kind::note) == noted) html += remark_html(remark);
  return html.empty() ? "" : "<ul class=\"warnings\">\n" + html + "</ul>\n";
}

/// Everything on one page that loads nothing, the verdict first; the first row of pictures is the
/// image itself. A part that is missing is left out.
std::string report_page(const Reconstruction& image, const Scores& scores,
                        const ReportContent& content, const std::vector<PictureRow>& pictures) {
  const std::string scan = std::filesystem::path(image.provenance.source).filename().string();
  std::string body = verdict_html(scores) + trust_html(scores);
  if (scores.used) body += "<p class=\"headline\">" + escape_html(headline(scores)) + "</p>\n";
  body += remarks_html(image.provenance.remarks, /*noted=*/false);
  for (std::size_t row = 0; row < pictures.size(); ++row) {
    body += pictures_html(pictures[row]);
    if (row == 0) body += section_html("", numbers_html(numbers_of(image, scores, content.scan)));
  }
  body += section_html("What was done",
                       "<div class=\"steps\">\n" + attempts_html(image.provenance.attempts) +
                           loss_html(image) + "</div>\n" + provenance_html(image, scores));
  if (const std::string notes = remarks_html(image.provenance.remarks, /*noted=*/true);
      !notes.empty())
    body += folded_html("What was noted on the way", notes);
  body += folded_html("All scores", score_tables(named_scores(scores)));
  body += folded_html("All options, as they were asked for",
                      options_html(image.provenance.options_json));
  return html_page(scan.empty() ? "Ptyche reconstruction" : scan + ": reconstruction", body);
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

/// What makes it impossible is said by the figures themselves.
Drawing drawing_or_usual(const Reconstruction& image, const std::optional<Window>& empty) {
  try {
    return drawing_of(image, empty);
  } catch (const InvalidInput&) {
    return {.empty = empty};
  }
}

PictureRow image_row(ReportFiles& files, const std::filesystem::path& folder,
                     const Reconstruction& image, const Drawing& how) {
  PictureRow row;
  add_to(files, row, folder / "phase.png", [&] { return drawn(phase_figure(image, how)); });
  add_to(files, row, folder / "amplitude.png", [&] { return drawn(amplitude_figure(image, how)); });
  return row;
}

/// Drawn like the image of the report, so that the two can be compared.
PictureRow extra_row(const ExtraImage& extra, Drawing how) {
  PictureRow row{extra.title, extra.caption, {}};
  // Its own object may be cropped elsewhere, and has its own scale.
  how.crop.reset();
  how.empty_amplitude.reset();
  warn_on_error(extra.title, [&] {
    row.pictures.push_back(drawn(phase_figure(extra.image, how)));
    row.pictures.push_back(drawn(amplitude_figure(extra.image, how)));
  });
  return row;
}

PictureRow patterns_row(ReportFiles& files, const std::filesystem::path& folder,
                        const Reconstruction& image, const Scan& scan) {
  PictureRow row{"Patterns", "", {}};
  add_to(files, row, folder / "patterns.png", [&] {
    const PatternFigures shown = pattern_figures(image, scan);
    return Picture{render_stacked_png(shown.figures), shown.alt, shown.caption};
  });
  return row;
}

/// Where the patterns lie, how much light that gives, and where the image is sure.
PictureRow places_row(ReportFiles& files, const std::filesystem::path& folder,
                      const Reconstruction& image, const Scores& scores,
                      const std::optional<Scan>& scan) {
  PictureRow row{"Positions, light and certainty", "", {}};
  if (scan)
    add_to(files, row, folder / "positions.png",
           [&] { return drawn(positions_figure(image, *scan)); });
  add_to(files, row, folder / "coverage.png", [&] { return drawn(coverage_figure(image)); });
  if (scores.verdict && scores.verdict->map.defined())
    add_to(files, row, folder / "verdict.png",
           [&] { return drawn(verdict_figure(image, *scores.verdict)); });
  if (scores.trust && scores.trust->map.defined())
    add_to(files, row, folder / "trust.png",
           [&] { return drawn(trust_figure(image, *scores.trust)); });
  add_to(files, row, folder / "probe.png", [&] { return drawn(probe_figure(image)); });
  return row;
}

}  // namespace

std::string verdict_text(const Verdict& verdict) {
  std::string text = first_line(verdict) + ".";
  for (const std::string& reason : verdict.reasons) text += " " + reason + ".";
  return text;
}

std::string trust_text(const Trust& trust) {
  return first_line(trust) + "." + (trust.reason.empty() ? "" : " " + trust.reason + ".");
}

namespace {

std::string predicted(const DataFit& fit) {
  return fmt::format("The image predicts {} held-out pattern{} with", fit.frames,
                     fit.frames == 1 ? "" : "s");
}

std::string headline_by_r_factor(const DataFit& fit, const std::optional<TrivialFit>& guesses) {
  std::string text = fmt::format("{} an R-factor of {:.3g}; photon noise alone would leave {:.3g}",
                                 predicted(fit), fit.r_factor, fit.r_factor_floor);
  if (guesses)
    text += fmt::format(", and one guess for all patterns (their mean amplitude) gives {:.3g}",
                        guesses->r_factor);
  return text +
         fmt::format(
             ". Poisson deviance per photon: {:.3g}, of noise alone {:.3g}. Lower is better.",
             fit.deviance_per_photon, fit.deviance_per_photon_floor);
}

std::string headline_by_deviance(const DataFit& fit, const TrivialFit& guesses) {
  return fmt::format(
      "{} a Poisson deviance of {:.3g} per photon; photon noise alone would leave {:.3g}, and one "
      "guess for all patterns (their mean) gives {:.3g}. Lower is better. With so few photons the "
      "R-factor tells little: noise alone would leave {:.3g} of it, one guess for all {:.3g}.",
      predicted(fit), fit.deviance_per_photon, fit.deviance_per_photon_floor,
      guesses.mean_pattern_deviance_per_photon, fit.r_factor_floor,
      std::min(guesses.r_factor, guesses.mean_pattern_r_factor));
}

}  // namespace

std::string headline(const Scores& scores) {
  if (!scores.held_out)
    return "No pattern was held out, so nothing here tells how well the image predicts patterns "
           "that it has not seen.";
  const DataFit& fit = *scores.held_out;
  return r_factor_tells(fit, scores.trivial) ? headline_by_r_factor(fit, scores.trivial)
                                             : headline_by_deviance(fit, *scores.trivial);
}

bool write_report(const std::filesystem::path& folder, const Reconstruction& image,
                  const Scores& scores, const ReportContent& content) {
  ReportFiles files;
  const Drawing how = drawing_or_usual(image, content.empty);
  std::vector<PictureRow> rows{image_row(files, folder, image, how)};
  for (const ExtraImage& extra : content.extras) rows.push_back(extra_row(extra, how));
  if (content.scan) rows.push_back(patterns_row(files, folder, image, *content.scan));
  rows.push_back(places_row(files, folder, image, scores, content.scan));
  rows.push_back(resolution_row(files, folder, scores));
  std::string page;
  warn_on_error("report.html", [&] { page = report_page(image, scores, content, rows); });
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
              html_page("A against B", "<p class=\"headline\">" +
                                           escape_html(headline_of(compared.comparison)) +
                                           "</p>\n" + body));
  files.require_all();
}

}  // namespace ptyche
