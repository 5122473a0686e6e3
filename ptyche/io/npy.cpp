#include "ptyche/io/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <regex>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"

namespace ptyche {
static_assert(std::endian::native == std::endian::little,
              "files are written as they lie in memory");
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::int64_t kLongestHeader = 10000;

/// NumPy's letters and size, and the tensor type that holds the same bits.
struct NpyType {
  char kind;
  std::int64_t bytes;
  at::ScalarType bits;
};
constexpr std::array kTypes = {
    NpyType{'b', 1, at::kBool},          NpyType{'u', 1, at::kByte},
    NpyType{'i', 1, at::kChar},          NpyType{'u', 2, at::kShort},
    NpyType{'i', 2, at::kShort},         NpyType{'u', 4, at::kInt},
    NpyType{'i', 4, at::kInt},           NpyType{'u', 8, at::kLong},
    NpyType{'i', 8, at::kLong},          NpyType{'f', 4, at::kFloat},
    NpyType{'f', 8, at::kDouble},        NpyType{'c', 8, at::kComplexFloat},
    NpyType{'c', 16, at::kComplexDouble}};

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

/// The first group of `pattern` in the header's dictionary.
std::string entry(const std::string& text, const char* key, const char* pattern) {
  std::smatch match;
  const bool found = std::regex_search(text, match, std::regex(pattern));
  require(found, "NumPy header: expected a plain array with '{}', found {}", key,
          text.substr(0, 200));
  return match[1];
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  const std::regex number("[^,\\s]+");
  for (std::sregex_iterator it(text.begin(), text.end(), number), end; it != end; ++it) {
    const std::string word = it->str();
    std::int64_t length = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), length);
    require(error == std::errc() && stop == word.data() + word.size() && length >= 0,
            "NumPy header: expected lengths >= 0 in 'shape', found ({})", text);
    shape.push_back(length);
  }
  return shape;
}

void parse_descr(const std::string& descr, NpyHeader& header) {
  std::smatch match;
  const bool simple = std::regex_match(descr, match, std::regex("([<>|=])([a-zA-Z])(\\d{1,3})"));
  const bool text = descr.find_first_of("USaOV") != std::string::npos;
  require(simple && !text, "expected an array of numbers, found {}",
          descr.find('O') != std::string::npos ? "Python objects (pickled, never read): " + descr
                                               : "type " + descr);
  header.kind = match[2].str().front();
  header.item_bytes = std::stoll(match[3]);
  header.big_endian = match[1] == ">";
  require(bits_type(header.kind, header.item_bytes).has_value(),
          "expected bool, 8 to 64 bit integers, float32, float64, complex64 or complex128, found "
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
  parse_descr(entry(text, "descr", "'descr':\\s*'([^']*)'"), header);
  header.fortran_order = entry(text, "fortran_order", "'fortran_order':\\s*(True|False)") == "True";
  header.shape = parse_shape(entry(text, "shape", "'shape':\\s*\\(([^)]*)\\)"));
  header.header_bytes = 8 + length_bytes + length;
  return header;
}

FileArray read_npy(const ByteSource& source, std::int64_t total_bytes) {
  const NpyHeader header = read_npy_header(source);
  const std::int64_t bytes = checked_bytes(header.shape, header.item_bytes);
  require(header.header_bytes + bytes == total_bytes,
          "expected {} bytes of data for shape ({}), found {}", bytes,
          fmt::join(header.shape, ", "), total_bytes - header.header_bytes);
  at::Tensor flat =
      at::empty({bytes / header.item_bytes}, *bits_type(header.kind, header.item_bytes));
  char* data = static_cast<char*>(flat.mutable_data_ptr());
  source(data, bytes);
  if (header.kind == 'b') {  // any other byte than 0 and 1 in a bool is undefined behaviour later
    for (std::int64_t i = 0; i < bytes; ++i) data[i] = data[i] != 0;
  }
  if (header.big_endian) {
    swap_bytes(data, bytes, header.kind == 'c' ? header.item_bytes / 2 : header.item_bytes);
  }
  if (header.kind == 'u' && header.item_bytes > 1) flat = from_unsigned_bits(flat);
  const bool integer = header.kind == 'u' || header.kind == 'i';
  return {in_numpy_shape(flat, header),
          integer ? integer_ceiling(header.item_bytes, header.kind == 'i') : 0};
}

FileArray read_npy_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto size = std::filesystem::file_size(file, error);
  require(!error, "{}: could not be read: {}", file.string(), error.message());
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

}  // namespace ptyche
