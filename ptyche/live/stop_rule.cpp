#include "ptyche/live/stop_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ptyche/core/error.h"

namespace ptyche {

StopRule stop_rule(const std::string& text) {
  using Kind = StopRule::Kind;
  if (text.empty()) return {};
  if (text == "plateau") return {Kind::plateau, 0};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const char* const end = text.data() + text.size();
  double value = 0;
  const bool has_value = equals != std::string::npos;
  const auto [stopped, fault] =
      std::from_chars(has_value ? text.data() + equals + 1 : end, end, value);
  require(has_value && fault == std::errc() && stopped == end && value > 0 &&
              (name == "frc" || name == "deviance"),
          "--stop-when: expected frc=X, deviance=X or plateau, found '{}'", text);
  return {name == "frc" ? Kind::frc : Kind::deviance, value};
}

namespace {

double best_deviance(const LivePoint& point) {
  return std::fmin(point.network_deviance, point.solver_deviance);
}

/// No better by a fiftieth than when there were four fifths of the frames.
constexpr double kPlateauGain = 0.02, kPlateauShare = 0.8;
constexpr std::int64_t kPlateauFrames = 100;  // of fewer nobody knows

bool on_plateau(const std::vector<LivePoint>& points) {
  const LivePoint& last = points.back();
  if (last.joined < kPlateauFrames || std::isnan(best_deviance(last))) return false;
  const auto before =
      std::ranges::find_if(points.rbegin(), points.rend(), [&](const LivePoint& point) {
        return static_cast<double>(point.joined) <=
               kPlateauShare * static_cast<double>(last.joined);
      });
  if (before == points.rend() || std::isnan(best_deviance(*before))) return false;
  return best_deviance(last) > (1 - kPlateauGain) * best_deviance(*before);
}

}  // namespace

std::string reached(const StopRule& rule, const std::vector<LivePoint>& points) {
  using Kind = StopRule::Kind;
  if (points.empty()) return "";
  const LivePoint& last = points.back();
  if (rule.kind == Kind::frc && last.half_set_frc >= rule.value)
    return fmt::format("frc={:g}", rule.value);
  if (rule.kind == Kind::deviance && best_deviance(last) <= rule.value)
    return fmt::format("deviance={:g}", rule.value);
  return rule.kind == Kind::plateau && on_plateau(points) ? "plateau" : "";
}

}  // namespace ptyche
