#include "ptyche/live/frames.h"

#include <ATen/core/grad_mode.h>

#include <limits>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/random.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/io/readers.h"
#include "ptyche/physics/canvas.h"

namespace ptyche {
namespace {

at::Tensor positions_of(const LiveFrames& frames) {
  at::Tensor positions = at::empty({static_cast<std::int64_t>(frames.size()), 2}, at::kDouble);
  auto* to = positions.data_ptr<double>();
  for (const JoinedFrame& each : frames.places) {
    require(each.metres == frames.places.front().metres,
            "positions of some patterns are in metres, of others in pixels (pattern {})",
            each.index);
    *to++ = each.row, *to++ = each.col;
  }
  return positions;
}

/// Frames of a sender may differ in type: a wider one where counts need it.
at::Tensor stacked(const std::vector<at::Tensor>& counts) {
  at::ScalarType type = counts.front().scalar_type();
  for (const at::Tensor& each : counts) type = at::promote_types(type, each.scalar_type());
  const at::Tensor& first = counts.front();
  at::Tensor all =
      at::empty({static_cast<std::int64_t>(counts.size()), first.size(0), first.size(1)}, type);
  for (std::size_t i = 0; i < counts.size(); ++i)
    all[static_cast<std::int64_t>(i)].copy_(counts[i]);
  return all;
}

RawScan raw_of(const LiveFrames& frames, const LiveBasis& basis) {
  require(frames.size() > 0, "{}: no pattern with a position came", basis.source);
  RawScan raw;
  raw.patterns = stacked(frames.counts);
  raw.positions = positions_of(frames);
  raw.positions_in_metres = frames.places.front().metres;
  raw.patterns_name = "frames";
  raw.positions_name = "positions";
  raw.probe_name = "probe";
  raw.probe = basis.probe;
  raw.probe_calibrated = basis.probe_calibrated;
  if (basis.mask.defined()) raw.mask = basis.mask.clone();
  raw.geometry = basis.geometry;
  raw.ceiling = frames.ceiling;
  raw.domain = Domain::counts;
  raw.domain_reason = "a detector sends counts";
  return raw;
}

ReadOptions named(ReadOptions options, const LiveBasis& basis) {
  options.file = basis.source;
  return options;
}

}  // namespace

LiveBasis completed(LiveBasis basis, const SeriesStart& start) {
  const auto take = [](double& known, double said) {
    if (known <= 0) known = said;
  };
  take(basis.geometry.energy_ev, start.geometry.energy_ev);
  take(basis.geometry.distance_m, start.geometry.distance_m);
  take(basis.geometry.detector_pixel_m, start.geometry.detector_pixel_m);
  take(basis.geometry.exposure_s, start.geometry.exposure_s);
  take(basis.geometry.object_pixel_m, start.geometry.object_pixel_m);
  if (!basis.mask.defined()) basis.mask = start.mask;
  if (!basis.probe.defined()) {
    basis.probe = start.probe;
    basis.probe_calibrated = start.probe_calibrated;
  }
  return basis;
}

std::int64_t bytes_of_round(const at::Tensor& counts) {
  return static_cast<std::int64_t>(2 * counts.nbytes()) +
         counts.numel() * static_cast<std::int64_t>(sizeof(float));
}

std::vector<JoinedFrame> last_of(std::vector<JoinedFrame> places, std::int64_t most) {
  const auto spare = static_cast<std::int64_t>(places.size()) - most;
  if (spare > 0) places.erase(places.begin(), places.begin() + spare);
  return places;
}

LiveFrames frames_of(const Joiner& joiner, const std::vector<JoinedFrame>& places) {
  LiveFrames frames{.places = places, .counts = {}, .ceiling = joiner.ceiling()};
  for (const JoinedFrame& each : places) frames.counts.push_back(joiner.store().frame(each.number));
  return frames;
}

namespace {

/// By the sign alone: the middle about which a scan's positions are mirrored is not known while it
/// runs, and the whole is to lie where its parts lie.
Scan mirrored(const Scan& scan, const ReadOptions& options) {
  if (!options.flip_x && !options.flip_y) return scan;
  const at::Tensor sign =
      at::tensor({options.flip_y ? -1.0 : 1.0, options.flip_x ? -1.0 : 1.0}, at::kDouble);
  return scan.with_positions(scan.positions() * sign);
}

ReadOptions unmirrored(const ReadOptions& options, const LiveBasis& basis) {
  ReadOptions plain = named(options, basis);
  plain.flip_x = plain.flip_y = false;
  return plain;
}

/// Pixels at the type's largest value are gaps of the detector. Of one pattern alone a reader does
/// not say so; a stream of single ones must not take them for photons.
void mask_gaps_of_one(RawScan& raw) {
  if (raw.patterns.size(0) != 1 || raw.ceiling <= 0) return;
  const at::Tensor seen = raw.patterns[0].to(at::kDouble).lt(raw.ceiling);
  if (seen.all().item<bool>()) return;
  raw.mask = raw.mask.defined() ? raw.mask.logical_and(seen) : seen;
}

}  // namespace

Scan whole_scan(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options) {
  return mirrored(scan_of(raw_of(frames, basis), unmirrored(options, basis)), options);
}

Scan part_of_scan(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options) {
  const Silence silence;
  ReadOptions plain = unmirrored(options, basis);
  plain.hold_out = 0.0;
  plain.photons = basis.probe_calibrated ? 0 : options.photons;
  RawScan raw = raw_of(frames, basis);
  mask_gaps_of_one(raw);
  return mirrored(scan_of(std::move(raw), plain, ScanShare::part), options);
}

bool is_held_out(std::uint64_t seed, std::int64_t index) {
  RandomStream stream(seed, Purpose::live_hold_out, static_cast<std::uint64_t>(index));
  return stream.uniform() < kLiveHoldOut;
}

Scan judged_part(const LiveFrames& frames, const LiveBasis& basis, const ReadOptions& options,
                 std::uint64_t seed) {
  const Scan scan = part_of_scan(frames, basis, options);
  at::Tensor use = at::zeros({scan.frames()}, at::kByte);
  const at::Tensor sums = scan.counts().sum({1, 2}, false, at::kDouble);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    if (sums[row].item<double>() <= 0)
      use[row] = static_cast<int>(FrameUse::rejected);
    else if (is_held_out(seed, frames.places[i].index))
      use[row] = static_cast<int>(FrameUse::held_out);
  }
  return scan.with_frame_use(use);
}

