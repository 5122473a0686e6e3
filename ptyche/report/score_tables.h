// Scores as tables, one for each group of names.
#pragma once

#include <string>
#include <vector>

#include "ptyche/data/scores.h"

namespace ptyche {

/// One HTML table (name, value, meaning) for each group of scores, in the order given; the group is
/// the name up to its first dot (none: one table without a caption). What trivial predictors get
/// stands behind the meaning of the score beside which they belong. Empty where there are no
/// scores.
std::string score_tables(const std::vector<NamedScore>& scores);

}  // namespace ptyche
