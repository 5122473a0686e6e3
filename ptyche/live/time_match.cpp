#include "ptyche/live/time_match.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ptyche {

bool TimeMatch::add_sample(int axis, double time, double value) {
  std::vector<Sample>& samples = axes_[static_cast<std::size_t>(axis)];
  if (!std::isfinite(time) || !std::isfinite(value)) return false;
  if (!samples.empty() && time <= samples.back().time)
    return time == samples.back().time && value == samples.back().value;  // said again
  if (samples.size() >= kMostSamples) return false;
  samples.push_back({time, value});
  return true;
}

bool TimeMatch::value_at(const std::vector<Sample>& samples, double time, double& value) const {
  const auto after = std::ranges::lower_bound(samples, time, {}, &Sample::time);
  if (after != samples.end() && after->time == time) return value = after->value, true;
  const bool has_before = after != samples.begin(), has_after = after != samples.end();
  const double since = has_before ? time - std::prev(after)->time : HUGE_VAL;
  const double until = has_after ? after->time - time : HUGE_VAL;
  if (between_ == Between::linear) {
    if (since + until > gap_s_) return false;
    const double before = std::prev(after)->value;
    return value = before + (after->value - before) * since / (since + until), true;
  }
  const bool earlier = between_ == Between::before || since <= until;
  if (!((earlier ? since : until) <= gap_s_)) return false;
  value = earlier ? std::prev(after)->value : after->value;
  return true;
}

std::vector<TimedPosition> TimeMatch::found_before(double limit) {
  std::vector<TimedPosition> found;
  const auto last = waiting_.upper_bound(limit);
  for (auto each = waiting_.begin(); each != last; ++each) {
    TimedPosition position{.index = each->second};
    if (value_at(axes_[0], each->first, position.x) && value_at(axes_[1], each->first, position.y))
      found.push_back(position);
  }
  waiting_.erase(waiting_.begin(), last);
  return found;
}

std::vector<TimedPosition> TimeMatch::found() {
  if (axes_[0].empty() || axes_[1].empty()) return {};
  return found_before(std::min(axes_[0].back().time, axes_[1].back().time));
}

std::vector<TimedPosition> TimeMatch::found_at_end() {
  return found_before(std::numeric_limits<double>::infinity());
}

}  // namespace ptyche
