#include "ptyche/io/scores_json.h"

#include <nlohmann/json.hpp>

namespace ptyche {

std::string scores_json(const Scores& scores) {
  nlohmann::ordered_json json, meaning;
  for (const NamedScore& score : named_scores(scores)) {
    json[score.name] = score.value;
    meaning[score.name] = score.meaning;
  }
  json["meaning"] = meaning;
  return json.dump(2) + "\n";
}

}  // namespace ptyche
