#include "ptyche/data/verdict.h"

#include <fmt/format.h>

#include "ptyche/core/error.h"

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

VerdictWord verdict_word_from(const std::string& word) {
  for (const VerdictWord known : {VerdictWord::good, VerdictWord::doubtful, VerdictWord::failed})
    if (to_string(known) == word) return known;
  throw InvalidInput("expected good, doubtful or failed, found '" + word + "'");
}

std::string first_line(const Verdict& verdict) {
  return fmt::format("{}: expected error {:.0f} % of the contrast ({:.0f} to {:.0f} %)",
                     to_string(verdict.word), 100 * verdict.expected_error, 100 * verdict.low,
                     100 * verdict.high);
}

}  // namespace ptyche
