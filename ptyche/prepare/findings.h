// What is wrong with a scan: one sentence each, and, where it can be mended, how.
#pragma once

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ptyche/data/counts_change.h"

namespace ptyche {

/// What a user says of how positions lie against the detector: nothing turns them against it.
const std::vector<std::string>& axis_options();

enum class Level {
  refuse,  ///< solving makes no sense
  mend,    ///< certain, and it is known what to change
  warn,    ///< likely, or certain and nothing can be done about it
  note,    ///< no alarm
};
std::string to_string(Level level);

// Remedies: what `treat` changes.

/// Another mask, (N, N) bool; `recount` takes back the frames that were rejected under the old one.
struct ChangeMask {
  at::Tensor mask;
  bool recount = false;
};

/// Frames (k) int64 that are not to be used for anything.
struct RejectFrames {
  at::Tensor frames;
};

/// Positions times a factor about their mean.
struct ScalePositions {
  double factor = 1;
};

/// Positions r -> M r about their mean, M a signed permutation (row, col), or a multiple of one.
struct TurnPositions {
  double matrix[2][2] = {{1, 0}, {0, 1}};
};

/// The probe moved up and to the left by whole pixels, around the edge.
struct ShiftProbe {
  std::int64_t rows = 0, cols = 0;
};

/// Pattern k + by belongs to position k; patterns for which none is left are rejected.
struct ShiftOrder {
  std::int64_t by = 0;
};

using Remedy = std::variant<ChangeValues, ShiftPatterns, RemoveSpikes, ChangeMask, RejectFrames,
                            ScalePositions, TurnPositions, ShiftProbe, ShiftOrder>;

struct Finding {
  Level level = Level::note;
  std::string cause;  ///< short and stable: "values: amplitudes"
  std::string text;   ///< one sentence with its evidence, and which option says otherwise
  std::optional<Remedy> remedy = {};    ///< with the level `mend`, and with no other
  std::string before = {}, after = {};  ///< of the scan, once the remedy was applied, in words
};

/// How a scan is examined and treated.
struct ExamineOptions {
  std::set<std::string> given =
      {};              ///< names of the options that the user gave: never acted against
  double photons = 0;  ///< of the calibration of a treated scan's probe, see ReadOptions::photons
};

/// What was found, in the order in which it is to be believed, and the numbers by which.
struct Diagnosis {
  std::vector<Finding> findings = {};
  std::map<std::string, double> numbers = {};

  /// Whether there is a finding whose cause begins with `cause`.
  bool has(const std::string& cause) const;
  bool has(Level level) const;
  /// The first finding that has a remedy; nullptr where none has.
  const Finding* to_mend() const;
  /// Whether later tests would only see what an earlier finding causes.
  bool is_final() const { return has(Level::refuse) || to_mend() != nullptr; }

  void say(Level level, const std::string& cause, const std::string& text);
  /// A finding with a remedy; a warning without one where the user gave one of `options`.
  void mend(const std::string& cause, const std::string& text, Remedy remedy,
            const ExamineOptions& how, const std::vector<std::string>& options);
};

}  // namespace ptyche
