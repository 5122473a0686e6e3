#include "ptyche/prepare/first_probe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/result.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/numpy.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

std::string certainty(const FoundProbe& found) {
  if (found.sure) return "";
  return found.fit.tells() ? "; not sure: little of the patterns is explained"
                           : "; not sure: too few photons to tell";
}

void say(const FoundProbe& found) {
  detail(
      "probe: {}{} (held-out deviance {:.4g} per photon; mean pattern {:.4g}, photon noise {:.4g})",
      found.of_scan ? "the file's" : "found from the patterns, start " + found.what,
      certainty(found), found.fit.deviance, found.fit.mean_pattern, found.fit.noise);
}

Scan calibrated(const Scan& scan, const at::Tensor& probe) {
  return scan.with_probe(
      calibrate_probe(probe, scan.counts(), scan.mask(), scan.frames_with(FrameUse::used), 0));
}

// What a search came to, kept on the disk until the run that asked for it has ended.

constexpr const char* kGroup = "search";
const DatasetLayout kNumbers{"search/numbers", at::kDouble, {7}};

DatasetLayout probe_layout(const Scan& scan) {
  const std::int64_t size = scan.pattern_size();
  return {"search/probe", at::kComplexFloat, {kAnyLength, size, size}};
}

at::Tensor numbers_of(const FirstProbe& first) {
  const FoundProbe& found = *first.found;
  return at::tensor(
      {static_cast<double>(found.of_scan), static_cast<double>(found.sure), found.fit.deviance,
       found.fit.noise, found.fit.mean_pattern, found.strength, first.seconds},
      at::kDouble);
}

FirstProbe read_first(const Hdf5File& in, const Scan& scan) {
  require(in.text(kGroup, "scan").value_or("") == fingerprint(scan), "{}",
          "expected the probe that was found for this scan, found that of another one, or of the "
          "scan read with other options");
  const at::Tensor numbers = read(in, kNumbers), probe = read(in, probe_layout(scan));
  require(probe.size(0) > 0 && probe_power(probe) > 0, "search/probe: expected light, found {}",
          "none");
  const auto* number = numbers.const_data_ptr<double>();
  const bool of_scan = whole_number(number[0], "search/numbers: of the scan", 0, 1) == 1;
  FoundProbe found{.probe = probe,
                   .what = in.text(kGroup, "what").value_or(""),
                   .of_scan = of_scan,
                   .sure = whole_number(number[1], "search/numbers: sure", 0, 1) == 1,
                   .fit = {number[2], number[3], number[4]},
                   .strength = number[5]};
  return {of_scan ? scan : scan.with_probe(probe), std::move(found), number[6]};
}

/// A file that cannot be written is a warning. `scan` is the one that was searched.
void keep_probe(const std::filesystem::path& file, const Scan& scan, const FirstProbe& first) {
  try {
    write_atomically(file, [&](const std::filesystem::path& path) {
      Hdf5File out = Hdf5File::create(path);
      out.make_group(kGroup);
      out.set(kGroup, "scan", fingerprint(scan));
      out.set(kGroup, "what", first.found->what);
      write(out, probe_layout(scan), first.scan.probe());
      write(out, kNumbers, numbers_of(first));
      out.close();
    });
  } catch (const std::exception& error) {
    warn("{}: the probe could not be kept, --resume would look for it again: {}", file.string(),
         error.what());
  }
}

/// Throws InvalidInput for a damaged file and that of another scan.
FirstProbe kept_probe(const std::filesystem::path& file, const Scan& scan) {
  return with_file(file, [&] { return read_first(Hdf5File::open(file), scan); });
}

/// The file's own photons stay where its probe does.
FirstProbe searched(const Scan& scan, const KeepProbe& keep) {
  const Stopwatch watch;
  if (keep.resume && !keep.file.empty() && std::filesystem::exists(keep.file)) {
    FirstProbe first = kept_probe(keep.file, scan);
    say(*first.found);
    return first;
  }
  FoundProbe found = find_probe(scan, scan.probe_given());
  say(found);
  Scan with = found.of_scan ? scan : calibrated(scan, found.probe);
  FirstProbe first{std::move(with), std::move(found), watch.seconds()};
  if (!keep.file.empty()) keep_probe(keep.file, scan, first);
  return first;
}

bool is_kind(const std::string& word) {
  return std::ranges::find(optics_kinds(), word) != optics_kinds().end();
}

/// Of an .npy file, a result of any program or a model.
at::Tensor read_probe(const std::filesystem::path& file) {
  if (!is_hdf5(file)) return as_probe(read_npy_file(file).values, file.string());
  const Hdf5File opened = Hdf5File::open(file);
  const std::string model = "ptyche_model/probe";
  if (opened.has(model)) return as_probe(opened.read(model).values, file.string() + ": " + model);
  return read_probe_file(file);
}

at::Tensor probe_of_file(const std::filesystem::path& file, const Scan& scan) {
  const at::Tensor probe = read_probe(file);
  require(probe.size(-1) == scan.pattern_size(),
          "{0}: expected a probe (modes, {1}, {1}), the patterns' size, found {2}", file.string(),
          scan.pattern_size(), describe(probe));
  return probe;
}

/// Throws InvalidInput for numbers of an instrument that nothing looks at.
void require_used_optics(ProbeChoice choice) {
  Optics usual;
  const std::vector<std::string> given = changed(fields(choice.optics), fields(usual));
  require(given.empty() || is_kind(choice.probe), "--{}: nothing looks at it without --probe {}",
          given.empty() ? "" : given.front(), fmt::join(optics_kinds(), ", "));
}

FirstProbe automatic(const Scan& scan, const KeepProbe& keep) {
  // Near by, the root of the mean pattern is the probe but for its own diffraction: taken back to
  // the sample with a flat phase, a disk was less like the truth (.962 after .984).
  if (scan.geometry().near_field) return {scan};
  const std::int64_t used = scan.frames_with(FrameUse::used).size(0);
  if (used >= kLeastPatterns) return searched(scan, keep);
  if (!scan.probe_given()) warn("probe: {} patterns are too few to look for one", used);
  return {scan};
}

}  // namespace

std::vector<Field> fields(ProbeChoice& choice) {
  return joined(
      {{{.name = "probe",
         .target = &choice.probe,
         .help =
             "what the solver starts from: auto (the file's, or one found from the patterns "
             "where the file has none or that one explains more), scan (the file's), zone-plate, "
             "electron, disk, gaussian (by their own options), or the path of a result or of an "
             ".npy file"}},
       fields(choice.optics)});
}

FirstProbe with_first_probe(const Scan& scan, const ProbeChoice& choice, const KeepProbe& keep) {
  require_used_optics(choice);
  if (choice.probe == "scan") return {scan};
  if (choice.probe == "auto") return automatic(scan, keep);
  const at::Tensor probe = is_kind(choice.probe)
                               ? probe_of_optics(choice.probe, choice.optics, scan)
                               : probe_of_file(choice.probe, scan);
  return {with_context("--probe", [&] { return calibrated(scan, probe); })};
}

std::optional<ProbeScore> score_of(const FirstProbe& first) {
  if (!first.found) return std::nullopt;
  const FoundProbe& found = *first.found;
  return ProbeScore{.of_file = found.of_scan,
                    .sure = found.sure,
                    .deviance = found.fit.deviance,
                    .noise = found.fit.noise,
                    .mean_pattern = found.fit.mean_pattern,
                    .seconds = first.seconds};
}

}  // namespace ptyche
