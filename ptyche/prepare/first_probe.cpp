#include "ptyche/prepare/first_probe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/hdf5.h"
#include "ptyche/io/numpy.h"
#include "ptyche/io/readers.h"

namespace ptyche {
namespace {

std::string certainty(const FoundProbe& found) {
  if (found.sure) return "";
  return found.fit.tells() ? "; not sure: little of the patterns is explained"
                           : "; not sure: too few photons to tell";
}

void say(const FoundProbe& found) {
  note(
      "probe: {}{} (held-out deviance {:.4g} per photon; mean pattern {:.4g}, photon noise {:.4g})",
      found.of_scan ? "the file's" : "found from the patterns, start " + found.what,
      certainty(found), found.fit.deviance, found.fit.mean_pattern, found.fit.noise);
}

Scan calibrated(const Scan& scan, const at::Tensor& probe) {
  return scan.with_probe(
      calibrate_probe(probe, scan.counts(), scan.mask(), scan.frames_with(FrameUse::used), 0));
}

/// The file's own photons stay where its probe does.
FirstProbe searched(const Scan& scan) {
  const Stopwatch watch;
  FoundProbe found = find_probe(scan, scan.probe_given());
  say(found);
  Scan with = found.of_scan ? scan : calibrated(scan, found.probe);
  return {std::move(with), std::move(found), watch.seconds()};
}

bool is_kind(const std::string& word) {
  return std::ranges::find(optics_kinds(), word) != optics_kinds().end();
}

/// Of an .npy file, a result in the product's layout or a model.
at::Tensor probe_of_file(const std::filesystem::path& file) {
  if (!is_hdf5(file)) return as_probe(read_npy_file(file).values, file.string());
  const Hdf5File opened = Hdf5File::open(file);
  for (const char* name : {"probe", "ptyche_model/probe"})
    if (opened.has(name)) return as_probe(opened.read(name).values, file.string() + ": " + name);
  throw InvalidInput(file.string() + ": expected a dataset probe, found none");
}

/// Throws InvalidInput for numbers of an instrument that nothing looks at.
void require_used_optics(ProbeChoice choice) {
  Optics usual;
  const std::vector<std::string> given = changed(fields(choice.optics), fields(usual));
  require(given.empty() || is_kind(choice.probe), "--{}: nothing looks at it without --probe {}",
          given.empty() ? "" : given.front(), fmt::join(optics_kinds(), ", "));
}

FirstProbe automatic(const Scan& scan) {
  // Near by, the root of the mean pattern is the probe but for its own diffraction: taken back to
  // the sample with a flat phase, a disk was less like the truth (.962 after .984).
  if (scan.geometry().near_field) return {scan};
  const std::int64_t used = scan.frames_with(FrameUse::used).size(0);
  if (used >= kLeastPatterns) return searched(scan);
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
             "electron, disk, gaussian (by the numbers below), or the path of a result or of an "
             ".npy file"}},
       fields(choice.optics)});
}

FirstProbe with_first_probe(const Scan& scan, const ProbeChoice& choice) {
  require_used_optics(choice);
  if (choice.probe == "scan") return {scan};
  if (choice.probe == "auto") return automatic(scan);
  const at::Tensor probe = is_kind(choice.probe)
                               ? probe_of_optics(choice.probe, choice.optics, scan)
                               : probe_of_file(choice.probe);
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
