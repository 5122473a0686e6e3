// ePIE and rPIE differ in their denominators only.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/engine/projections.h"

namespace ptyche {

/// Patterns whose updates are merged, unless a caller asks for another number: enough for a few
/// threads, and the image after as many passes is that of one after the other (docs/solvers.md).
inline constexpr std::int64_t kPieBatch = 8;

/// One pass over all patterns in the random order of (seed, pass). Returns the summed misfit of the
/// amplitudes.
double pie_pass(cpu::ProjectionMemory<float>& memory, const cpu::PieOptions& options,
                std::uint64_t seed, std::int64_t pass);

}  // namespace ptyche
