#include "ptyche/storage/numpy.h"

#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/zip_members.h"

namespace ptyche {
static_assert(std::endian::native == std::endian::little,
              "files are written as they lie in memory");
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kBlanks = " \t\r\n";
constexpr std::int64_t kLongestHeader = 10000;

/// NumPy's letters and size, and the tensor type that holds the same bits.
struct NpyType {
  char kind;
  std::int64_t bytes;
  at::ScalarType bits;
};
constexpr std::array kTypes = {
    NpyType{'b', 1, at::kBool},         NpyType{'u', 1, at::kByte},
    NpyType{'i', 1, at::kChar},         NpyType{'u', 2, at::kShort},
    NpyType{'i', 2, at::kShort},        NpyType{'u', 4, at::kInt},
    NpyType{'i', 4, at::kInt},          NpyType{'u', 8, at::kLong},
    NpyType{'i', 8, at::kLong},         NpyType{'f', 2, at::kHalf},
    NpyType{'f', 4, at::kFloat},        NpyType{'f', 8, at::kDouble},
    NpyType{'c', 8, at::kComplexFloat}, NpyType{'c', 16, at::kComplexDouble}};

std::optional<at::ScalarType> bits_type(char kind, std::int64_t bytes) {
  for (const NpyType& type : kTypes) {
    if (type.kind == kind && type.bytes == bytes) return type.bits;
  }
  return std::nullopt;
}

std::int64_t little_endian(const std::string& bytes) {
  std::int64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

std::string take(const ByteSource& source, std::int64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  source(bytes.data(), count);
  return bytes;
}

[[noreturn]] void refuse_header(const std::string& text, const std::string& key) {
  throw InvalidInput(fmt::format("NumPy header: expected a plain array with '{}', found {}", key,
                                 text.substr(0, 200)));
}

/// What stands behind 'key': in the header's dictionary, from `open` to the first of `close`.
std::string entry(const std::string& text, const std::string& key, std::string_view open,
                  const char* close) {
  const std::size_t name = text.find(fmt::format("'{}':", key));
  if (name == std::string::npos) refuse_header(text, key);
  const std::size_t value = text.find_first_not_of(kBlanks, name + key.size() + 3);
  if (value == std::string::npos || text.compare(value, open.size(), open) != 0)
    refuse_header(text, key);
  const std::size_t begin = value + open.size(), end = text.find_first_of(close, begin);
  if (end == std::string::npos) refuse_header(text, key);
  return text.substr(begin, end - begin);
}

bool parse_order(const std::string& text) {
  const std::string word = entry(text, "fortran_order", "", " ,}");
  if (word != "True" && word != "False") refuse_header(text, "fortran_order");
  return word == "True";
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  const std::string separators = fmt::format(",{}", kBlanks);
  std::vector<std::int64_t> shape;
  for (std::size_t end = 0;;) {
    const std::size_t begin = text.find_first_not_of(separators, end);
    if (begin == std::string::npos) return shape;
    end = std::min(text.find_first_of(separators, begin), text.size());
    std::int64_t length = 0;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, length);
    require(error == std::errc() && stop == text.data() + end && length >= 0,
            "NumPy header: expected lengths >= 0 in 'shape', found ({})", text);
    shape.push_back(length);
  }
}

/// An order of bytes, a letter and a size: "<f8".
void parse_descr(const std::string& descr, NpyHeader& header) {
  const bool simple = descr.size() >= 3 && descr.size() <= 5 &&
                      std::string_view("<>|=").find(descr[0]) != std::string_view::npos &&
                      descr.find_first_not_of("0123456789", 2) == std::string::npos;
  const bool numbers = simple && descr.find_first_of("USaOV") == std::string::npos;
  require(numbers, "expected an array of numbers, found {}",
          descr.find('O') != std::string::npos ? "Python objects (pickled, never read): " + descr
                                               : "type " + descr);
  header.kind = descr[1];
  header.item_bytes = std::stoll(descr.substr(2));
  header.big_endian = descr[0] == '>';
  require(bits_type(header.kind, header.item_bytes).has_value(),
          "expected bool, 8 to 64 bit integers, float16 to float64, complex64 or complex128, found "
          "type {}",
          descr);
}

void swap_bytes(char* data, std::int64_t bytes, std::int64_t word) {
  for (std::int64_t at = 0; at + word <= bytes; at += word)
    std::reverse(data + at, data + at + word);
}

/// C order strides read a Fortran array as its transpose.
at::Tensor in_numpy_shape(const at::Tensor& flat, const NpyHeader& header) {
  std::vector<std::int64_t> shape = header.shape;
  if (!header.fortran_order) return flat.reshape(shape);
  std::reverse(shape.begin(), shape.end());
  std::vector<std::int64_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::int64_t>(order.size() - 1 - i);
  }
  return flat.reshape(shape).permute(order);
}

}  // namespace

