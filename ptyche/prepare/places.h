// Positions by themselves: are they in object pixels at all.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "positions: unit"; "positions: no overlap".
///   probe        (modes, N, N) complex64
///   probe_given  by the file; else the pattern's size stands for the probe's
void judge_places(Diagnosis& diagnosis, const Scan& scan, bool probe_given,
                  const ExamineOptions& options);

}  // namespace ptyche
