#include "ptyche/commands/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ptyche/commands/memory_plan.h"
#include "ptyche/core/memory.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/io/prepare.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

std::string percent(const std::optional<double>& share, const char* over) {
  return share ? fmt::format("{:.1f} % ({})", 100 * *share, over) : "none to compare";
}

constexpr std::int64_t kChunk = 256;

struct CountFacts {
  double mean_per_pattern = 0, largest = 0, zero_share = 0;
};

CountFacts count_facts(const Scan& scan) {
  const at::Tensor used = scan.frames_with(FrameUse::used), mask = mask_in_fft_order(scan);
  CountFacts facts;
  for (std::int64_t first = 0; first < used.size(0); first += kChunk) {
    const at::Tensor counts =
        counts_in_fft_order(scan, used.slice(0, first, first + kChunk)).mul_(mask);
    facts.mean_per_pattern += counts.sum(at::kDouble).item<double>();
    facts.largest = std::max(facts.largest, counts.max().item<double>());
    facts.zero_share +=
        static_cast<double>(counts.eq(0).logical_and_(mask).sum().item<std::int64_t>());
  }
  const auto frames = static_cast<double>(used.size(0));
  facts.mean_per_pattern /= frames;
  facts.zero_share /= frames * mask.sum().item<double>();
  return facts;
}

std::string range_of(const at::Tensor& values) {
  return fmt::format("{:.1f} .. {:.1f}", values.min().item<double>(), values.max().item<double>());
}

/// What is said of a scan: counts of the patterns that were read, positions of all.
struct Described {
  const Scan& scan;
  at::Tensor positions;
  std::int64_t frames() const { return positions.size(0); }
  bool whole() const { return frames() == scan.frames(); }
};

/// Rows and columns of the canvas. Positions of rejected patterns do not count where they are
/// known.
std::array<std::int64_t, 2> canvas_of(const Described& one) {
  if (one.whole()) return canvas_shape(one.scan);
  const at::Tensor extent = one.positions.amax(0) - one.positions.amin(0);
  const auto length = [&](int axis) {
    return static_cast<std::int64_t>(extent[axis].item<double>()) + one.scan.pattern_size() + 2;
  };
  return {length(0), length(1)};
}

ScanExtent extent_of(const Described& one, const std::array<std::int64_t, 2>& canvas) {
  const Scan& scan = one.scan;
  const auto size = static_cast<double>(scan.pattern_size());
  const auto frames = static_cast<double>(one.frames());
  return {.patterns =
              one.whole() ? static_cast<double>(scan.frames_with(FrameUse::used).size(0)) : frames,
          .pattern_px = size * size,
          .counts_bytes = static_cast<double>(scan.counts().nbytes()) /
                          static_cast<double>(scan.frames()) * frames,
          .canvas_px = static_cast<double>(canvas[0]) * static_cast<double>(canvas[1])};
}

/// What each kind of work takes.
std::vector<Fact> memory_facts(const ScanExtent& scan) {
  const double limit = memory_limit();
  std::vector<Fact> facts;
  for (const auto& [name, work] : {std::pair{"memory to solve", PlannedWork::solve},
                                   std::pair{"memory to infer", PlannedWork::infer_polished},
                                   std::pair{"memory to train", PlannedWork::train}})
    facts.push_back({name, plan_text(memory_plan(scan, work, limit), limit)});
  return facts;
}

std::vector<Fact> facts_of(const Described& one) {
  const Scan& scan = one.scan;
  const CountFacts counts = count_facts(scan);
  const double diameter = probe_diameter_px(scan.probe()), step = median_step_px(one.positions);
  const std::array<std::int64_t, 2> canvas = canvas_of(one);
  const double pixel = scan.geometry().object_pixel_m;
  const bool given = scan.fields().probe_given;
  const std::string of_some = one.whole() ? "" : fmt::format(" (of {} patterns)", scan.frames());
  std::vector<Fact> facts{
      {"content", "scan"},
      {"patterns", fmt::format("{} of {} x {} px, {}", one.frames(), scan.pattern_size(),
                               scan.pattern_size(), type_name(scan.counts().scalar_type()))},
      {"rejected", one.whole() ? fmt::format("{}", scan.frames_with(FrameUse::rejected).size(0))
                               : "not looked for (--check reads all patterns)"},
      {"counts per pattern", fmt::format("{:.0f} in the mean{}", counts.mean_per_pattern, of_some)},
      {"largest count", fmt::format("{:.0f}{}", counts.largest, of_some)},
      {"pixels without counts", fmt::format("{:.1f} %{}", 100 * counts.zero_share, of_some)},
      {"masked pixels", fmt::format("{}", scan.mask().logical_not().sum().item<std::int64_t>())},
      {"rows", range_of(one.positions.select(1, 0)) + " px"},
      {"columns", range_of(one.positions.select(1, 1)) + " px"},
      {"object", fmt::format("{} px", fmt::join(canvas, " x "))},
      {"object pixel", pixel > 0 ? fmt::format("{:.4g} nm", pixel * 1e9) : "not known"},
      {"probe",
       given ? fmt::format("{} mode{}, diameter {:.1f} px (90 % of its power)",
                           scan.probe().size(0), scan.probe().size(0) == 1 ? "" : "s", diameter)
             : "none in the file (a solve finds one)"},
      {"median step", fmt::format("{:.2f} px", step)},
      {"overlap", given ? fmt::format("{:.0f} % (1 - step / diameter)",
                                      100 * std::max(0.0, 1 - step / diameter))
                        : "not known without a probe"},
      {"dose",
       fmt::format("{:.1f} photons per object pixel", counts.mean_per_pattern / (step * step))},
      {"truth", scan.truth().defined() ? "in the file" : "none"},
  };
  for (Fact& fact : memory_facts(extent_of(one, canvas))) facts.push_back(std::move(fact));
  return facts;
}

}  // namespace

std::vector<Fact> describe(const Scan& scan) { return facts_of({scan, scan.positions()}); }

std::vector<Fact> describe(const ScanSample& sample) {
  std::vector<Fact> facts = facts_of({sample.scan, sample.positions});
  facts.push_back({"fingerprint", sample.fingerprint});
  return facts;
}

std::vector<Fact> describe_groups(const Scan& scan, const FixedGroupOptions& options) {
  const at::Tensor groups = fixed_groups(scan, options);
  const double diameter = probe_diameter_px(scan.probe());
  const GroupOverlap overlap = group_overlap(scan.positions(), groups, diameter);
  const double visits = visits_per_epoch(groups_of(groups, options.seed));
  return {
      {"groups", fmt::format("({}, {}) patterns of ({}, {}) px", groups.size(0), groups.size(1),
                             scan.pattern_size(), scan.pattern_size())},
      {"patterns in groups", fmt::format("{:.0f} of {}, each in {:.2f} groups in the mean",
                                         static_cast<double>(groups.numel()) / visits,
                                         scan.frames_with(FrameUse::used).size(0), visits)},
      {"overlap in groups", percent(overlap.in_groups, "pairs; area of discs of that diameter")},
      {"overlap of neighbours",
       percent(overlap.of_neighbours, "of each pattern with the 6 nearest")},
      {"overlap of groups", percent(overlap.of_groups, "centres, of each with the 6 nearest")},
  };
}

}  // namespace ptyche
