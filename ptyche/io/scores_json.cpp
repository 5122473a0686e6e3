#include "ptyche/io/scores_json.h"

#include <nlohmann/json.hpp>

namespace ptyche {

std::string scores_json(const std::vector<NamedScore>& scores, const std::string& more) {
  nlohmann::ordered_json json, meaning;
  for (const NamedScore& score : scores) {
    json[score.name] = score.value;
    meaning[score.name] = score.meaning;
  }
  if (!more.empty()) json.update(nlohmann::ordered_json::parse(more));
  json["meaning"] = meaning;
  return json.dump(2) + "\n";
}

std::string scores_json(const Scores& scores) { return scores_json(named_scores(scores)); }

}  // namespace ptyche
