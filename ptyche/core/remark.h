// What a result keeps of what was found in a user's data and decided for the user.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ptyche {

/// Something that was found in a user's data or decided for the user. A result keeps all of them.
struct Remark {
  enum class Kind { correction, warning, note };
  Kind kind = Kind::note;
  std::string text = {};
  std::string cause = {};               ///< short and stable: "positions: unit"; empty = none
  std::string before = {}, after = {};  ///< of a correction: as it was read, and as it is used

  bool operator==(const Remark&) const = default;
};
std::string to_string(Remark::Kind kind);

/// A list of objects with the keys kind, cause, text, before, after, of which empty ones are left
/// out. `remarks_from` passes over what it does not know; throws json::exception for another form.
nlohmann::ordered_json to_json(const std::vector<Remark>& remarks);
std::vector<Remark> remarks_from(const nlohmann::json& list);

/// The list as text and back. Throws InvalidInput that begins with `name`.
std::string to_text(const std::vector<Remark>& remarks);
std::vector<Remark> remarks_from(const std::string& text, const std::string& name);

}  // namespace ptyche
