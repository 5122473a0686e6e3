// scores.json: all measured numbers under their names.
#pragma once

#include <string>

#include "ptyche/data/scores.h"

namespace ptyche {

/// One JSON object, numbers under the names of named_scores ("held_out.r_factor": 0.08, ...; null
/// for a number that is not finite), and "meaning", an object with a sentence for each name.
std::string scores_json(const Scores& scores);

/// The same for numbers without scores. `more` is a JSON object whose members stand before
/// "meaning"; empty = none.
std::string scores_json(const std::vector<NamedScore>& scores, const std::string& more = "");

}  // namespace ptyche
