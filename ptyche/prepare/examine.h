// The doctor: what is wrong with a scan, told before any solve.
#pragma once

#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

/// All tests that need no solve, in the order in which they are to be believed: what comes first can
/// cause what comes later, so that it ends with the first finding that can be mended or that refuses
/// the scan. Looks at some hundred patterns of a large scan; held-out ones are among them. Of a
/// near-field scan, and of patterns below 32 x 32, only positions, frames, mask and values are
/// examined.
///
/// What cannot be told, by anyone: both axes flipped from the wrong sign of the defocus (conj P(-r)
/// and conj O(-r) give the same patterns), an order shifted by one on an exact raster, a linear drift
/// of the positions. docs/prepare.md has what was measured.
Diagnosis examine(const Scan& scan, const ExamineOptions& options = {});

}  // namespace ptyche
