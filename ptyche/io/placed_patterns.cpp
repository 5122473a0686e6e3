#include "ptyche/io/placed_patterns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/far_patterns.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/prepare.h"
#include "ptyche/io/units.h"

namespace ptyche {
namespace {

/// So many patterns at 0,0 are no coincidence.
constexpr std::int64_t kAtZero = 3;
/// Of an image, over what its parts light: from there on, and from so many pixels on, parts are to
/// be solved one by one. A solver takes 200 bytes a pixel.
constexpr double kMostlyEmpty = 10, kLargeImage_px = 4e6;
/// Of a pattern's window: the shorter side of a part of its own.
constexpr double kLeastSideOfPart = 0.02;
/// Without known lengths a pattern's window is taken for so many steps.
constexpr double kStepsOfAWindow = 100;

/// The first ten.
std::string listed(const at::Tensor& numbers) {
  const at::Tensor some = numbers.slice(0, 0, 10).contiguous();
  const auto* first = some.const_data_ptr<std::int64_t>();
  const std::int64_t more = numbers.size(0) - some.size(0);
  return fmt::format("{}{}", fmt::join(first, first + some.size(0), ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

/// How many patterns share the exact place of each, (n) int64.
at::Tensor shared_by(const at::Tensor& positions) {
  const auto [places, inverse, counts] =
      at::unique_dim(positions.contiguous(), 0, /*sorted=*/true, /*return_inverse=*/true,
                     /*return_counts=*/true);
  return counts.index_select(0, inverse.flatten());
}

/// Patterns at 0,0 where that is no place of the scan, (n) bool.
at::Tensor not_read(const at::Tensor& positions) {
  const at::Tensor zero = positions.eq(0).all(1);
  const auto count = zero.sum().item<std::int64_t>();
  if (count < kAtZero || count == positions.size(0)) return at::zeros_like(zero);
  const at::Tensor others = positions.index_select(0, at::nonzero(zero.logical_not()).flatten());
  const bool usual = shared_by(others).max().item<std::int64_t>() >= count;
  return usual ? at::zeros_like(zero) : zero;
}

/// The side of a pattern's window on the object in the unit of the positions; 0 = not known. It is
/// the same whatever part of the detector is kept.
double reach_of(const RawScan& raw, const ReadOptions& options) {
  const std::int64_t size = std::max(raw.rows(), raw.cols());
  if (!raw.positions_in_metres)
    return static_cast<double>(raw.probe.defined() ? std::min(raw.probe.size(1), size) : size);
  Geometry geometry = raw.geometry;
  if (options.voltage_v > 0)
    geometry.energy_ev = photon_energy_ev(electron_wavelength_m(options.voltage_v));
  apply_geometry_options(geometry, options, size);
  if (geometry.has_object_pixel()) return geometry.object_pixel_m * static_cast<double>(size);
  return kStepsOfAWindow * median_step_px(raw.positions);
}

/// Pixels of the image around some patterns, whose windows have `size` pixels and the side `reach`.
double image_px(const at::Tensor& positions, double reach, double size) {
  const at::Tensor extent = (positions.amax(0) - positions.amin(0)) / reach * size + size;
  return extent.prod().item<double>();
}

/// Whether a part goes on in both directions, as a line of a scan in a wrong unit does not.
bool is_area(const at::Tensor& positions, const at::Tensor& part, double reach) {
  const at::Tensor places = positions.index_select(0, part);
  return (places.amax(0) - places.amin(0)).min().item<double>() > kLeastSideOfPart * reach;
}

/// Leaves patterns out and knows what the file's numbers of those are that are left.
class Placing {
 public:
  Placing(RawScan& raw, const ReadOptions& options) : raw_(raw), options_(options) {
    const bool counted_anew = !options.frames.empty() && !raw.chosen.defined();
    numbers_ = raw.chosen.defined() ? raw.chosen : at::arange(raw.frames(), at::kLong);
    may_offer_ = !counted_anew;
  }

  /// The patterns with a flag; `why` follows "{} of {} patterns".
  void leave_out(const at::Tensor& flags, const std::string& why) {
    const at::Tensor out = at::nonzero(flags).flatten();
    if (out.size(0) == 0) return;
    const at::Tensor kept = at::nonzero(flags.logical_not()).flatten();
    require(kept.size(0) >= 2,
            "{}: expected at least 2 patterns that have a position, found {} of {}",
            raw_.positions_name, kept.size(0), raw_.frames());
    warn("{}: {} of {} patterns {} ({}): they are left out", raw_.positions_name, out.size(0),
         raw_.frames(), why, listed(numbers_.index_select(0, out)));
    raw_.keep(kept);
    numbers_ = numbers_.index_select(0, kept);
  }

  void leave_out_far() {
    const double reach = reach_of(raw_, options_);
    if (!(reach > 0) || !std::isfinite(reach)) return;
    const at::Tensor far = far_patterns(parts_without_overlap(raw_.positions, reach));
    leave_out(at::zeros({raw_.frames()}, at::kBool).index_fill_(0, far, true),
              "lie so far from all others that they share no pixel of the object with them");
    refuse_parts_far_apart(parts_without_overlap(raw_.positions, reach), reach);
  }

 private:
  /// Where the parts lie so far apart that nearly all of the image would be empty.
  void refuse_parts_far_apart(const std::vector<at::Tensor>& parts, double reach) const {
    const auto most = static_cast<std::size_t>(1 / kFewFarAway);
    const bool scanned = std::ranges::all_of(
        parts, [&](const at::Tensor& part) { return is_area(raw_.positions, part, reach); });
    if (parts.size() < 2 || parts.size() > most || !scanned) return;
    const auto size = static_cast<double>(std::max(raw_.rows(), raw_.cols()));
    const double all = image_px(raw_.positions, reach, size);
    double lit = 0;
    for (const at::Tensor& part : parts)
      lit += image_px(raw_.positions.index_select(0, part), reach, size);
    require(all <= kLargeImage_px || all <= kMostlyEmpty * lit,
            "{}: expected one scan, found {} parts so far apart that no pattern of one shares a "
            "pixel of the object with the others: the image of all would have {:.2g} million "
            "pixels, most of them empty; solve them one by one ({})",
            raw_.positions_name, parts.size(), all / 1e6, [&] { return offers(parts); });
  }

  /// The --frames of each part.
  std::string offers(const std::vector<at::Tensor>& parts) const {
    std::string text;
    for (const at::Tensor& part : parts) {
      const std::string ranges = frames_text(numbers_.index_select(0, part));
      if (ranges.empty() || !may_offer_) return "--frames";
      text += (text.empty() ? "--frames " : ", --frames ") + ranges;
    }
    return text;
  }

  RawScan& raw_;
  const ReadOptions& options_;
  at::Tensor numbers_;  // of the patterns, in the file
  bool may_offer_ = false;
};

}  // namespace

void leave_out_unplaced(RawScan& raw, const ReadOptions& options) {
  Placing placing(raw, options);
  placing.leave_out(at::isfinite(raw.positions).all(1).logical_not(), "have no position");
  if (raw.positions_name.starts_with("raster")) return;
  placing.leave_out(not_read(raw.positions), "stand at exactly 0,0, where a motor was not read");
  placing.leave_out_far();
}

std::string frames_text(const at::Tensor& numbers) {
  const std::int64_t count = numbers.size(0);
  if (count == 0) return "";
  const at::Tensor whole = numbers.contiguous();
  const auto* number = whole.const_data_ptr<std::int64_t>();
  const std::int64_t step = count > 1 ? number[1] - number[0] : 1;
  bool regular = step > 1;
  std::vector<std::string> ranges;
  for (std::int64_t first = 0, i = 0; i < count; ++i) {
    regular = regular && (i == 0 || number[i] - number[i - 1] == step);
    if (i + 1 < count && number[i + 1] == number[i] + 1) continue;
    ranges.push_back(fmt::format("{}:{}", number[first], number[i] + 1));
    first = i + 1;
  }
  if (regular) return fmt::format("{}:{}:{}", number[0], number[count - 1] + 1, step);
  return ranges.size() > kMostRanges ? "" : fmt::format("{}", fmt::join(ranges, ","));
}

}  // namespace ptyche
