// When a run may end before its scan does.
#pragma once

#include <string>
#include <vector>

#include "ptyche/live/board.h"

namespace ptyche {

struct StopRule {
  enum class Kind { never, frc, deviance, plateau };
  Kind kind = Kind::never;
  double value = 0;
};

/// "" (never), frc=X, deviance=X or plateau. Throws InvalidInput for other words.
StopRule stop_rule(const std::string& text);

/// Whether the curve says that more frames are not needed, in words; empty = they are.
std::string reached(const StopRule& rule, const std::vector<LivePoint>& points);

}  // namespace ptyche
