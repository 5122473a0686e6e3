// Where the zero frequency is, whether it stays there, and whether the probe's far field is the mean
// pattern.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "centre: drifts": between thirds of the scan's time.
void judge_drift(Diagnosis& diagnosis, const Patterns& patterns);

/// "centre: at the corner", "centre: off"; else "probe: far field", "probe: fills the field".
///   probe        (modes, N, N) complex64
///   probe_given  by the file; else it is made of the mean pattern and says nothing
void judge_centre(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                  bool probe_given, const ExamineOptions& options);

}  // namespace ptyche
