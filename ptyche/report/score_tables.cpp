#include "ptyche/report/score_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ptyche/report/html.h"
#include "ptyche/report/ticks.h"

namespace ptyche {
namespace {

std::string group_of(const NamedScore& score) {
  const std::size_t dot = score.name.find('.');
  return dot == std::string::npos ? "" : score.name.substr(0, dot);
}

/// What a reader calls the group; a group not listed here goes by its own name.
std::string group_title(const std::string& group) {
  const std::map<std::string, std::string> titles = {
      {"held_out", "Held-out patterns: predicted, never used"},
      {"held_out_all_pixels", "Held-out patterns, masked pixels too"},
      {"used", "Patterns used for the image"},
      {"unseen_half", "Unseen half: patterns that no training saw"},
      {"truth", "Against the known truth"},
      {"half_sets", "Two images that share no pattern: odd against even"},
      {"object", "Object"},
      {"time", "Time"}};
  const auto found = titles.find(group);
  if (found != titles.end()) return found->second;
  std::string title = group;
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

}  // namespace

std::string score_tables(const std::vector<NamedScore>& scores) {
  std::vector<std::string> groups;
  std::map<std::string, std::vector<TableRow>> rows;
  for (const NamedScore& score : scores) {
    const std::string group = group_of(score);
    if (!score.predictor.empty() && !rows[group].empty()) {
      rows[group].back()[2] +=
          fmt::format(" [{}: {}]", score.predictor, format_number(score.value));
      continue;
    }
    if (!rows.contains(group)) groups.push_back(group);
    rows[group].push_back({score.name, format_number(score.value), score.meaning});
  }
  std::string html;
  for (const std::string& group : groups)
    html += table_html("scores", group_title(group), {"name", "value", "meaning"}, rows[group]);
  return html;
}

}  // namespace ptyche
