#include "ptyche/commands/checked_scan.h"

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/prepare/scan_rotation.h"

namespace ptyche {
namespace {

void refuse(const ReadOptions& options, const Diagnosis& diagnosis) {
  for (const Finding& finding : diagnosis.findings)
    require(finding.level != Level::refuse, "{}: {}: {}; --no-check solves it all the same",
            options.file.string(), finding.cause, finding.text);
}

}  // namespace

ExamineOptions examine_options(const ReadOptions& options) {
  ReadOptions own = options, usual;
  const std::vector<std::string> names = given(fields(own), fields(usual));
  return {.given = {names.begin(), names.end()}, .photons = options.photons};
}

Field no_check_option(bool& no_check) {
  return {.name = "no-check",
          .target = &no_check,
          .help = "no examination of the scan: nothing is corrected or refused (see info --check)"};
}

Scan checked_scan(const ReadOptions& options, bool no_check, const ProbeChoice& probe) {
  const Scan scan = read_turned_scan(options, probe);
  if (no_check) return scan;
  const Treatment treatment = treat(scan, examine_options(options));
  for (const Finding& act : treatment.done) say(remark_of(act));
  refuse(options, treatment.diagnosis);
  for (const Finding& finding : treatment.diagnosis.findings)
    say(remark_of(finding), /*shown=*/finding.level == Level::warn);
  return treatment.scan;
}

FirstProbe prepared_scan(const ReadOptions& options, bool no_check, const ProbeChoice& probe,
                         const KeepProbe& keep) {
  const Scan scan = checked_scan(options, no_check, probe);
  if (no_check) return with_first_probe(scan, probe, keep);
  return with_first_probe(scan, probe, keep, examine_options(options));
}

}  // namespace ptyche