NpyHeader read_npy_header(const ByteSource& source) {
  const std::string start = take(source, 8);
  require(std::string_view(start).starts_with(kMagic), "expected a NumPy array, found other bytes");
  const int version = start[6];
  require(version >= 1 && version <= 3, "NumPy header: expected version 1 to 3, found {}", version);
  const std::int64_t length_bytes = version == 1 ? 2 : 4;
  const std::int64_t length = little_endian(take(source, length_bytes));
  require(length <= kLongestHeader, "NumPy header: expected at most {} bytes, found {}",
          kLongestHeader, length);
  const std::string text = take(source, length);
  NpyHeader header;
  parse_descr(entry(text, "descr", "'", "'"), header);
  header.fortran_order = parse_order(text);
  header.shape = parse_shape(entry(text, "shape", "(", ")"));
  header.header_bytes = 8 + length_bytes + length;
  return header;
}

namespace {

/// Bits as the file has them -> values.
FileArray as_values(at::Tensor flat, const NpyHeader& header) {
  char* const data = static_cast<char*>(flat.mutable_data_ptr());
  const auto bytes = static_cast<std::int64_t>(flat.nbytes());
  if (header.kind == 'b') {  // any other byte than 0 and 1 in a bool is undefined behaviour later
    for (std::int64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
  }
  if (header.big_endian) {
    swap_bytes(data, bytes, header.kind == 'c' ? header.item_bytes / 2 : header.item_bytes);
  }
  if (header.kind == 'u' && header.item_bytes > 1) flat = from_unsigned_bits(flat);
  if (flat.scalar_type() == at::kHalf) flat = flat.to(at::kFloat);
  const bool integer = header.kind == 'u' || header.kind == 'i';
  return {in_numpy_shape(flat, header),
          integer ? integer_ceiling(header.item_bytes, header.kind == 'i') : 0};
}

/// Bytes of data that the header speaks of, if there are as many.
std::int64_t data_bytes(const NpyHeader& header, std::int64_t total_bytes) {
  const std::int64_t bytes = checked_bytes(header.shape, header.item_bytes);
  require(header.header_bytes + bytes == total_bytes,
          "expected {} bytes of data for shape ({}), found {}", bytes,
          fmt::join(header.shape, ", "), total_bytes - header.header_bytes);
  return bytes;
}

}  // namespace

FileArray read_npy(const ByteSource& source, std::int64_t total_bytes) {
  const NpyHeader header = read_npy_header(source);
  const std::int64_t bytes = data_bytes(header, total_bytes);
  at::Tensor flat =
      at::empty({bytes / header.item_bytes}, *bits_type(header.kind, header.item_bytes));
  source(static_cast<char*>(flat.mutable_data_ptr()), bytes);
  return as_values(flat, header);
}

namespace {

ByteSource source_of(const ByteReader& bytes, std::int64_t total, std::int64_t& done) {
  return [&bytes, total, &done](char* to, std::int64_t count) {
    require(done + count <= total, "truncated: expected {} more bytes, found {}", count,
            total - done);
    bytes.read(done, count, to);
    done += count;
  };
}

NpyHeader header_of(const ByteReader& bytes, std::int64_t total) {
  std::int64_t done = 0;
  return read_npy_header(source_of(bytes, total, done));
}

/// The shape as a stack; nothing for an array that is none.
std::optional<StackShape> stack_shape(const NpyHeader& header, bool last_axis) {
  const std::vector<std::int64_t>& lengths = header.shape;
  const bool real = header.kind == 'u' || header.kind == 'i' || header.kind == 'f';
  const bool images = lengths.size() == 3 || (lengths.size() == 4 && !last_axis);
  const bool half = header.kind == 'f' && header.item_bytes == 2;  // its values are made float32
  if (!real || half || !images || header.fortran_order) return std::nullopt;
  for (const std::int64_t length : lengths)
    if (length == 0) return std::nullopt;
  StackShape shape;
  const bool raster = lengths.size() == 4;
  shape.last_axis = last_axis;
  shape.frames = last_axis ? lengths[2] : raster ? lengths[0] * lengths[1] : lengths[0];
  shape.rows = last_axis ? lengths[0] : lengths[raster ? 2 : 1];
  shape.cols = last_axis ? lengths[1] : lengths[raster ? 3 : 2];
  if (raster) shape.raster = {lengths[0], lengths[1]};
  shape.type = *bits_type(header.kind, header.item_bytes);
  shape.unsigned_bits = header.kind == 'u' && header.item_bytes > 1;
  if (header.kind != 'f') shape.ceiling = integer_ceiling(header.item_bytes, header.kind == 'i');
  return shape;
}

PlainFrames frames_behind(const NpyHeader& header, const StackShape& shape,
                          std::shared_ptr<const ByteReader> bytes) {
  return {std::move(bytes), header.header_bytes, shape.frame_bytes(), header.big_endian};
}

/// Lengths whose product is a number of bytes. Nothing is allocated by it.
void require_size(const NpyHeader& header, std::int64_t total_bytes) {
  double bytes = static_cast<double>(header.item_bytes);
  for (const std::int64_t length : header.shape) bytes *= static_cast<double>(length);
  require(bytes == static_cast<double>(total_bytes - header.header_bytes),
          "expected {} bytes of data for shape ({}), found {}", bytes,
          fmt::join(header.shape, ", "), total_bytes - header.header_bytes);
}

}  // namespace

std::unique_ptr<FrameStack> npy_frames(const std::filesystem::path& file, bool last_axis) {
  const auto bytes = std::make_shared<SharedFile>(file);
  const NpyHeader header = header_of(*bytes, bytes->size());
  require_size(header, bytes->size());
  const auto shape = stack_shape(header, last_axis);
  return shape ? plain_stack(*shape, frames_behind(header, *shape, bytes)) : nullptr;
}

FileArray read_npy_file(const std::filesystem::path& file) {
  const std::string other = not_a_file(file);
  require(other.empty(), "{}: could not be read: expected a file, found {}", file.string(), other);
  const auto size = std::filesystem::file_size(file);
  std::ifstream in(file, std::ios::binary);
  const ByteSource source = [&](char* to, std::int64_t count) {
    in.read(to, count);
    require(in.gcount() == count, "truncated: expected {} more bytes, found {}", count,
            in.gcount());
  };
  return with_context(file.string(),
                      [&] { return read_npy(source, static_cast<std::int64_t>(size)); });
}

std::string npy_header(const at::Tensor& tensor) {
  std::string descr;
  for (const NpyType& type : kTypes) {
    if (type.bits == tensor.scalar_type() && (type.kind != 'u' || type.bytes == 1)) {
      descr = fmt::format("{}{}{}", type.bytes == 1 ? '|' : '<', type.kind, type.bytes);
    }
  }
  require(!descr.empty(), "expected a type that NumPy has, found {}", describe(tensor));
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                  fmt::join(tensor.sizes(), ", "), tensor.dim() == 1 ? "," : "");
  const std::size_t unpadded = kMagic.size() + 4 + text.size() + 1;
  text.append((64 - unpadded % 64) % 64, ' ').append("\n");
  std::string header(kMagic);
  header.append(
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)});
  return header + text;
}

