// A result's report drawn again: the pictures in another scale, or with a version that draws more.
#include "ptyche/report/report.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "ptyche/commands/checked_scan.h"
#include "ptyche/commands/command_line.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/io/product.h"
#include "ptyche/prepare/position_search.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

struct ReportVerbOptions {
  fs::path result, output, scan;
  std::vector<std::int64_t> empty;
};

/// How the scan was read for this image; its options are among those that the product holds.
ReadOptions reading_of(const Reconstruction& image) {
  ReadOptions reading{.hold_out = std::nullopt};
  const nlohmann::json asked =
      nlohmann::json::parse(image.provenance.options_json, nullptr, /*allow_exceptions=*/false);
  if (!asked.is_object()) return reading;
  nlohmann::json by_record;
  for (auto [name, value] : asked.items()) {
    std::string key = name;
    std::ranges::replace(key, '-', '_');
    by_record[key] = value;
  }
  ptyche::from_json(fields(reading), by_record);
  return reading;
}

/// The scan that the image was made of, with the same use of its patterns; nothing, with a note,
/// where it is not found, or another file stands there.
std::optional<Scan> scan_of(const Reconstruction& image, const fs::path& given) {
  ReadOptions reading = reading_of(image);
  reading.file = given.empty() ? fs::path(image.provenance.source) : given;
  reading.hold_out_file.clear();  // the product says which patterns were held out
  if (given.empty() && !fs::exists(reading.file)) {
    note("the scan {} is not there: nothing is shown beside its patterns (--scan names it)",
         reading.file.string());
    return std::nullopt;
  }
  const Scan scan = [&] {
    const Silence silence;
    return checked_scan(reading, /*no_check=*/false);
  }();
  require(scan.input_hash() == image.provenance.input_hash || image.provenance.input_hash.empty(),
          "{}: expected the scan with the SHA-256 {}, found {}", reading.file.string(),
          image.provenance.input_hash, scan.input_hash());
  require(scan.frames() == image.frame_use.size(0), "{}: expected {} patterns, found {}",
          reading.file.string(), image.frame_use.size(0), scan.frames());
  return turned_like(scan.with_frame_use(image.frame_use), image.positions);
}

std::optional<Comparison> half_sets_in(const fs::path& folder) {
  const fs::path even = folder / "half_even.h5", odd = folder / "half_odd.h5";
  if (!fs::exists(even) || !fs::exists(odd)) return std::nullopt;
  return compare(read_reconstruction(odd), read_reconstruction(even)).comparison;
}

std::optional<Window> empty_window(const std::vector<std::int64_t>& box) {
  if (box.empty()) return std::nullopt;
  require(box.size() == 4 && box[2] > 0 && box[3] > 0,
          "--empty: expected ROW,COL,ROWS,COLS, found {} numbers", box.size());
  return Window{box[0], box[0] + box[2], box[1], box[1] + box[3]};
}

void run_report(const ReportVerbOptions& options) {
  const fs::path file = result_file(options.result);
  const fs::path beside = file.parent_path().empty() ? fs::path(".") : file.parent_path();
  const fs::path output = options.output.empty() ? beside : options.output;
  ReportContent content{.empty = empty_window(options.empty)};
  const Reconstruction image = read_reconstruction(file);
  const StoredScores stored = read_stored_scores(file);
  content.scan = scan_of(image, options.scan);
  require_writable_folder(output);
  Scores scores;
  if (content.scan) scores = evaluate(image, *content.scan);
  scores.verdict = stored.verdict;
  scores.trust = stored.trust;
  scores.seconds = stored.seconds;
  scores.half_sets = half_sets_in(beside);
  if (write_report(output, image, scores, content))
    summarise("report    {}\n", (output / "report.html").string());
}

}  // namespace

Command report_command() {
  const auto options = std::make_shared<ReportVerbOptions>();
  return {.name = "report",
          .summary = "draw a result's pictures and report again",
          .description =
              "From reconstruction.h5 and, where it is still there, the scan that it was made of. "
              "Replaces the pictures and report.html; the result is left as it is.",
          .arguments = {{"RESULT", &options->result, "reconstruction.h5, or its folder"}},
          .options = {{.name = "output-dir",
                       .target = &options->output,
                       .help = "folder for pictures and report; none = that of the result",
                       .short_name = "o"},
                      {.name = "scan",
                       .target = &options->scan,
                       .help = "the scan, where it is no longer where it was"},
                      {.name = "empty",
                       .target = &options->empty,
                       .unit = "px",
                       .help = "ROW,COL,ROWS,COLS of a part of the object without a sample, whose "
                               "amplitude is drawn as 1; none = the brightest even part"}},
          .references = {},
          .run = [options] { run_report(*options); }};
}

}  // namespace ptyche
