#include "ptyche/io/read_scan.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/bin_patterns.h"
#include "ptyche/io/choose_patterns.h"
#include "ptyche/io/choose_reader.h"
#include "ptyche/io/counts.h"
#include "ptyche/io/detector_frame.h"
#include "ptyche/io/load_patterns.h"
#include "ptyche/io/pattern_values.h"
#include "ptyche/io/placed_patterns.h"
#include "ptyche/io/prepare.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/readout_noise.h"
#include "ptyche/io/scan_identity.h"
#include "ptyche/io/together.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/numpy.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kGainPatterns = 64;

/// Of squared amplitudes, by the noise of used patterns (k) int64: what is held out must not
/// matter. The same in all processes.
double photons_of_mean(const at::Tensor& counts, const RawScan& raw, const at::Tensor& used,
                       double mean, const ReadingTogether& together) {
  const at::Tensor rows = own_rows(together, raw, used);
  const std::int64_t every = std::max<std::int64_t>(rows.size(0) / kGainPatterns, 1);
  const at::Tensor some = counts.index_select(0, rows.slice(0, 0, {}, every));
  at::Tensor gain = at::tensor({photon_gain(some, raw.mask)}, at::kDouble);
  if (together.several()) gain = at::cat(together.exchange(gain)).mean(0, true);
  return mean / gain.item<double>();
}

/// Amplitudes without a scale get one: `wanted` counts a pattern, what the file names, or what the
/// noise tells. Returns it.
double set_scale(at::Tensor& counts, const RawScan& raw, const at::Tensor& used,
                 const at::Tensor& mean_pattern, double wanted, const ReadingTogether& together) {
  const double mean = (mean_pattern * raw.mask).sum().item<double>();
  if (wanted <= 0 && raw.nphotons > 0) {
    wanted = raw.nphotons;
    note(
        "{}: amplitudes without an absolute scale; the file's _metadata names {:g} counts per "
        "pattern (nphotons)",
        raw.patterns_name, wanted);
  }
  if (wanted <= 0) {
    wanted = photons_of_mean(counts, raw, used, mean, together);
    warn(
        "{}: amplitudes without an absolute scale; {:.2g} counts per pattern are assumed, {} "
        "(--mean-counts sets them)",
        raw.patterns_name, wanted,
        wanted < 0.99 * kMostCounts ? "as their noise says" : "for no noise is seen");
  }
  counts = counts.to(at::kFloat).mul_(wanted / mean);
  return wanted / mean;
}

/// Programs that know no probe write an empty one.
void forget_empty_probe(RawScan& raw) {
  if (!raw.probe.defined()) return;
  const double power = probe_power(raw.probe);
  if (std::isfinite(power) && power > 0) return;
  warn("{}: {}: it is taken for none", raw.probe_name,
       power == 0 ? "a probe without light" : "a probe with values that are no numbers");
  raw.probe = at::Tensor();
  raw.probe_calibrated = false;
}

/// `mean` is the mean pattern, asked for only where it is needed.
template <class Mean>
at::Tensor settle_probe(const RawScan& raw, const Mean& mean, double photons) {
  if (!raw.probe.defined())
    note("the file has no probe: one made of the mean pattern stands in for it");
  else if (raw.probe_calibrated && photons <= 0)
    return raw.probe;
  const at::Tensor pattern = raw.probe.defined() && photons > 0 ? at::Tensor() : mean();
  const at::Tensor probe =
      raw.probe.defined() ? raw.probe : probe_of_mean(pattern, raw.mask, raw.geometry.near_field);
  return with_context(raw.probe.defined() ? raw.probe_name : std::string("first probe"),
                      [&] { return calibrated_to(probe, pattern, raw.mask, photons); });
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

enum class Extent { all, sample, part };

struct Prepared {
  ScanFields fields;
  at::Tensor positions;         ///< of all patterns, if the fields are of some
  std::vector<fs::path> files;  ///< read beside the scan's own
  at::Tensor owner = {};        ///< see ReadingTogether
};

/// Of a few patterns dark ones say nothing about the scan: they are all used.
at::Tensor frame_use_of(const RawScan& raw, const Counts& counts, const ReadOptions& options,
                        Extent extent, const ReadingTogether& together) {
  if (extent != Extent::all) return at::zeros({counts.counts.size(0)}, at::kByte);
  const double ceiling = counts.absolute ? raw.ceiling : 0;
  const at::Tensor sums =
      of_all_patterns(together, raw, frame_sums(counts.counts, raw.mask, ceiling));
  return choose_frames(sums, raw.mask.sum().item<std::int64_t>(), raw.positions, ceiling, options);
}

/// Patterns, whole or some, of one scan, in our frame and without what is not kept.
at::Tensor read_patterns(RawScan& raw, ReadOptions& options, Extent extent,
                         ReadingTogether& together) {
  require(raw.frames() >= 1, "{}: expected at least 1 pattern, found none", raw.patterns_name);
  settle_places(raw, options);
  choose_scan(raw, options.scan_index);
  sum_exposures(raw, options);
  choose_patterns(raw, options.frames);
  if (extent != Extent::part) leave_out_unplaced(raw, options);
  settle_centre(raw, options);
  settle_bins(raw, options);
  at::Tensor sample;
  if (extent == Extent::sample) {
    sample = sampled_patterns(raw);
    const at::Tensor positions = raw.positions, true_positions = raw.true_positions;
    raw.keep(sample);
    raw.positions = positions;
    raw.true_positions = true_positions;
  }
  if (together.several()) take_own_part(raw, options, together);
  load_patterns(raw, options);
  if (together.several()) require_read_alike(raw, together);
  settle_detector(raw, options.orientation);
  choose_mask(raw, options);
  crop_detector(raw, options);
  settle_positions(raw, options);
  forget_empty_probe(raw);
  return sample;
}

Prepared prepare(RawScan raw, ReadOptions options, Extent extent, ReadingTogether together = {}) {
  const at::Tensor sample = read_patterns(raw, options, extent, together);
  Prepared prepared{{}, raw.positions, raw.files, together.owner};
  if (sample.defined()) {
    raw.positions = raw.positions.index_select(0, sample);
    raw.true_positions = at::Tensor();
  }
  Counts counts = take_counts(raw, options, together);
  ScanFields& fields = prepared.fields;
  fields.frame_use = frame_use_of(raw, counts, options, extent, together);
  if (options.bin > 1) {
    bin_patterns(raw, counts.counts, options.bin);
    counts.counts = of_one_type(together, counts.counts);
  }
  const at::Tensor used = at::nonzero(fields.frame_use.eq(0)).flatten();
  const auto mean = [&] { return mean_of_all(together, raw, counts.counts, used); };
  double scale = 1;
  if (!counts.absolute)
    scale = set_scale(counts.counts, raw, used, mean(), options.nphotons, together);
  if (counts.guessed && options.bin == 1) {
    fields.squared_by = counts.amplitude ? scale : 0;
    fields.may_be_roots = !counts.amplitude;
  }
  fields.probe = settle_probe(raw, mean, options.photons);
  if (extent == Extent::all) warn_without_overlap(raw, used, fields.probe);
  fields.counts = std::move(counts.counts);
  fields.positions = raw.positions;
  fields.mask = raw.mask;
  fields.truth = raw.truth;
  fields.true_positions = raw.true_positions;
  fields.geometry = raw.geometry;
  fields.probe_given = raw.probe.defined();
  fields.probe_calibrated = raw.probe_calibrated;
  return prepared;
}

}  // namespace

