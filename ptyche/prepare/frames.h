// Single patterns: stuck ones that repeat another, and those that are none of this scan.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "frames: all the same", "frames: repeated": bit for bit, of all patterns with light.
void judge_repeats(Diagnosis& diagnosis, const Scan& scan);

/// "frames: garbage": empty, overfull, or unlike the mean pattern; and the number "beam", the spread
/// of the totals about their neighbours.
///   drifts  the centre does, so that patterns may be unlike the mean one
void judge_frames(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns, bool drifts);

}  // namespace ptyche
