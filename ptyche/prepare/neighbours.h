// Do the patterns fit their positions: orientation, sign and scale by the shadows, order and
// strangers by the likeness of neighbours.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "positions: ..." (orientation, scale), "probe: not curved", "order: ...".
///   probe_given  by the file; else signs cannot be told
void judge_neighbours(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                      bool probe_given, const ExamineOptions& options);

}  // namespace ptyche
