// ePIE and rPIE differ in their denominators only.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/engine/cpu/pie_sweep.h"
#include "ptyche/solve/projection.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// Patterns whose updates are merged, unless a caller asks for another number: enough for a few
/// threads, and the image after as many passes is that of one after the other (docs/solvers.md).
inline constexpr std::int64_t kPieBatch = 8;

/// One pass over all patterns in the random order of (seed, pass). Returns the summed misfit of the
/// amplitudes.
double pie_pass(cpu::ProjectionMemory<float>& memory, const cpu::PieOptions& options,
                std::uint64_t seed, std::int64_t pass);

/// A solver that makes such passes with both steps falling towards the link's end, and with the
/// momentum of the options, 0 unless given: every hundred patterns or so object and probe go on by
/// that share of their running change (mPIE).
std::unique_ptr<Solver> make_pie(const cpu::PieOptions& options);

}  // namespace ptyche
