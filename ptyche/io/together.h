// Several processes that read one scan, each the patterns of its own part of it. All of them do the
// same to what is common (positions, probe, mask) and ask each other only for what all patterns
// have to say: which values there are, how bright each pattern is, their mean.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "ptyche/io/pattern_values.h"
#include "ptyche/io/readers.h"

namespace ptyche {

struct ReadOptions;

/// One of the processes; the default reads alone.
struct ReadingTogether {
  std::int64_t own = 0, all = 1;
  /// Gives every process the arrays of all, by process. All of them call it in the same order.
  std::function<std::vector<at::Tensor>(const at::Tensor&)> exchange = {};
  at::Tensor owner = {};  ///< (n) int64, which process reads each pattern; see take_own_part

  bool several() const { return all > 1; }
};

/// The parts of a scan look so unlike each other that they cannot be told to be of one kind; one
/// process that reads all of it can.
class PartsDiffer : public std::runtime_error {
 public:
  PartsDiffer() : std::runtime_error("the parts of the scan are read in different ways") {}
};

/// Which of `parts` each pattern belongs to, (n) int64: the scan is cut across its longer side into
/// parts of about as many used patterns, and these again, so that the parts are compact.
///   positions  (n, 2) float64
///   used       (n) bool
at::Tensor parts_along(const at::Tensor& positions, const at::Tensor& used, std::int64_t parts);

/// Before any pattern is read: of raw.stack only those of the process's own part, which raw.part
/// names; positions stay those of all. `together` becomes one that reads alone where the format has
/// no stack, or where something has to be measured on patterns of all parts (a monitor that they
/// may follow, an electron beam's angle).
void take_own_part(RawScan& raw, const ReadOptions& options, ReadingTogether& together);

/// Throws PartsDiffer, in all processes, where the numbers of one part were narrowed as they were
/// read and those of another were not, or to something else.
void require_read_alike(const RawScan& raw, const ReadingTogether& together);

// What the processes find together; each gets the result. Alone: of its own.

/// Where all have true.
at::Tensor in_all_processes(const ReadingTogether& together, const at::Tensor& flags);
ValueSurvey of_all_processes(const ReadingTogether& together, const ValueSurvey& own);
/// The counts in the narrowest type that holds those of all.
at::Tensor of_one_type(const ReadingTogether& together, const at::Tensor& counts);
/// Of each pattern (k, ...) of the own part: (n, ...) of all patterns in their order.
at::Tensor of_all_patterns(const ReadingTogether& together, const RawScan& raw,
                           const at::Tensor& own);
/// Rows (k) int64 of the own counts that are of `frames` (m) int64 of all patterns.
at::Tensor own_rows(const ReadingTogether& together, const RawScan& raw, const at::Tensor& frames);
/// mean_pattern over `frames` (m) int64 of all patterns, whose counts (k, N, N) are the own ones.
at::Tensor mean_of_all(const ReadingTogether& together, const RawScan& raw,
                       const at::Tensor& counts, const at::Tensor& frames);

}  // namespace ptyche
