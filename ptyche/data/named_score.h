// One number with the name it has in a file and what it means.
#pragma once

#include <string>

namespace ptyche {

struct NamedScore {
  std::string name;  ///< e.g. "held_out.r_factor"
  double value;
  std::string meaning;  ///< plain words, unit included
  /// Empty: a score of the result. Else this is what that guess, which resolves little or nothing,
  /// gets for the last score before it that has none.
  std::string predictor = {};
};

}  // namespace ptyche
