#include "ptyche/core/processor.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace ptyche {

bool processor_has_any(std::initializer_list<std::string_view> names) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;)
      if (std::ranges::find(names, flag) != names.end()) return true;
    return false;
  }
  return false;
}

}  // namespace ptyche
