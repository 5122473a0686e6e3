// Mends of a scan what is certain, one thing after another.
#pragma once

#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

/// A scan that solvers can take.
struct Treatment {
  Scan scan;
  std::vector<Finding> done = {};  ///< what was changed, in this order
  Diagnosis diagnosis = {};        ///< what is left of the findings
};

/// Examines the scan, mends the first finding that has a remedy and begins anew, at most six times;
/// nothing is mended twice, but for hot pixels. The probe's power is calibrated anew unless the file
/// says that it is in sqrt(photon), and a probe that the file does not give is made anew. A truth
/// whose frame the positions leave is dropped. Never acts against options.given.
Treatment treat(const Scan& scan, const ExamineOptions& options = {});

/// The scan with one thing mended.
Scan mended(const Scan& scan, const Remedy& remedy, const ExamineOptions& options);

}  // namespace ptyche