namespace {

constexpr double kSeenShare = 0.9;

/// The held-out patterns whose probe falls on pixels that the image shows, but for a tenth.
at::Tensor judges(const Reconstruction& image, const Scan& scan) {
  const at::Tensor frames = scan.frames_with(FrameUse::held_out);
  const std::int64_t size = scan.pattern_size();
  const at::Tensor origin = at::tensor({image.origin_row, image.origin_col}, at::kLong);
  const at::Tensor corners =
      (scan.positions().index_select(0, frames).round() - origin - size / 2).to(at::kDouble);
  const at::Tensor most = at::tensor({image.rows() - size, image.cols() - size}, at::kLong);
  const at::Tensor inside =
      at::nonzero(corners.ge(0).logical_and(corners.le(most)).all(1)).flatten();
  if (inside.numel() == 0) return inside;
  const at::Tensor lit = image.coverage.gt(kLitToLearn).to(at::kFloat);
  const at::Tensor light = mode_power(scan.probe());
  const at::Tensor seen =
      (extract_patches(lit, corners.index_select(0, inside), size) * light).sum({1, 2}) /
      light.sum();
  const at::Tensor good = at::nonzero(seen.gt(kSeenShare)).flatten();
  return frames.index_select(0, inside.index_select(0, good));
}

}  // namespace

double live_deviance(const Reconstruction& image, const Scan& scan) {
  const at::NoGradGuard no_grad;
  const at::Tensor frames = judges(image, scan);
  if (frames.numel() < kFewestJudges) return std::numeric_limits<double>::quiet_NaN();
  return data_fit(image, scan, frames, /*use_mask=*/true).deviance_per_photon;
}

}  // namespace ptyche