// .npz

namespace {

constexpr std::string_view kEnding = ".npy";
/// Only equal bytes are packed so far: an archive that is made to fill the memory. Below the size
/// it does no harm.
constexpr double kBombRatio = 900, kHarmlessBytes = 256e6;
constexpr double kWorthThreads = 4e6;  // bytes

std::string zip_reason(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// A zip entry that is being read.
class Entry {
 public:
  Entry(zip_t* archive, zip_uint64_t index) : file_(zip_fopen_index(archive, index, 0)) {
    require(file_ != nullptr, "could not be opened: {}", zip_strerror(archive));
  }
  ~Entry() { zip_fclose(file_); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  void read(char* to, std::int64_t count) {
    while (count > 0) {
      const zip_int64_t got = zip_fread(file_, to, static_cast<zip_uint64_t>(count));
      require(got > 0, "truncated or damaged: expected {} more bytes, found {}", count,
              got < 0 ? zip_file_strerror(file_) : "the end");
      to += got;
      count -= got;
    }
  }

  /// libzip compares the checksum when the end is reached.
  void require_end() {
    char extra = 0;
    const zip_int64_t got = zip_fread(file_, &extra, 1);
    require(got == 0, "damaged: expected the end and a right checksum, found {}",
            got < 0 ? zip_file_strerror(file_) : "more bytes");
  }

 private:
  zip_file_t* file_;
};

zip_stat_t checked_stat(zip_t* archive, const std::string& entry) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  const zip_uint64_t needed = ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  const bool ok =
      zip_stat(archive, entry.c_str(), 0, &stat) == 0 && (stat.valid & needed) == needed;
  require(ok, "size unknown: {}", zip_strerror(archive));
  const double possible = kLargestDeflateRatio * (static_cast<double>(stat.comp_size) + 64);
  require(static_cast<double>(stat.size) <= possible &&
              stat.size <= static_cast<zip_uint64_t>(std::numeric_limits<std::int64_t>::max()),
          "damaged: expected at most {:.0f} bytes from {} compressed ones, found a size of {}",
          possible, stat.comp_size, stat.size);
  require(static_cast<double>(stat.size) <= kHarmlessBytes ||
              static_cast<double>(stat.size) <= kBombRatio * static_cast<double>(stat.comp_size),
          "expected an array, found {} equal bytes packed into {}: an archive made to fill the "
          "memory",
          stat.size, stat.comp_size);
  return stat;
}

/// A member's frames. A stored member is checked once all of it was read; `whole`, a faster way to
/// all of it for a deflated member and for one in memory, checks by itself.
class MemberStack : public FrameStack {
 public:
  MemberStack(std::unique_ptr<FrameStack> frames, std::shared_ptr<const SharedFile> file,
              ZipMember member, std::int64_t header_bytes, bool big_endian)
      : FrameStack(frames->shape()),
        frames_(std::move(frames)),
        file_(std::move(file)),
        member_(std::move(member)),
        header_bytes_(header_bytes),
        big_endian_(big_endian) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    frames_->read(first, window, std::move(to));
  }
  bool in_order_only() const override { return frames_->in_order_only(); }
  std::int64_t read_together() override { return frames_->read_together(); }
  void check() const override {
    if (!member_.deflated) check_stored_member(*file_, member_);
  }
  bool in_memory() const override { return frames_->in_memory(); }
  at::Tensor whole() const override {
    if (!member_.deflated) {
      const at::Tensor frames = frames_->whole();
      if (frames.defined()) check();
      return frames;
    }
    if (header_bytes_ % shape_.item_bytes() != 0) return {};
    checked_bytes({member_.bytes}, 1);
    const at::Tensor bytes = at::empty({member_.bytes}, at::kByte);
    char* const data = static_cast<char*>(bytes.mutable_data_ptr());
    read_member(*file_, member_, data);
    if (big_endian_)
      swap_words(data + header_bytes_, member_.bytes - header_bytes_, shape_.item_bytes());
    const at::Tensor values =
        bytes.narrow(0, header_bytes_, member_.bytes - header_bytes_).view(shape_.type);
    if (shape_.last_axis)
      return values.view({shape_.rows, shape_.cols, shape_.frames}).permute({2, 0, 1});
    return values.view({shape_.frames, shape_.rows, shape_.cols});
  }

 private:
  std::unique_ptr<FrameStack> frames_;
  std::shared_ptr<const SharedFile> file_;
  ZipMember member_;
  std::int64_t header_bytes_;
  bool big_endian_;
};

/// A large member past libzip, whose reading has one thread and a small buffer.
FileArray read_past_libzip(const SharedFile& file, const ZipMember& member) {
  checked_bytes({member.bytes}, 1);
  const at::Tensor bytes = at::empty({member.bytes}, at::kByte);
  char* const data = static_cast<char*>(bytes.mutable_data_ptr());
  read_member(file, member, data);
  std::int64_t done = 0;
  const ByteSource source = [&](char* to, std::int64_t count) {
    require(done + count <= member.bytes, "truncated: expected {} more bytes, found {}", count,
            member.bytes - done);
    std::memcpy(to, data + done, static_cast<std::size_t>(count));
    done += count;
  };
  const NpyHeader header = read_npy_header(source);
  const std::int64_t length = data_bytes(header, member.bytes);
  const at::ScalarType type = *bits_type(header.kind, header.item_bytes);
  const at::Tensor tail = bytes.narrow(0, header.header_bytes, length);
  const bool aligned = header.header_bytes % static_cast<std::int64_t>(at::elementSize(type)) == 0;
  return as_values((aligned ? tail : tail.clone()).view(type), header);
}

void add_array(zip_t* archive, const std::string& name, const std::string& bytes) {
  zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  const std::string entry = name + std::string(kEnding);
  const zip_int64_t index = zip_file_add(archive, entry.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(source);
  require(index >= 0, "{}: could not be added: {}", name, zip_strerror(archive));
  // A fixed time: the same arrays give the same file.
  zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, (1 << 5) | 1, 0);
}

std::string npy_bytes(const at::Tensor& tensor) {
  const at::Tensor data = tensor.detach().cpu().contiguous();
  std::string bytes = npy_header(data);
  if (data.numel() == 0) return bytes;
  return bytes.append(static_cast<const char*>(data.const_data_ptr()), data.nbytes());
}

}  // namespace

