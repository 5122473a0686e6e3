// Tables in text files: columns of numbers between commas, semicolons, tabs or spaces.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/quantity.h"
#include "ptyche/storage/arrays.h"

namespace ptyche {
namespace {

/// The words of a line; runs of spaces and tabs part them where no comma or semicolon does.
std::vector<std::string> words_of(const std::string& line) {
  const char separator = line.find(',') != std::string::npos   ? ','
                         : line.find(';') != std::string::npos ? ';'
                                                               : ' ';
  std::vector<std::string> words;
  if (separator == ' ') {
    std::istringstream in(line);
    for (std::string word; in >> word;) words.push_back(word);
    return words;
  }
  for (std::string word : split(line, separator)) {
    const std::size_t first = word.find_first_not_of(" \t\r\""),
                      last = word.find_last_not_of(" \t\r\"");
    words.push_back(first == std::string::npos ? "" : word.substr(first, last - first + 1));
  }
  return words;
}

std::optional<double> number_in(const std::string& word) {
  if (word == "nan" || word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  const char* const first = word.data() + (word.starts_with('+') ? 1 : 0);
  const char* const last = word.data() + word.size();
  double value = 0;
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || end != last) return std::nullopt;
  return value;
}

std::string without_mark(const std::string& line) {
  const std::size_t first = line.find_first_not_of("#%! \t");
  return first == std::string::npos ? "" : line.substr(first);
}

/// Of names between spaces, "x [um] y [um]": each with the unit in brackets that follows it.
std::vector<std::string> with_units_joined(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const std::string& word : words) {
    const bool unit = word.starts_with('[') || word.starts_with('(');
    if (unit && !names.empty() && names.back().find_first_of("([") == std::string::npos)
      names.back() += " " + word;
    else
      names.push_back(word);
  }
  return names;
}

/// "um" of "um" and "[um]"; empty for a word that is no unit of length alone.
std::string only_unit(const std::string& word) {
  const std::size_t first = word.find_first_not_of("[("), last = word.find_last_not_of("])");
  if (first == std::string::npos || last < first) return {};
  const std::string unit = word.substr(first, last + 1 - first);
  return metres_in(unit) ? unit : "";
}

constexpr std::int64_t kLargestTable = 32 << 20;  // of a million patterns

class Table : public ArrayFile {
 public:
  explicit Table(const std::filesystem::path& file) {
    std::istringstream lines(read_bytes(file, kLargestTable));
    for (std::string line; std::getline(lines, line);) add_line(line);
    require(!columns_.empty(), "expected columns of numbers, found none");
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> names = header_;
    for (std::size_t i = 1; header_.empty() && i <= columns_.size(); ++i)
      names.push_back(std::to_string(i));
    return names;
  }
  bool has(const std::string& name) const override { return column_of(name).has_value(); }

  FileArray read(const std::string& name) const override {
    const auto column = column_of(name);
    require(column.has_value(), "{}: expected a column {}, found {}", name, name, list_of(names()));
    return {at::tensor(columns_[*column], at::kDouble), 0};
  }

  /// By the column's name, else by a line of units below the names.
  std::string unit(const std::string& name) const override {
    const auto column = column_of(name);
    if (!column) return {};
    const std::string own = header_.empty() ? "" : length_unit_of_name(header_[*column]);
    return own.empty() && *column < units_.size() ? units_[*column] : own;
  }

 private:
  void add_line(const std::string& line) {
    const bool comment = line.find_first_of("#%!") == line.find_first_not_of(" \t\r");
    const std::vector<std::string> words = words_of(comment ? without_mark(line) : line);
    if (words.empty() || (words.size() == 1 && words[0].empty())) return;
    std::vector<double> row;
    for (const std::string& word : words)
      if (const auto number = number_in(word)) row.push_back(*number);
    if (comment || row.size() != words.size()) {
      if (columns_.empty()) add_names(with_units_joined(words));
      return;
    }
    if (columns_.empty()) begin_columns(row.size());
    require(row.size() == columns_.size(), "expected {} columns in every row, found {}: {}",
            columns_.size(), row.size(), line);
    for (std::size_t i = 0; i < row.size(); ++i) columns_[i].push_back(row[i]);
  }

  void add_names(const std::vector<std::string>& words) {
    std::vector<std::string> units;
    for (const std::string& word : words) units.push_back(only_unit(word));
    if (std::ranges::any_of(units, &std::string::empty))
      header_ = words;
    else
      units_ = units;
  }

  /// The last line of words before the numbers names the columns where it has as many.
  void begin_columns(std::size_t count) {
    columns_.resize(count);
    if (header_.size() != count) header_.clear();
    if (units_.size() != count) units_.clear();
  }

  std::optional<std::size_t> column_of(const std::string& name) const {
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (header_[i] == name) return i;
    const auto number = number_in(name);
    if (!number || *number < 1 || *number > static_cast<double>(columns_.size()) ||
        *number != std::floor(*number))
      return std::nullopt;
    return static_cast<std::size_t>(*number) - 1;
  }

  std::vector<std::string> header_, units_;
  std::vector<std::vector<double>> columns_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_table(const std::filesystem::path& file) {
  return std::make_unique<Table>(file);
}

}  // namespace ptyche
