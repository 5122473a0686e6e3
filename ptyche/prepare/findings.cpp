#include "ptyche/prepare/findings.h"

#include <algorithm>

namespace ptyche {

std::string to_string(Level level) {
  switch (level) {
    case Level::refuse:
      return "refuse";
    case Level::mend:
      return "correct";
    case Level::warn:
      return "warn";
    case Level::note:
      break;
  }
  return "note";
}

const std::vector<std::string>& axis_options() {
  static const std::vector<std::string> names{"scan-rotation", "swap-xy", "flip-x", "flip-y"};
  return names;
}

bool Diagnosis::has(const std::string& cause) const {
  return std::ranges::any_of(findings,
                             [&](const Finding& each) { return each.cause.starts_with(cause); });
}

bool Diagnosis::has(Level level) const {
  return std::ranges::any_of(findings, [&](const Finding& each) { return each.level == level; });
}

const Finding* Diagnosis::to_mend() const {
  const auto found =
      std::ranges::find_if(findings, [](const Finding& each) { return each.remedy.has_value(); });
  return found == findings.end() ? nullptr : &*found;
}

void Diagnosis::say(Level level, const std::string& cause, const std::string& text) {
  findings.push_back({level, cause, text});
}

void Diagnosis::mend(const std::string& cause, const std::string& text, Remedy remedy,
                     const ExamineOptions& how, const std::vector<std::string>& options) {
  for (const std::string& name : options)
    if (how.given.contains(name))
      return say(Level::warn, cause, fmt::format("{} (left as it is: --{} was given)", text, name));
  findings.push_back({Level::mend, cause, text, std::move(remedy)});
}

}  // namespace ptyche