void NpzFile::Closer::operator()(zip* archive) const { zip_discard(archive); }

NpzFile::NpzFile(const std::filesystem::path& file) : path_(file) {
  const std::string other = not_a_file(file);
  require(other.empty(), "expected a zip archive (.npz), found {}", other);
  int code = 0;
  archive_.reset(zip_open(file.c_str(), ZIP_RDONLY, &code));
  require(archive_ != nullptr, "expected a whole zip archive (.npz), found a damaged one: {}",
          zip_reason(code));
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* entry = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    std::string name = entry ? entry : "";
    if (name.ends_with(kEnding)) names_.push_back(name.substr(0, name.size() - kEnding.size()));
  }
}

bool NpzFile::has(const std::string& name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

FileArray NpzFile::read(const std::string& name) const {
  return with_context(name, [&] {
    require(has(name), "expected an array of this name, found {}", list_of(names_));
    const zip_stat_t stat = checked_stat(archive_.get(), name + std::string(kEnding));
    if (static_cast<double>(stat.size) > kWorthThreads) {
      const SharedFile file(path_);
      if (const auto member = find_zip_member(file, name + std::string(kEnding)))
        return read_past_libzip(file, *member);
    }
    Entry entry(archive_.get(), stat.index);
    const auto source = [&](char* to, std::int64_t count) { entry.read(to, count); };
    FileArray array = read_npy(source, static_cast<std::int64_t>(stat.size));
    entry.require_end();
    return array;
  });
}

std::string NpzFile::bytes(const std::string& name, std::int64_t most) const {
  return with_context(name, [&] {
    require(has(name), "expected an array of this name, found {}", list_of(names_));
    const zip_stat_t stat = checked_stat(archive_.get(), name + std::string(kEnding));
    require(stat.size <= static_cast<zip_uint64_t>(most), "expected at most {} bytes, found {}",
            most, stat.size);
    Entry entry(archive_.get(), stat.index);
    std::string found(stat.size, '\0');
    entry.read(found.data(), static_cast<std::int64_t>(found.size()));
    entry.require_end();
    return found;
  });
}

NpyHeader NpzFile::header(const std::string& name) const {
  return with_context(name, [&] {
    require(has(name), "expected an array of this name, found {}", list_of(names_));
    const zip_stat_t stat = checked_stat(archive_.get(), name + std::string(kEnding));
    Entry entry(archive_.get(), stat.index);
    return read_npy_header([&](char* to, std::int64_t count) { entry.read(to, count); });
  });
}

std::unique_ptr<FrameStack> NpzFile::frames(const std::string& name, bool last_axis) const {
  return with_context(name, [&]() -> std::unique_ptr<FrameStack> {
    require(has(name), "expected an array of this name, found {}", list_of(names_));
    checked_stat(archive_.get(), name + std::string(kEnding));
    auto file = std::make_shared<SharedFile>(path_);
    const auto member = find_zip_member(*file, name + std::string(kEnding));
    if (!member) return nullptr;
    const auto bytes = member_reader(file, *member);
    const NpyHeader header = header_of(*bytes, member->bytes);
    require_size(header, member->bytes);
    const auto shape = stack_shape(header, last_axis);
    if (!shape) return nullptr;
    return std::make_unique<MemberStack>(plain_stack(*shape, frames_behind(header, *shape, bytes)),
                                         file, *member, header.header_bytes, header.big_endian);
  });
}

std::string NpzFile::first_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (has(name)) return name;
  }
  throw InvalidInput(fmt::format("{}: expected an array named {}, found {}", names.front(),
                                 list_of(names), list_of(names_)));
}

void write_npz(const std::filesystem::path& file,
               const std::vector<std::pair<std::string, at::Tensor>>& arrays) {
  std::vector<std::string> contents;  // libzip reads them at zip_close
  for (const auto& [name, tensor] : arrays) contents.push_back(npy_bytes(tensor));
  write_atomically(file, [&](const std::filesystem::path& path) {
    int code = 0;
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    require(archive != nullptr, "could not be written: {}", zip_reason(code));
    std::unique_ptr<zip_t, decltype(&zip_discard)> open(archive, &zip_discard);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      add_array(archive, arrays[i].first, contents[i]);
    }
    const bool written = zip_close(archive) == 0;
    require(written, "could not be written: {}", zip_strerror(archive));
    open.release();  // zip_close has freed it
  });
}

}  // namespace ptyche
