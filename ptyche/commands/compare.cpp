// Two images of one sample against each other.
#include "ptyche/evaluate/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/report/report.h"

namespace ptyche {
namespace {

struct CompareVerbOptions {
  std::filesystem::path image, reference, output;
  bool overwrite = false;
  std::vector<double> window;  ///< first and last-plus-one row and column; empty = the default
};

std::optional<Window> window_of(const std::vector<double>& edges) {
  if (edges.empty()) return std::nullopt;
  require(edges.size() == 4 && std::all_of(edges.begin(), edges.end(),
                                           [](double edge) { return edge == std::round(edge); }),
          "--window: expected four whole numbers row_begin,row_end,col_begin,col_end, found {}",
          fmt::join(edges, ","));
  const auto edge = [&](std::size_t index) { return static_cast<std::int64_t>(edges[index]); };
  return Window{edge(0), edge(1), edge(2), edge(3)};
}

/// The files' names and the whole curve, for compare.json.
std::string more_json(const CompareVerbOptions& options, const RingCorrelation& rings) {
  nlohmann::ordered_json json;
  json["a"] = options.image.string();
  json["b"] = options.reference.string();
  json["fourier_ring_correlation"] = {{"cycles_per_px", rings.cycles_per_px},
                                      {"correlation", rings.correlation},
                                      {"half_bit", rings.half_bit},
                                      {"one_bit", rings.one_bit}};
  return json.dump();
}

const RunFiles kFiles{.names = {"compare.json", "report.html", "amplitude.png", "phase.png",
                                "amplitude_difference.png", "phase_difference.png", "frc.png"},
                      .last = "report.html",
                      .checkpoint = ""};

void run_compare(const CompareVerbOptions& options) {
  std::optional<OutputFolder> folder;
  if (!options.output.empty())
    folder.emplace(options.output, folder_use(options.overwrite), kFiles);
  const Reconstruction image = read_object_file(result_file(options.image));
  const Reconstruction reference = read_object_file(result_file(options.reference));
  const std::optional<Window> window = window_of(options.window);
  const ComparedImages compared =
      with_context(options.image.string() + " against " + options.reference.string() + ": object",
                   [&] { return compare(image, reference, window, Ways::all); });
  const auto scores = named_scores(compared.comparison, {"", "A", "B"});
  print_scores(scores);
  warn_of_other_view(compared.comparison, "A", "B");
  if (options.output.empty()) return;
  write_text(options.output / "compare.json",
             scores_json(scores, more_json(options, compared.comparison.rings)));
  write_comparison_report(options.output, compared, scores, options.image.string(),
                          options.reference.string());
  show("\n{}\n", (options.output / "report.html").string());
}

}  // namespace

Command compare_command() {
  const auto options = std::make_shared<CompareVerbOptions>();
  return {.name = "compare",
          .summary = "how far one image of a sample is from another",
          .description =
              "Brings A onto B by one shift, one phase ramp and one complex factor, prints these "
              "and what is left: errors, structural similarity, Fourier ring correlation, each "
              "beside what a flat object and B blurred by 1 pixel would get. A with other object "
              "pixels is resampled to those of B; where A would fit far better turned, mirrored or "
              "conjugated (the twin of B), a warning says so and by how much. With -o also "
              "compare.json, figures and report.html.",
          .arguments = {{"A", &options->image, "reconstruction to judge, or its folder"},
                        {"B", &options->reference,
                         "what it is measured against: a reconstruction, or a simulated scan for "
                         "its truth"}},
          .options = {{.name = "output-dir",
                       .target = &options->output,
                       .help = "folder for compare.json, figures and report.html",
                       .short_name = "o"},
                      overwrite_option(options->overwrite),
                      {.name = "window",
                       .target = &options->window,
                       .unit = "px",
                       .help = "row_begin,row_end,col_begin,col_end of B to compare; default: the "
                               "lit part of its central half"}},
          .references = {"M. van Heel, M. Schatz, J. Struct. Biol. 151, 250 (2005)",
                         "Z. Wang et al., IEEE Trans. Image Process. 13, 600 (2004)"},
          .run = [options] { run_compare(*options); }};
}

}  // namespace ptyche
