// EMPAD: float32 of 130 rows, of which the last two are no pixels, and an XML file beside.
#include <algorithm>
#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/arrays.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

fs::path empad_xml(const fs::path& file) {
  if (file.extension() == ".xml") return file;
  for (const auto& entry :
       fs::directory_iterator(file.parent_path().empty() ? "." : file.parent_path()))
    if (entry.path().extension() == ".xml" && not_a_file(entry.path()).empty() &&
        fs::file_size(entry.path()) <= kLargestHeader &&
        read_bytes(entry.path()).find(file.filename().string()) != std::string::npos)
      return entry.path();
  return {};
}

/// What stands in the quotes of filename="..." of the tag <raw_file>; empty where there is none.
std::string raw_name(const std::string& xml) {
  const std::size_t tag = xml.find("<raw_file");
  if (tag == std::string::npos) return {};
  const std::string words = xml.substr(tag, xml.find('>', tag) - tag);
  const std::size_t key = words.find("filename");
  const std::size_t first = key == std::string::npos ? key : words.find('"', key);
  const std::size_t last = first == std::string::npos ? first : words.find('"', first + 1);
  return last == std::string::npos ? "" : words.substr(first + 1, last - first - 1);
}

fs::path empad_raw(const fs::path& file, const std::string& xml) {
  if (file.extension() != ".xml") return file;
  const std::string name = raw_name(xml);
  require(!name.empty(), "expected raw_file filename=\"...\", found none");
  const std::size_t slash = name.find_last_of("/\\");
  return file.parent_path() / (slash == std::string::npos ? name : name.substr(slash + 1));
}

std::vector<std::int64_t> empad_shape(const std::string& xml) {
  const std::size_t mode = xml.find("mode=\"acquire\"");
  const std::string part = mode == std::string::npos ? xml : xml.substr(mode);
  const auto number = [&](const char* key) { return number_behind(part, key, '>', "<"); };
  const std::int64_t x = number("<scan_resolution_x"), y = number("<scan_resolution_y");
  return x > 0 && y > 0 ? std::vector<std::int64_t>{y, x} : std::vector<std::int64_t>{};
}

class EmpadFrames : public ArrayFile {
 public:
  explicit EmpadFrames(const fs::path& file) {
    const fs::path xml = empad_xml(file);
    const std::string text = xml.empty() ? "" : read_bytes(xml, kLargestHeader);
    raw_ = empad_raw(file, text);
    shape_ = empad_shape(text);
    require(fs::exists(raw_), "expected the file {} beside, found none", raw_.string());
  }
  std::vector<std::string> names() const override { return {"frames"}; }
  bool has(const std::string& name) const override { return name.empty() || name == "frames"; }
  std::unique_ptr<FrameStack> frames(const std::string&) const override {
    constexpr std::int64_t kRows = 128, kStored = 130, kCols = 128;
    constexpr std::int64_t kStride = kStored * kCols * 4;
    auto file = std::make_shared<SharedFile>(raw_);
    const StackShape shape{.frames = file->size() / kStride, .rows = kRows, .cols = kCols};
    return plain_stack(shape, {std::move(file), 0, kStride, false});
  }
  FileArray read(const std::string& name) const override { return {read_all(*frames(name)), 0}; }
  std::vector<fs::path> linked_files() const override { return {raw_}; }
  std::vector<std::int64_t> scan_shape() const override { return shape_; }

 private:
  fs::path raw_;
  std::vector<std::int64_t> shape_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_empad(const fs::path& file) {
  return std::make_unique<EmpadFrames>(file);
}

}  // namespace ptyche
