// Difference map and RAAR differ in three numbers.
#pragma once

#include <memory>

#include "ptyche/engine/cpu/reflect_sweep.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// A solver whose pass brings the exit waves of all patterns, which it keeps, from `how` to the
/// next, then moves object and probe to what fits them best. within_noise: see ReflectOptions.
std::unique_ptr<Solver> make_overlap_projection(const cpu::Reflection<float>& how,
                                                bool within_noise);

}  // namespace ptyche
