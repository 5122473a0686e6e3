#include "ptyche/io/read_scan.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/log.h"
#include "ptyche/data/overlap.h"
#include "ptyche/data/probe_power.h"
#include "ptyche/io/prepare.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr const char* kHdf5Start = "\x89HDF\r\n\x1a\n";
constexpr double kDefaultMeanCounts = 1e9;  // PtychoPINN's default

std::string first_bytes(const fs::path& file) {
  require(fs::exists(file), "expected a file, found none");
  require(!fs::is_directory(file), "expected a file, found a folder");
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), "expected a readable file, found one that cannot be opened");
  std::string bytes(8, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// The format is told by content; names lie.
RawScan read_raw(const fs::path& file) {
  const std::string start = first_bytes(file);
  require(!start.empty(), "expected a scan (NPZ or CXI), found an empty file");
  if (start.starts_with("PK")) return read_npz_scan(file);
  if (start == kHdf5Start) return read_cxi_scan(file);
  throw InvalidInput(
      "expected NPZ (a zip archive) or CXI (HDF5), found neither in the first bytes");
}

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
  require(raw.probe.defined() || !raw.geometry.near_field,
          "expected a probe in the file of a near-field scan, found none: the mean pattern gives "
          "one in the far field only");
  const at::Tensor probe =
      raw.probe.defined() ? raw.probe : probe_from_mean_pattern(counts, raw.mask, used);
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

void check_options(const ReadOptions& options) {
  for (const auto& [name, value] : {std::pair{"--energy", options.energy_ev},
                                    {"--distance", options.distance_m},
                                    {"--detector-pixel", options.detector_pixel_m},
                                    {"--source-distance", options.source_distance_m},
                                    {"--photons", options.photons},
                                    {"--nphotons", options.nphotons},
                                    {"--crop", static_cast<double>(options.crop)}}) {
    require(value >= 0, "{}: expected a number >= 0, found {}", name, value);
  }
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
  fields.probe = settle_probe(raw, counts.counts, used, options.photons);
  warn_without_overlap(raw, used, fields.probe);
  fields.counts = std::move(counts.counts);
  fields.positions = raw.positions;
  fields.mask = raw.mask;
  fields.truth = raw.truth;
  fields.true_positions = raw.true_positions;
  fields.geometry = raw.geometry;
  return fields;
}

}  // namespace

void RawScan::forget_truth(const std::string& reason) {
  if (truth.defined() || true_positions.defined()) note("the truth is left out: {}", reason);
  truth = true_positions = at::Tensor();
}

at::Tensor probe_from_mean_pattern(const at::Tensor& counts, const at::Tensor& mask,
                                   const at::Tensor& frames) {
  warn(
      "the file has no probe: the first one is the transform of the mean pattern's root, in focus");
  const at::Tensor root = at::sqrt(mean_pattern(counts, frames) * mask).to(at::kComplexDouble);
  const at::Tensor wave = at::fft_ifft2(at::fft_ifftshift(root), {}, {-2, -1}, "ortho");
  return at::fft_fftshift(wave).unsqueeze(0).to(at::kComplexFloat);
}

bool is_hdf5(const fs::path& file) {
  return fs::is_regular_file(file) && first_bytes(file) == kHdf5Start;
}

Scan read_scan(const ReadOptions& options) {
  check_options(options);
  return with_context(options.file.string(), [&] {
    ScanFields fields = prepare(read_raw(options.file), options);
    fields.source = options.file.string();
    fields.input_hash = sha256_of_file(options.file);
    // Scans of one file must not pass for one another.
    if (options.scan_index >= 0) fields.input_hash += fmt::format("#{}", options.scan_index);
    return Scan(std::move(fields));
  });
}

}  // namespace ptyche