std::string scan_formats() { return format_names(Content::scan); }

Scan read_scan(const ReadOptions& options) { return read_scan(options, readers()); }

Scan read_scan(const ReadOptions& options, const std::vector<Reader>& formats) {
  return with_file(options.file,
                   [&] { return Scan(read_scan_together(options, {}, formats).fields); });
}

ScanOfProcess read_scan_together(const ReadOptions& options, const ReadingTogether& together,
                                 const std::vector<Reader>& formats) {
  require_in_range(options);
  const Reader reader = chosen_reader(options, formats);
  return with_file(options.file, [&] {
    const fs::path file = scan_file_in(options.file);
    if (together.own > 0)
      return ScanOfProcess{prepare(reader.read_scan(file), options, Extent::all, together).fields,
                           {}};
    // Beside the reading: it takes as long as the reading of a plain file.
    std::future<std::string> hash = std::async(std::launch::async, hash_of_scan, file, options);
    Prepared prepared;
    try {
      prepared = prepare(reader.read_scan(file), options, Extent::all, together);
    } catch (const InvalidInput&) {
      hash.get();  // a broken seal explains more
      throw;
    }
    ScanFields& fields = prepared.fields;
    fields.source = options.file.string();
    fields.input_hash = hash_with(hash.get(), prepared.files);
    // Scans of one file must not pass for one another.
    if (options.scan_index >= 0) fields.input_hash += fmt::format("#{}", options.scan_index);
    if (!options.frames.empty()) fields.input_hash += fmt::format("#{}", options.frames);
    if (options.bin > 1) fields.input_hash += fmt::format("#bin{}", options.bin);
    return ScanOfProcess{std::move(fields), prepared.owner};
  });
}

Scan scan_of(RawScan raw, const ReadOptions& options, ScanShare share) {
  require_in_range(options);
  const Extent extent = share == ScanShare::whole ? Extent::all : Extent::part;
  Prepared prepared = prepare(std::move(raw), options, extent);
  prepared.fields.source = options.file.string();
  return Scan(std::move(prepared.fields));
}

std::vector<std::int64_t> scan_numbers(const ReadOptions& options) {
  const fs::path file = scan_file_in(options.file);
  if (!not_a_file(file).empty() || kind_of_file(file) != "NPZ") return {};
  return with_file(options.file, [&]() -> std::vector<std::int64_t> {
    const NpzFile arrays(file);
    if (!arrays.has("scan_index")) return {};
    const at::Tensor index = arrays.read("scan_index").values.reshape(-1).to(at::kLong);
    const at::Tensor numbers = std::get<0>(at::_unique(index.contiguous()));
    return {numbers.const_data_ptr<std::int64_t>(),
            numbers.const_data_ptr<std::int64_t>() + numbers.numel()};
  });
}

ScanSample read_scan_sample(const ReadOptions& options) {
  const Stopwatch watch;
  require_in_range(options);
  const Reader reader = chosen_reader(options, readers());
  return with_file(options.file, [&] {
    const fs::path file = scan_file_in(options.file);
    Prepared prepared = prepare(reader.read_scan(file), options, Extent::sample);
    prepared.fields.source = options.file.string();
    std::string fingerprint = fingerprint_of_file(file);
    return ScanSample{Scan(std::move(prepared.fields)), prepared.positions, std::move(fingerprint),
                      watch.seconds()};
  });
}

}  // namespace ptyche
