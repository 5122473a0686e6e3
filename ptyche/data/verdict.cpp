#include "ptyche/data/verdict.h"

#include <fmt/format.h>

namespace ptyche {

std::string to_string(VerdictWord word) {
  switch (word) {
    case VerdictWord::good:
      return "good";
    case VerdictWord::doubtful:
      return "doubtful";
    default:
      return "failed";
  }
}

std::string first_line(const Verdict& verdict) {
  return fmt::format("{}: expected error {:.0f} % of the contrast ({:.0f} to {:.0f} %)",
                     to_string(verdict.word), 100 * verdict.expected_error, 100 * verdict.low,
                     100 * verdict.high);
}

}  // namespace ptyche
