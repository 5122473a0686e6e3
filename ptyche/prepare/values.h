// Are the values of the patterns photon counts, or roots, squares or logarithms of them; are they
// cut off or wrapped.
#pragma once

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

/// "values: amplitudes", "counts squared", "logarithms", "scaled counts", "no whole counts": photons
/// come in whole numbers, so that under the right transform the weak values are whole multiples of
/// the smallest.
void judge_transform(Diagnosis& diagnosis, const Patterns& patterns, const ExamineOptions& options);

/// "values: clipped", "values: wrapped"; of whole counts only.
void judge_limits(Diagnosis& diagnosis, const Patterns& patterns);

}  // namespace ptyche
