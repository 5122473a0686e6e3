#include "ptyche/storage/arrays.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/numpy.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr std::uintmax_t kEmpadFrameBytes = 130 * 128 * 4;

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }

/// The run of digits at `at`, without zeros in front.
std::string digits_at(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit_char(text[end])) ++end;
  while (at + 1 < end && text[at] == '0') ++at;
  return text.substr(at, end - at);
}

bool ends_with_any(const fs::path& file, const std::vector<std::string>& endings) {
  std::string extension = file.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(endings.begin(), endings.end(), extension) != endings.end();
}

std::string first_bytes(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return start;
}

/// The text that Merlin writes beside frames.
bool is_mib_series(const fs::path& file, const std::string& start) {
  return start.starts_with("HDR,") && ends_with_any(file, {".hdr"});
}

/// NumPy's two formats.
class NumpyArrays : public ArrayFile {
 public:
  explicit NumpyArrays(const fs::path& file) : file_(file) {
    if (kind_of_file(file) == "NPZ") npz_.emplace(file);
  }
  std::vector<std::string> names() const override {
    return npz_ ? npz_->names() : std::vector<std::string>{"frames"};
  }
  bool has(const std::string& name) const override {
    return npz_ ? npz_->has(name) : name == "frames" || name.empty();
  }
  FileArray read(const std::string& name) const override {
    return npz_ ? npz_->read(npz_->first_of({name})) : read_npy_file(file_);
  }
  std::unique_ptr<FrameStack> frames(const std::string& name) const override {
    return npz_ ? npz_->frames(npz_->first_of({name})) : npy_frames(file_);
  }

 private:
  fs::path file_;
  std::optional<NpzFile> npz_;
};

}  // namespace

bool by_number(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit_char(a[i]) && is_digit_char(b[j])) {
      const std::string x = digits_at(a, i), y = digits_at(b, j);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      while (i < a.size() && is_digit_char(a[i])) ++i;
      while (j < b.size() && is_digit_char(b[j])) ++j;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

namespace {

/// A text's numbers, and what stands between them.
struct Numbered {
  std::vector<std::int64_t> numbers;
  std::string rest;
};

Numbered numbered(const std::string& text) {
  constexpr std::size_t kMostDigits = 15;
  Numbered result;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit_char(text[i])) {
      result.rest += text[i++];
      continue;
    }
    const std::string digits = digits_at(text, i);
    result.numbers.push_back(digits.empty() || digits.size() > kMostDigits ? 0
                                                                           : std::stoll(digits));
    result.rest += '0';
    while (i < text.size() && is_digit_char(text[i])) ++i;
  }
  return result;
}

}  // namespace

std::vector<std::string> names_of(const std::vector<fs::path>& files) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.filename().string());
  return names;
}

std::vector<std::int64_t> numbers_in(const std::vector<std::string>& texts) {
  std::vector<Numbered> all;
  for (const std::string& text : texts) all.push_back(numbered(text));
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; !all.empty() && i < all.front().numbers.size(); ++i)
    if (std::ranges::any_of(all, [&](const Numbered& one) {
          return i >= one.numbers.size() || one.numbers[i] != all.front().numbers[i];
        }))
      differ.push_back(i);
  if (differ.size() != 1) return {};
  std::vector<std::int64_t> numbers;
  for (const Numbered& one : all) {
    if (one.rest != all.front().rest) return {};
    const std::int64_t number = one.numbers[differ.front()];
    if (!numbers.empty() && number <= numbers.back()) return {};
    numbers.push_back(number);
  }
  return numbers;
}

bool fits_pattern(const std::string& text, const std::string& pattern) {
  // Where a letter does not fit, the last star takes one letter more: no more than their product.
  std::size_t i = 0, j = 0, star = std::string::npos, taken = 0;
  while (i < text.size()) {
    if (j < pattern.size() && pattern[j] == '*') {
      star = j++;
      taken = i;
    } else if (j < pattern.size() && pattern[j] == text[i]) {
      ++i, ++j;
    } else if (star != std::string::npos) {
      i = ++taken;
      j = star + 1;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', j) == std::string::npos;
}

std::vector<fs::path> files_in_order(const fs::path& folder,
                                     const std::vector<std::string>& endings) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (ends_with_any(entry.path(), endings)) files.push_back(entry.path());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return by_number(a.filename().string(), b.filename().string());
  });
  return files;
}

std::string kind_of_file(const fs::path& file) {
  if (fs::is_directory(file)) return files_in_order(file, {".mib"}).empty() ? "TIFF" : "MIB";
  if (is_hdf5(file)) return "HDF5";
  const std::string start = first_bytes(file);
  if (start.starts_with("PK")) return "NPZ";
  if (start.starts_with("\x93NUMPY")) return "NPY";
  if (start.starts_with(std::string("II*\0", 4)) || start.starts_with(std::string("MM\0*", 4)) ||
      start.starts_with(std::string("II+\0", 4)))
    return "TIFF";
  if (start.starts_with("MQ1,") || is_mib_series(file, start)) return "MIB";
  if (start.starts_with("MATLAB 5.0")) return "MATLAB 5";
  if (start.find("<raw_file") != std::string::npos) return "EMPAD";
  std::error_code ignored;
  const std::uintmax_t bytes = fs::file_size(file, ignored);
  if (ends_with_any(file, {".raw"}) && bytes > 0 && bytes % kEmpadFrameBytes == 0) return "EMPAD";
  return "text";
}

std::unique_ptr<ArrayFile> open_numpy_arrays(const fs::path& file) {
  return std::make_unique<NumpyArrays>(file);
}

std::unique_ptr<ArrayFile> open_arrays(const fs::path& file) {
  const std::string other = not_a_file(file);
  require(other.empty() || fs::is_directory(file), "{}: expected a file, found {}", file.string(),
          other);
  const std::string kind = kind_of_file(file);
  return with_file(file, [&]() -> std::unique_ptr<ArrayFile> {
    if (kind == "HDF5") return open_hdf5_arrays(file);
    if (kind == "NPZ" || kind == "NPY") return open_numpy_arrays(file);
    if (kind == "TIFF") return open_tiff(file);
    if (kind == "MIB") return open_mib(file);
    if (kind == "MATLAB 5") return open_matlab_arrays(file);
    if (kind == "EMPAD") return open_empad(file);
    return open_table(file);
  });
}

std::int64_t number_behind(const std::string& text, const std::string& key, char sign,
                           const char* ends) {
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
    const std::size_t found = text.find(sign, at + key.size());
    if (found == std::string::npos) return 0;
    if (text.find_first_of(ends, at + key.size()) < found) continue;
    const std::size_t digits = text.find_first_not_of(" \t\r\n", found + 1);
    std::int64_t number = 0;
    if (digits == std::string::npos) return 0;
    std::from_chars(text.data() + digits, text.data() + text.size(), number);
    if (number > 0 && number <= 1'000'000'000) return number;
  }
  return 0;
}

}  // namespace ptyche
