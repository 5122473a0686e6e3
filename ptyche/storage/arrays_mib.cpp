// MIB: every frame has a header of text in front (Quantum Detectors, Merlin's manual).
#include <algorithm>
#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/mib_raw.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

struct MibHeader {
  std::size_t header_bytes = 0, item_bytes = 0;  ///< item_bytes 0: a raw mode
  std::int64_t rows = 0, cols = 0;
  MibRaw raw;
  bool is_raw() const { return item_bytes == 0; }
  std::size_t frame_bytes() const {
    return header_bytes + (is_raw() ? static_cast<std::size_t>(raw.frame_bytes())
                                    : static_cast<std::size_t>(rows * cols) * item_bytes);
  }
};

/// The bits of a raw mode stand last in the header, before what fills it up.
int last_number(const std::string& header) {
  const std::size_t end = header.find_last_of("0123456789");
  if (end == std::string::npos) return 0;
  const std::size_t comma = header.rfind(',', end);
  return comma == std::string::npos ? 0 : std::atoi(header.c_str() + comma + 1);
}

/// Rows of chips come as they are read out: one chip of 256 x 256 (24 bits: 256 x 512), or four,
/// 256 x 1024.
MibRaw raw_layout(const MibHeader& header, std::int64_t chips, int bits) {
  MibRaw raw{.bits = bits, .quad = chips == 4, .chip = header.rows};
  const std::int64_t cols = raw.bits == 24 ? header.cols / 2 : header.cols;
  require(header.rows % 64 == 0 && (chips == 1 || (chips == 4 && bits != 24)) &&
              cols == header.rows * chips,
          "expected a raw mode of one chip, or of four in a square with 1, 6 or 12 bits, found {} "
          "chips, {} bits and {} x {} pixels",
          chips, bits, header.rows, header.cols);
  raw.offset = static_cast<std::int64_t>(header.header_bytes);
  return raw;
}

MibHeader mib_header(const std::string& start) {
  const std::vector<std::string> parts = split(start, ',');
  require(parts.size() > 6 && parts[0] == "MQ1", "expected a header that begins with MQ1");
  const auto number = [&](std::size_t at) { return std::atoll(parts[at].c_str()); };
  MibHeader header;
  header.header_bytes = static_cast<std::size_t>(number(2));
  header.cols = number(4);
  header.rows = number(5);
  require(header.header_bytes >= 64 && header.header_bytes < 1 << 20 && header.rows > 0 &&
              header.cols > 0 && header.rows < 1 << 16 && header.cols < 1 << 16,
          "expected a header with lengths, found {} x {} pixels after {} bytes", header.rows,
          header.cols, header.header_bytes);
  const std::string type = parts[6].substr(0, 3);
  header.item_bytes = type == "U08" ? 1 : type == "U16" ? 2 : type == "U32" ? 4 : 0;
  require(header.item_bytes > 0 || type == "R64",
          "expected frames of U08, U16, U32 or R64, found {}", type);
  if (header.is_raw())
    header.raw = raw_layout(header, number(3), last_number(start.substr(0, header.header_bytes)));
  return header;
}

/// Rows and columns of the scan from the text that Merlin writes beside.
std::vector<std::int64_t> shape_in_hdr(const fs::path& hdr) {
  if (hdr.empty() || !fs::exists(hdr)) return {};
  const std::string text = read_bytes(hdr, kLargestHeader);
  const auto number_after = [&](const char* key) { return number_behind(text, key, ':', "\n"); };
  const std::int64_t x = number_after("ScanX"), y = number_after("ScanY");
  if (x > 0 && y > 0) return {y, x};
  const std::int64_t frames = number_after("Frames in Acquisition");
  const std::int64_t line = number_after("Frames per Trigger");
  if (line <= 1 || frames <= line || frames % line != 0) return {};
  return {frames / line, line};
}

/// The frames of one file.
std::unique_ptr<FrameStack> frames_of_mib(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  const MibHeader header = mib_header(start);
  const auto stride = static_cast<std::int64_t>(header.frame_bytes());
  const auto frames = static_cast<std::int64_t>(fs::file_size(file)) / stride;
  require(frames > 0, "expected at least one whole frame of {} bytes, found {}", stride,
          fs::file_size(file));
  const auto bytes = std::make_shared<SharedFile>(file);
  if (header.is_raw()) {
    MibRaw raw = header.raw;
    raw.stride = stride;
    return mib_raw_stack(bytes, raw, frames);
  }
  const auto item = static_cast<std::int64_t>(header.item_bytes);
  const StackShape shape{.frames = frames,
                         .rows = header.rows,
                         .cols = header.cols,
                         .type = item == 1   ? at::kByte
                                 : item == 2 ? at::kShort
                                             : at::kInt,
                         .unsigned_bits = item > 1,
                         .ceiling = integer_ceiling(item, false)};
  return plain_stack(shape, {bytes, static_cast<std::int64_t>(header.header_bytes), stride, true});
}

/// One file of frames, or those of a series (one acquisition in many files) in order: all of a
/// folder, or those beside a text whose names begin as its own does.
struct MibSeries {
  std::vector<fs::path> files;
  fs::path hdr;  ///< empty = there is none
};

MibSeries series_of(const fs::path& path) {
  MibSeries series;
  if (fs::is_directory(path)) {
    series.files = files_in_order(path, {".mib"});
    const std::vector<fs::path> texts = files_in_order(path, {".hdr"});
    if (texts.size() == 1) series.hdr = texts.front();
  } else if (fs::path(path).extension() == ".hdr") {
    series.hdr = path;
    for (const fs::path& file : files_in_order(fs::absolute(path).parent_path(), {".mib"}))
      if (file.stem().string().starts_with(path.stem().string())) series.files.push_back(file);
  } else {
    series = {{path}, fs::path(path).replace_extension(".hdr")};
  }
  require(!series.files.empty(), "expected .mib files, found none");
  return series;
}

class MibFrames : public ArrayFile {
 public:
  explicit MibFrames(const fs::path& path) : series_(series_of(path)) { frames(""); }
  std::vector<std::string> names() const override { return {"frames"}; }
  bool has(const std::string& name) const override { return name.empty() || name == "frames"; }
  std::unique_ptr<FrameStack> frames(const std::string&) const override {
    if (series_.files.size() == 1) return frames_of_mib(series_.files.front());
    std::vector<std::unique_ptr<FrameStack>> parts;
    const std::vector<std::string> names = names_of(series_.files);
    const std::vector<std::int64_t> numbers = numbers_in(names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      parts.push_back(with_context(names[i], [&] { return frames_of_mib(series_.files[i]); }));
      if (!numbers.empty() && parts.back()->frames() == 1) parts.back()->number({numbers[i]});
    }
    return joined_stack(std::move(parts), names);
  }
  FileArray read(const std::string& name) const override {
    const auto stack = frames(name);
    return {read_all(*stack), stack->shape().ceiling};
  }
  std::vector<fs::path> linked_files() const override { return series_.files; }
  std::vector<std::int64_t> scan_shape() const override { return shape_in_hdr(series_.hdr); }

 private:
  MibSeries series_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_mib(const fs::path& path) {
  return std::make_unique<MibFrames>(path);
}

}  // namespace ptyche
