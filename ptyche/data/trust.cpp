#include "ptyche/data/trust.h"

#include <fmt/format.h>

#include <cmath>

namespace ptyche {

std::string first_line(const Trust& trust) {
  const std::string unlike =
      fmt::format("unlike what the network knows: {:.2f} (alarm above 1)", trust.unlike);
  if (!std::isfinite(trust.expected_error)) return unlike;
  return fmt::format("expected error {:.0f} % of the contrast; {}", 100 * trust.expected_error,
                     unlike);
}

}  // namespace ptyche
