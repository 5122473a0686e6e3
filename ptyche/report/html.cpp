#include "ptyche/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"

namespace ptyche {
namespace {

using Json = nlohmann::ordered_json;

/// Length of the UTF-8 character at the front of `text`, 0 if there is none (overlong forms,
/// surrogates and values beyond U+10FFFF are none; Unicode 15, table 3-7).
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t index = 1; index < length; ++index)
    if ((byte(index) & 0xc0) != 0x80) return 0;
  const unsigned second = byte(1);
  if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f)) return 0;
  if ((lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) return 0;
  return length;
}

std::string escaped_character(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      break;
  }
  const auto code = static_cast<unsigned char>(character[0]);
  const bool control = (code < 0x20 && code != '\t' && code != '\n') || code == 0x7f;
  return control ? "\ufffd" : std::string(character);
}

std::string row_html(const TableRow& row) {
  std::string html = "<tr>";
  for (std::size_t index = 0; index < row.size(); ++index)
    html += index == 0 ? "<th scope=\"row\">" + escape_html(row[index]) + "</th>"
                       : "<td>" + escape_html(row[index]) + "</td>";
  return html + "</tr>\n";
}

std::string head_html(const TableRow& head) {
  if (head.empty()) return "";
  std::string html = "<thead><tr>";
  for (const std::string& cell : head) html += "<th scope=\"col\">" + escape_html(cell) + "</th>";
  return html + "</tr></thead>\n";
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_null()) return "not set";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void flatten(const Json& value, const std::string& name, std::vector<TableRow>& rows) {
  if (!value.is_object()) {
    rows.push_back({name, value_text(value)});
    return;
  }
  for (const auto& [key, member] : value.items())
    flatten(member, name.empty() ? key : name + "." + key, rows);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string html;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    html += length == 0 ? "\ufffd" : escaped_character(text.substr(0, length));
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return html;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t start = 0; start < bytes.size(); start += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - start);
    std::uint32_t bits = 0;
    for (std::size_t index = 0; index < 3; ++index)
      bits = bits << 8 | (index < count ? static_cast<unsigned char>(bytes[start + index]) : 0u);
    for (std::size_t index = 0; index < 4; ++index)
      text += index <= count ? letters[bits >> (18 - 6 * index) & 63] : '=';
  }
  return text;
}

std::string figure_html(const Picture& picture) {
  return "<figure><img alt=\"" + escape_html(picture.alt) + "\" src=\"data:image/png;base64," +
         base64(picture.png) + "\"><figcaption>" + escape_html(picture.caption) +
         "</figcaption></figure>\n";
}

std::string table_html(const std::string& kind, const std::string& caption, const TableRow& head,
                       const std::vector<TableRow>& rows) {
  std::string html = "<table class=\"" + escape_html(kind) + "\">\n";
  if (!caption.empty()) html += "<caption>" + escape_html(caption) + "</caption>\n";
  html += head_html(head) + "<tbody>\n";
  for (const TableRow& row : rows) html += row_html(row);
  return html + "</tbody></table>\n";
}

std::vector<TableRow> flattened_options(const std::string& json) {
  const Json options = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  require(options.is_object(), "options: a JSON object expected, found '{}'", json.substr(0, 80));
  std::vector<TableRow> rows;
  flatten(options, "", rows);
  return rows;
}

}  // namespace ptyche
