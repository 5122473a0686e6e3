#include "ptyche/prepare/first_probe.h"

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"

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

FirstProbe searched(const Scan& scan) {
  const Stopwatch watch;
  FoundProbe found = find_probe(scan, scan.probe_given());
  say(found);
  Scan with = found.of_scan
                  ? scan
                  : scan.with_probe(calibrate_probe(found.probe, scan.counts(), scan.mask(),
                                                    scan.frames_with(FrameUse::used), 0));
  return {std::move(with), std::move(found), watch.seconds()};
}

}  // namespace

std::vector<Field> fields(ProbeChoice& choice) {
  return {{.name = "probe",
           .target = &choice.probe,
           .help = "the first probe: auto (the file's, or one found from the patterns where it has "
                   "none or that one explains more), scan (the file's)"}};
}

FirstProbe with_first_probe(const Scan& scan, const ProbeChoice& choice) {
  if (choice.probe == "scan") return {scan};
  const bool few = scan.frames_with(FrameUse::used).size(0) < kLeastPatterns;
  if (scan.geometry().near_field || few) return {scan};
  return searched(scan);
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
