// "Did you mean ...?" for words that are not known.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

/// "; did you mean 'NEAREST'?" if one of `known` is near enough to `word` (by edit distance, or
/// because it begins with it), else nothing; to be put behind an error message.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace ptyche
