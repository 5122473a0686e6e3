#include "ptyche/data/trust.h"

#include <fmt/format.h>

namespace ptyche {

std::string first_line(const Trust& trust) {
  return fmt::format(
      "expected error {:.0f} % of the contrast; unlike what the network knows: {:.2f} (alarm above "
      "1)",
      100 * trust.expected_error, trust.unlike);
}

}  // namespace ptyche
