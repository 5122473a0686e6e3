// What a detector does to every pattern: a mask the wrong way round, lines without counts, a
// quadrant of another gain, hot pixels; or no picture at all.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "mask: inverted": most of the light lies in pixels that it hides.
///   scan  for the counts of the hidden pixels
void judge_mask(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                const ExamineOptions& options);

/// "detector: noise only", "dead lines", "gain of a quadrant", "hot pixels".
void judge_detector(Diagnosis& diagnosis, const Patterns& patterns, const ExamineOptions& options);

}  // namespace ptyche
