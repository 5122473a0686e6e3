#include "ptyche/io/read_scan.h"

#include <algorithm>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/counts.h"
#include "ptyche/io/prepare.h"
#include "ptyche/io/readers.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr double kDefaultMeanCounts = 1e9;  // PtychoPINN's default

/// Amplitudes without a scale get one from the used patterns; what is held out must not matter.
void set_scale(at::Tensor& counts, const RawScan& raw, const at::Tensor& used, double wanted) {
  const double mean = (mean_pattern(counts, used) * raw.mask).sum().item<double>();
  if (wanted <= 0) {
    wanted = kDefaultMeanCounts;
    warn(
        "{}: amplitudes without an absolute scale; {:.0e} counts per pattern are assumed "
        "(--nphotons sets them)",
        raw.patterns_name, wanted);
  }
  counts = counts.to(at::kFloat).mul_(wanted / mean);
}

at::Tensor settle_probe(const RawScan& raw, const at::Tensor& counts, const at::Tensor& used,
                        double photons) {
  if (!raw.probe.defined())
    note("the file has no probe: one made of the mean pattern stands in for it");
  const at::Tensor probe =
      raw.probe.defined() ? raw.probe
                          : probe_of_mean_pattern(counts, raw.mask, used, raw.geometry.near_field);
  if (raw.probe_calibrated && photons <= 0) return probe;
  return with_context(raw.probe.defined() ? raw.probe_name : std::string("first probe"),
                      [&] { return calibrate_probe(probe, counts, raw.mask, used, photons); });
}

/// A scan whose patterns share no object pixel says nothing, and is most often one in another unit.
/// A probe that the file does not give is too uncertain to be judged by.
void warn_without_overlap(const RawScan& raw, const at::Tensor& used, const at::Tensor& probe) {
  const double step = median_step_px(raw.positions.index_select(0, used));
  const auto size = static_cast<double>(probe.size(-1));
  const double diameter = raw.probe.defined() ? std::min(probe_diameter_px(probe), size) : size;
  if (step <= diameter) return;
  warn(
      "{}: the median step to the nearest neighbour is {:.4g} object pixels, more than the {} of "
      "{:.4g}: no pattern overlaps another; are the positions in another unit?",
      raw.positions_name, step, diameter < size ? "probe's diameter" : "pattern's size", diameter);
}

ScanFields prepare(RawScan raw, const ReadOptions& options) {
  require(raw.frames() >= 1, "{}: expected at least 1 pattern, found none", raw.patterns_name);
  choose_scan(raw, options.scan_index);
  choose_mask(raw, options.mask);
  crop_detector(raw, options);
  settle_positions(raw, options);
  Counts counts = take_counts(raw, options);
  ScanFields fields;
  fields.frame_use = choose_frames(counts.counts, raw.mask, raw.positions,
                                   counts.absolute ? raw.ceiling : 0, options);
  const at::Tensor used = at::nonzero(fields.frame_use.eq(0)).flatten();
  if (!counts.absolute) set_scale(counts.counts, raw, used, options.nphotons);
  fields.probe_given = raw.probe.defined();
  fields.probe = settle_probe(raw, counts.counts, used, options.photons);
  warn_without_overlap(raw, used, fields.probe);
  fields.counts = std::move(counts.counts);
  fields.positions = raw.positions;
  fields.mask = raw.mask;
  fields.truth = raw.truth;
  fields.true_positions = raw.true_positions;
  fields.geometry = raw.geometry;
  fields.probe_given = raw.probe.defined();
  fields.probe_calibrated = raw.probe_calibrated;
  return fields;
}

}  // namespace

std::string scan_formats() { return format_names(Content::scan); }

Scan read_scan(const ReadOptions& options) { return read_scan(options, readers()); }

Scan read_scan(const ReadOptions& options, const std::vector<Reader>& formats) {
  require_in_range(options);
  const Reader& reader = reader_of(options.file, Content::scan, formats);
  return with_context(options.file.string(), [&] {
    ScanFields fields = prepare(reader.read_scan(options.file), options);
    fields.source = options.file.string();
    fields.input_hash = sha256_of_file(options.file);
    // Scans of one file must not pass for one another.
    if (options.scan_index >= 0) fields.input_hash += fmt::format("#{}", options.scan_index);
    return Scan(std::move(fields));
  });
}

}  // namespace ptyche
