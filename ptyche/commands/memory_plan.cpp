#include "ptyche/commands/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/core/memory.h"
#include "ptyche/core/progress.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/train/train_step.h"

namespace ptyche {
namespace {

constexpr double kComplexBytes = 8;
// Of whole commands (20 000 patterns of 32 x 32 on 5 Mpx): image, gradient, lines of variables, or
// what pictures are made of. Ten steps and changes of the slope, in 16 bits, are the history.
constexpr double kSolverCanvases = 16, kHistoryCanvases = 10;
constexpr double kPolishCanvases = 2;  // history of two passes
constexpr double kStitchCanvases = 6;  // sums of patches, and what they agree on
constexpr double kPatchesTogether_px = 1 << 22, kLinesOfPatches = 6;
constexpr double kActivations = 200;  // float32 numbers of a pixel in training, with gradients
constexpr double kTrainingBatch = 64;
constexpr double kShareOfRoom = 0.75;  // that one array may take (core/memory.h)

PlannedArray work_arrays(const ScanExtent& scan, PlannedWork work) {
  const double canvas = kComplexBytes * scan.canvas_px;
  if (work == PlannedWork::solve)
    return {"canvases of the solver", (kSolverCanvases + kHistoryCanvases) * canvas};
  if (work == PlannedWork::polish)
    return {"canvases of the polish", (kSolverCanvases + kPolishCanvases) * canvas};
  if (work == PlannedWork::solve_without_history)
    return {"canvases of the solver", kSolverCanvases * canvas};
  const double all = kComplexBytes * scan.patterns * scan.pattern_px;
  const double lines =
      kComplexBytes *
      (kPatchesTogether_px + kLinesOfPatches * std::sqrt(scan.patterns) * scan.pattern_px);
  const double patches = std::min(all, lines) + kStitchCanvases * canvas;
  if (work == PlannedWork::infer) return {"patches and image", patches};
  if (work == PlannedWork::infer_polished)
    return {"patches, image and its polish",
            std::max(patches, work_arrays(scan, PlannedWork::polish).bytes)};
  const double inputs =
      4 * scan.pattern_px * scan.patterns * static_cast<double>(stem_channels(StemOptions{}) + 1);
  return {"training and its image", std::min(inputs, kCacheBytes) +
                                        4 * scan.pattern_px * kTrainingBatch * kActivations +
                                        patches};
}

double in_memory(const std::vector<PlannedArray>& plan) {
  double sum = 0;
  for (const PlannedArray& array : plan) sum += array.on_disk ? 0 : array.bytes;
  return sum;
}

}  // namespace

std::vector<PlannedArray> memory_plan(const ScanExtent& scan, PlannedWork work, double limit) {
  const bool on_disk = scan.counts_bytes > kShareOfRoom * (limit - kProgramBytes);
  return {{"counts", scan.counts_bytes, on_disk},
          work_arrays(scan, work),
          {"the program", kProgramBytes}};
}

std::string plan_text(const std::vector<PlannedArray>& plan, double limit) {
  std::string text;
  for (const PlannedArray& array : plan)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", array.name, bytes_text(array.bytes),
                        array.on_disk ? " (on disk)" : "");
  return fmt::format("{}: {} of {} (--memory)", text, bytes_text(in_memory(plan)),
                     bytes_text(limit));
}

namespace {

/// Of the scan that was read, with its counts where they are.
std::vector<PlannedArray> plan_of(const Scan& scan, PlannedWork work, double limit) {
  const auto size = static_cast<double>(scan.pattern_size());
  const std::array<std::int64_t, 2> canvas = canvas_shape(scan);
  const ScanExtent extent{
      .patterns = static_cast<double>(scan.frames_with(FrameUse::used).size(0)),
      .pattern_px = size * size,
      .counts_bytes = static_cast<double>(scan.counts().nbytes()),
      .canvas_px = static_cast<double>(canvas[0]) * static_cast<double>(canvas[1])};
  std::vector<PlannedArray> plan = memory_plan(extent, work, limit);
  plan.front().on_disk = lies_in_file(scan.counts());
  return plan;
}

/// What the plan has in memory, if that is more than `limit`; else 0.
double beyond(double limit, const std::vector<PlannedArray>& plan) {
  const double needed = in_memory(plan);
  return std::isfinite(limit) && needed > limit ? needed : 0;
}

}  // namespace

double memory_beyond_limit(const Scan& scan, PlannedWork work) {
  const double limit = memory_limit();
  return scan.shared() ? 0 : beyond(limit, plan_of(scan, work, limit));
}

void tell_memory_plan(const Scan& scan, PlannedWork work) {
  if (scan.shared()) return;  // each rank has a plan of its own
  const double limit = memory_limit();
  const std::vector<PlannedArray> plan = plan_of(scan, work, limit);
  const std::string text = "memory: " + plan_text(plan, limit);
  plan.front().on_disk ? note("{}", text) : detail("{}", text);
  if (const double needed = beyond(limit, plan); needed > 0)
    warn(
        "memory: {} of {} have to stay in memory, so that some of it is written to disk and read "
        "again in each pass; --memory {:.1f}G would do",
        bytes_text(needed), bytes_text(limit), std::ceil(needed / 1e8) / 10);
}

}  // namespace ptyche
