#include "ptyche/core/remark.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"

namespace ptyche {
namespace {

constexpr Remark::Kind kRemarkKinds[] = {Remark::Kind::correction, Remark::Kind::warning,
                                         Remark::Kind::note};

/// The members that are texts, by their names in JSON.
const std::vector<std::pair<const char*, std::string Remark::*>>& remark_texts() {
  static const std::vector<std::pair<const char*, std::string Remark::*>> all{
      {"cause", &Remark::cause},
      {"text", &Remark::text},
      {"before", &Remark::before},
      {"after", &Remark::after}};
  return all;
}

}  // namespace

std::string to_string(Remark::Kind kind) {
  const char* const words[] = {"correction", "warning", "note"};
  return words[static_cast<int>(kind)];
}

nlohmann::ordered_json to_json(const std::vector<Remark>& remarks) {
  auto list = nlohmann::ordered_json::array();
  for (const Remark& remark : remarks) {
    nlohmann::ordered_json one{{"kind", to_string(remark.kind)}};
    for (const auto& [name, text] : remark_texts())
      if (!(remark.*text).empty()) one[name] = remark.*text;
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<Remark> remarks_from(const nlohmann::json& list) {
  std::vector<Remark> remarks;
  for (const nlohmann::json& one : list) {
    Remark remark;
    for (const Remark::Kind kind : kRemarkKinds)
      if (one.value("kind", "") == to_string(kind)) remark.kind = kind;
    for (const auto& [name, text] : remark_texts()) remark.*text = one.value(name, "");
    remarks.push_back(std::move(remark));
  }
  return remarks;
}

std::string to_text(const std::vector<Remark>& remarks) {
  return to_json(remarks).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<Remark> remarks_from(const std::string& text, const std::string& name) {
  require_shallow(text, name, 4);
  try {
    return remarks_from(nlohmann::json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw InvalidInput(fmt::format("{}: expected remarks in JSON, found {}", name, error.what()));
  }
}

}  // namespace ptyche
