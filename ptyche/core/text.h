// Small work on texts: lists, and the word that somebody meant.
#pragma once

#include <string>
#include <vector>

namespace ptyche {

/// What stands between the separators, at least one part: "a,,b" is "a", "" and "b".
std::vector<std::string> split(const std::string& text, char separator);

/// "; did you mean 'NEAREST'?" if one of `known` is near enough to `word` (by edit distance, or
/// because it begins with it), else nothing; to be put behind an error message.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace ptyche
