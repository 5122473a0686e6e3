// One thing after another.
#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/examine.h"

namespace ptyche {
namespace {

constexpr int kMostTreatments = 6;
constexpr auto kRejected = static_cast<std::int64_t>(FrameUse::rejected);

/// Changes the fields; one operator for each remedy.
struct Change {
  ScanFields& fields;

  void operator()(const ChangeValues& change) const { change_counts(change); }
  void operator()(const ShiftPatterns& shift) const {
    change_counts(shift);
    fields.mask = moved(fields.mask, shift);
  }
  void operator()(const RemoveSpikes& change) const { change_counts(change); }
  void operator()(const ShiftProbe& shift) const {
    fields.probe = at::roll(fields.probe, {-shift.rows, -shift.cols}, {-2, -1});
  }
  void operator()(const ChangeMask& change) const {
    fields.mask = change.mask;
    if (change.recount)
      fields.frame_use = fields.frame_use.masked_fill(fields.frame_use.eq(kRejected), 0);
  }
  void operator()(const RejectFrames& reject) const {
    fields.frame_use = fields.frame_use.index_fill(0, reject.frames, kRejected);
  }
  void operator()(const ScalePositions& scale) const {
    const at::Tensor mean = fields.positions.mean(0);
    place_anew((fields.positions - mean) * scale.factor + mean);
  }
  void operator()(const TurnPositions& turn) const {
    place_anew(turned_positions(fields.positions, turn));
  }
  void operator()(const ShiftOrder& shift) const {
    const std::int64_t size = fields.positions.size(0), by = shift.by;
    at::Tensor positions = fields.positions.clone();
    const std::int64_t kept = size - std::abs(by), from = std::max<std::int64_t>(-by, 0);
    positions.narrow(0, from + by, kept).copy_(fields.positions.narrow(0, from, kept));
    fields.frame_use = fields.frame_use.clone();
    fields.frame_use.narrow(0, by > 0 ? 0 : size + by, std::abs(by)).fill_(kRejected);
    fields.positions = positions;
    fields.true_positions = at::Tensor();
  }

  void change_counts(const CountsChange& change) const {
    if (fields.shared)
      fields.shared = fields.shared->changed(change);
    else
      fields.counts = changed_counts(fields.counts, change);
  }
  void place_anew(const at::Tensor& positions) const {
    fields.positions = positions.contiguous();
    fields.truth = fields.true_positions = at::Tensor();
  }
};

/// The probe that goes with other counts.
void settle_probe_anew(ScanFields& fields, const ExamineOptions& options) {
  if (fields.probe_given && fields.probe_calibrated && options.photons <= 0) return;
  const at::Tensor used = at::nonzero(fields.frame_use.eq(0)).flatten();
  const at::Tensor mean = mean_pattern(fields, used);
  if (!fields.probe_given)
    fields.probe = probe_of_mean(mean, fields.mask, fields.geometry.near_field);
  fields.probe = calibrated_to(fields.probe, mean, fields.mask, options.photons);
}

bool may_be_mended(const std::vector<Finding>& done, const std::string& cause) {
  const auto times = std::ranges::count(done, cause, &Finding::cause);
  return times == 0 || (times == 1 && cause == "detector: hot pixels");
}

/// What came back after it had been mended is only said.
void only_say(Diagnosis& diagnosis) {
  for (Finding& each : diagnosis.findings) {
    if (!each.remedy) continue;
    each.level = Level::warn;
    each.text += " (not done)";
    each.remedy.reset();
  }
}

}  // namespace

at::Tensor turned_positions(const at::Tensor& positions, const TurnPositions& turn) {
  const at::Tensor mean = positions.mean(0), away = positions - mean;
  const at::Tensor row = away.select(1, 0), col = away.select(1, 1);
  const auto& m = turn.matrix;
  return at::stack({m[0][0] * row + m[0][1] * col, m[1][0] * row + m[1][1] * col}, 1) + mean;
}

Scan mended(const Scan& scan, const Remedy& remedy, const ExamineOptions& options) {
  ScanFields fields = scan.fields();
  std::visit(Change{fields}, remedy);
  const at::Tensor used = at::nonzero(fields.frame_use.eq(0)).flatten();
  require(used.size(0) >= 2, "patterns: expected at least 2 usable ones, found {} of {}",
          used.size(0), scan.frames());
  settle_probe_anew(fields, options);
  return Scan(std::move(fields));
}

Treatment treat(const Scan& scan, const ExamineOptions& options) {
  Treatment treatment{.scan = scan};
  for (int round = 0; round <= kMostTreatments; ++round) {
    treatment.diagnosis = examine(treatment.scan, options);
    const Finding* finding = treatment.diagnosis.to_mend();
    if (finding == nullptr) return treatment;
    if (round == kMostTreatments || !may_be_mended(treatment.done, finding->cause)) break;
    const Scan after = mended(treatment.scan, *finding->remedy, options);
    treatment.done.push_back(with_words(*finding, treatment.scan, after));
    treatment.scan = after;
  }
  only_say(treatment.diagnosis);
  return treatment;
}

}  // namespace ptyche
