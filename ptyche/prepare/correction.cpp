// A correction in words: the scan as it was read, and as it is used.

#include <fmt/ranges.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kSomePatterns = 32;

struct Words {
  std::string before, after;
};

std::string counts_in_words(const Scan& scan) {
  const at::Tensor some = counts_of(scan, middle_frames(scan, kSomePatterns)).to(at::kDouble);
  const at::Tensor counted = some * scan.mask();
  return fmt::format("{:.4g} counts a pattern, {:.4g} at most in a pixel",
                     counted.sum({1, 2}).mean().item<double>(), counted.max().item<double>());
}

std::string mask_in_words(const Scan& scan) {
  return fmt::format("{} of {} pixels are counted", scan.mask().sum().item<std::int64_t>(),
                     scan.mask().numel());
}

std::string left_out_in_words(const Scan& scan) {
  return fmt::format("{} of {} patterns are left out", scan.frames_with(FrameUse::rejected).size(0),
                     scan.frames());
}

std::string step_in_words(const Scan& scan) {
  return fmt::format("steps of {:.4g} px", median_step_px(scan.positions()));
}

/// A rotation, after the rows were mirrored where it mirrors: (row, col) -> M (row, col).
std::string turn_in_words(const TurnPositions& turn) {
  const auto& m = turn.matrix;
  const double determinant = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  const bool mirrored = determinant < 0;
  const double sign = mirrored ? -1 : 1, scale = std::sqrt(std::abs(determinant));
  // Of a rotation by a, columns towards rows: ((cos a, sin a), (-sin a, cos a)).
  const double degrees =
      std::atan2(m[0][1] - sign * m[1][0], sign * m[0][0] + m[1][1]) * 180 / std::numbers::pi;
  std::vector<std::string> words(mirrored ? 1 : 0, "rows mirrored");
  if (std::abs(degrees) > 0.05) words.push_back(fmt::format("turned by {:.1f} degrees", degrees));
  if (std::abs(scale - 1) > 1e-6) words.push_back(fmt::format("{:.3g} times as far apart", scale));
  return fmt::format("{}", fmt::join(words, ", then "));
}

/// One operator for each remedy.
struct InWords {
  const Scan &before, &after;

  Words operator()(const ChangeValues&) const { return counts(); }
  Words operator()(const RemoveSpikes&) const { return counts(); }
  Words operator()(const ShiftPatterns& shift) const {
    const std::int64_t middle = before.pattern_size() / 2;
    return {fmt::format("zero frequency at pixel {},{}", middle + shift.rows, middle + shift.cols),
            fmt::format("at {},{}", middle, middle)};
  }
  Words operator()(const ShiftProbe& shift) const {
    return {"probe as in the file",
            fmt::format("moved by {} rows and {} columns", -shift.rows, -shift.cols)};
  }
  Words operator()(const ChangeMask&) const {
    return {mask_in_words(before), mask_in_words(after)};
  }
  Words operator()(const RejectFrames&) const {
    return {left_out_in_words(before), left_out_in_words(after)};
  }
  Words operator()(const ScalePositions&) const {
    return {step_in_words(before), step_in_words(after)};
  }
  Words operator()(const TurnPositions& turn) const { return {"as read", turn_in_words(turn)}; }
  Words operator()(const ShiftOrder& shift) const {
    return {fmt::format("pattern k at position k"),
            fmt::format("pattern k{:+} at position k", shift.by)};
  }

  Words counts() const { return {counts_in_words(before), counts_in_words(after)}; }
};

}  // namespace

Remark remark_of(const Finding& finding) {
  const Remark::Kind kind = finding.remedy                 ? Remark::Kind::correction
                            : finding.level == Level::note ? Remark::Kind::note
                                                           : Remark::Kind::warning;
  return {.kind = kind,
          .text = finding.text,
          .cause = finding.cause,
          .before = finding.before,
          .after = finding.after};
}

Finding with_words(Finding finding, const Scan& before, const Scan& after) {
  const Words words = std::visit(InWords{before, after}, finding.remedy.value());
  finding.before = words.before;
  finding.after = words.after;
  return finding;
}

}  // namespace ptyche
