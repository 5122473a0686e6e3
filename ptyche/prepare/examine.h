// The doctor: what is wrong with a scan, told before any solve, and mended where it is certain.
#pragma once

#include <vector>

#include "ptyche/core/remark.h"
#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

/// All tests that need no solve, but that a wrong scale is borne out by three short ones, in the
/// order in which they are to be believed: what comes first can cause what comes later, so that it
/// ends with the first finding that can be mended or that refuses the scan. Looks at some hundred
/// patterns of a large scan; held-out ones are among them. Of a near-field scan, and of patterns
/// below 32 x 32, only positions, frames, mask and values are examined; a scan that is not said to
/// be of the near field and looks like one is refused.
///
/// What cannot be told, by anyone: both axes flipped from the wrong sign of the defocus (conj P(-r)
/// and conj O(-r) give the same patterns), an order shifted by one on an exact raster, a linear
/// drift of the positions. docs/prepare.md has what was measured.
Diagnosis examine(const Scan& scan, const ExamineOptions& options = {});

/// A scan that solvers can take.
struct Treatment {
  Scan scan;
  std::vector<Finding> done = {};  ///< what was changed, in this order
  Diagnosis diagnosis = {};        ///< what is left of the findings
};

/// Examines the scan, mends the first finding that has a remedy and begins anew, at most six times;
/// nothing is mended twice, but for hot pixels. The probe's power is calibrated anew unless the
/// file says that it is in sqrt(photon), and a probe that the file does not give is made anew. A
/// truth whose frame the positions leave is dropped. Never acts against options.given.
Treatment treat(const Scan& scan, const ExamineOptions& options = {});

/// Positions (n, 2) float64 as TurnPositions says.
at::Tensor turned_positions(const at::Tensor& positions, const TurnPositions& turn);

/// The scan with one thing mended.
Scan mended(const Scan& scan, const Remedy& remedy, const ExamineOptions& options);

// What a correction changed, in words that a result keeps.

/// The finding as a remark: a correction where it has a remedy, else a warning or a note.
Remark remark_of(const Finding& finding);

/// The finding, whose remedy led from one scan to the other, with both in words. Looks at some of
/// the patterns where the counts were changed. Throws std::bad_optional_access without a remedy.
Finding with_words(Finding finding, const Scan& before, const Scan& after);

}  // namespace ptyche
