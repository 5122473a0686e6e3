// Counts or amplitudes? The values decide where the file does not say.
#pragma once

#include <string>

#include "ptyche/io/raw_scan.h"

namespace ptyche {

/// What the values of all counted pixels have in common.
struct ValueKind {
  bool whole = true;  ///< all are whole numbers
  bool whole_squares =
      true;  ///< all squares lie within 1e-3 (or float32's rounding) of whole numbers
};

struct DomainChoice {
  Domain domain = Domain::counts;
  std::string reason;
  bool guessed = false;  ///< neither the user nor the file said so
};

/// wanted  auto | counts | amplitude. Throws InvalidInput for another word.
/// A guess is: whole numbers are counts; squares that are whole numbers, or any other fractions,
/// are amplitudes, as PtychoPINN's keys mean them.
DomainChoice choose_domain(const std::string& wanted, const RawScan& raw, const ValueKind& kind);

}  // namespace ptyche
