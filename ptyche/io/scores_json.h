// scores.json: all measured numbers under their names.
#pragma once

#include <string>

#include "ptyche/data/scores.h"

namespace ptyche {

/// One JSON object, numbers under the names of named_scores ("held_out.r_factor": 0.08, ...; null
/// for a number that is not finite), and "meaning", an object with a sentence for each name.
std::string scores_json(const Scores& scores);

}  // namespace ptyche
