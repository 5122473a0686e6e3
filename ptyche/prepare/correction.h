// What a correction changed, in words that a result keeps: as it was read, and as it is used.
#pragma once

#include "ptyche/core/remark.h"
#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

/// The finding as a remark: a correction where it has a remedy, else a warning or a note.
Remark remark_of(const Finding& finding);

/// The finding, whose remedy led from one scan to the other, with both in words. Looks at some of
/// the patterns where the counts were changed. Throws std::bad_optional_access without a remedy.
Finding with_words(Finding finding, const Scan& before, const Scan& after);

}  // namespace ptyche
