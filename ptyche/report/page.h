// A page that loads nothing, for desk, phone and paper, and the parts that it is put together of.
// All text is escaped; what is empty gives no HTML.
#pragma once

#include <string>
#include <vector>

#include "ptyche/report/html.h"

namespace ptyche {

/// The whole page; `body` is HTML.
std::string html_page(const std::string& title, const std::string& body);

/// A heading and what stands under it (HTML).
std::string section_html(const std::string& title, const std::string& content);

/// What only some want to see: a line that opens it (HTML). It is not printed.
std::string folded_html(const std::string& title, const std::string& content);

/// Pictures that stand side by side under one heading.
struct PictureRow {
  std::string title, text;  ///< the text stands above the pictures; both may be empty
  std::vector<Picture> pictures;
};
std::string pictures_html(const PictureRow& row);

/// A number with its unit, by the name that the field gives it.
struct NamedNumber {
  std::string name, value;
  std::string note = {};  ///< what it is to be seen beside, or nothing
};
std::string numbers_html(const std::vector<NamedNumber>& numbers);

}  // namespace ptyche
