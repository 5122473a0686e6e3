// Lists written as text.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace ptyche {

/// What stands between the separators, at least one part: "a,,b" is "a", "" and "b".
inline std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t end = std::min(text.find(separator, first), text.size());
    parts.push_back(text.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

}  // namespace ptyche
