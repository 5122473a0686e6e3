#include "ptyche/io/domain.h"

#include "ptyche/core/error.h"

namespace ptyche {

DomainChoice choose_domain(const std::string& wanted, const RawScan& raw, const ValueKind& kind) {
  if (wanted == "counts") return {Domain::counts, "--domain", false};
  if (wanted == "amplitude") return {Domain::amplitude, "--domain", false};
  require(wanted == "auto", "--domain: expected auto, counts or amplitude, found {}", wanted);
  if (raw.domain != Domain::unknown) return {raw.domain, raw.domain_reason, false};
  if (!raw.patterns.is_floating_point()) {
    return {Domain::counts, "the file's type is an integer", true};
  }
  if (kind.whole) return {Domain::counts, "all values are whole numbers", true};
  if (kind.whole_squares) {
    return {Domain::amplitude, "the squares, not the values, are whole numbers", true};
  }
  return {Domain::amplitude,
          "neither values nor squares are whole numbers, and " + raw.patterns_name +
              " means amplitude in PtychoPINN's files",
          true};
}

}  // namespace ptyche
