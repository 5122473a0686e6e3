#include "ptyche/io/domain.h"

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

/// A reason to read counts, and what speaks against it.
std::string counts_because(const std::string& reason, const RawScan& raw) {
  if (raw.patterns_name != "diff3d") return reason;
  return reason +
         ", although diff3d means amplitude in PtychoPINN's files; if they are, "
         "--domain amplitude squares them";
}

}  // namespace

DomainChoice choose_domain(const std::string& wanted, const RawScan& raw, const ValueKind& kind) {
  if (wanted == "counts") return {Domain::counts, "--domain", false};
  if (wanted == "amplitude") return {Domain::amplitude, "--domain", false};
  require(wanted == "auto", "--domain: expected auto, counts or amplitude, found {}", wanted);
  if (raw.domain != Domain::unknown) return {raw.domain, raw.domain_reason, false};
  if (!raw.patterns.is_floating_point()) {
    return {Domain::counts, counts_because("the file's type is an integer", raw), true};
  }
  if (kind.whole)
    return {Domain::counts, counts_because("all values are whole numbers", raw), true};
  if (kind.whole_squares) {
    return {Domain::amplitude, "the squares, not the values, are whole numbers", true};
  }
  return {Domain::amplitude,
          "neither values nor squares are whole numbers, and " + raw.patterns_name +
              " means amplitude in PtychoPINN's files",
          true};
}

}  // namespace ptyche
