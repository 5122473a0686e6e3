#include "ptyche/live/decode.h"

#include <fmt/format.h>
#include <lz4.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/quantity.h"
#include "ptyche/storage/file_array.h"
#include "ptyche/storage/hdf5_filters.h"

namespace ptyche {
namespace {

using Header = nlohmann::json;

struct PixelType {
  const char* name;
  at::ScalarType type;  // that holds the bits
  bool is_unsigned, is_integer;
};

constexpr std::array<PixelType, 9> kTypes = {{{"uint8", at::kByte, false, true},
                                              {"int8", at::kChar, false, true},
                                              {"uint16", at::kShort, true, true},
                                              {"int16", at::kShort, false, true},
                                              {"uint32", at::kInt, true, true},
                                              {"int32", at::kInt, false, true},
                                              {"int64", at::kLong, false, true},
                                              {"float32", at::kFloat, false, false},
                                              {"float64", at::kDouble, false, false}}};

const PixelType& pixel_type(const std::string& name) {
  const auto* const found =
      std::ranges::find_if(kTypes, [&](const PixelType& t) { return name == t.name; });
  require(found != kTypes.end(),
          "pixels of type '{}': known are uint8 to uint32, int8 to int64, "
          "float32 and float64",
          name.substr(0, 40));
  return *found;
}

/// Bytes of bitshuffle and LZ4 with the header that HDF5's filter has before them: the unpacked
/// size and the usual block.
std::string with_hdf5_header(std::string_view packed, std::size_t bytes) {
  std::string whole(12, '\0');
  for (std::size_t i = 0; i < 8; ++i) whole[i] = static_cast<char>(bytes >> (56 - 8 * i));
  return whole.append(packed);
}

/// Into `to` of exactly `bytes` bytes.
void unpack(std::string_view from, const std::string& encoding, std::size_t element_bytes,
            std::uint8_t* to, std::size_t bytes) {
  const auto* const packed = reinterpret_cast<const std::uint8_t*>(from.data());
  if (encoding == "<" || encoding == "|") {
    require(from.size() == bytes, "expected {} bytes of pixels, found {}", bytes, from.size());
    std::memcpy(to, packed, bytes);
    return;
  }
  if (encoding == "lz4<") {
    const int found = LZ4_decompress_safe(from.data(), reinterpret_cast<char*>(to),
                                          static_cast<int>(from.size()), static_cast<int>(bytes));
    require(found >= 0 && static_cast<std::size_t>(found) == bytes,
            "damaged LZ4 block: expected {} bytes of pixels", bytes);
    return;
  }
  std::vector<std::uint8_t> unpacked_bytes;
  if (encoding == "lz4-hdf5<") {
    unpacked_bytes = unpacked(kLz4, {}, packed, from.size(), bytes);
  } else if (encoding == "blosc<") {
    unpacked_bytes = unpacked(kBlosc, {}, packed, from.size(), bytes);
  } else if (encoding == fmt::format("bs{}-lz4-bare<", 8 * element_bytes)) {
    return unpack(with_hdf5_header(from, bytes), fmt::format("bs{}-lz4<", 8 * element_bytes),
                  element_bytes, to, bytes);
  } else {
    require(encoding == fmt::format("bs{}-lz4<", 8 * element_bytes),
            "pixels of {} bytes packed by '{}', which is not known", element_bytes,
            encoding.substr(0, 40));
    const auto size = static_cast<unsigned>(element_bytes);
    unpacked_bytes = unpacked(kBitshuffle, {0, 0, size, 0, 2}, packed, from.size(), bytes);
  }
  require(unpacked_bytes.size() == bytes, "expected {} bytes of pixels, found {}", bytes,
          unpacked_bytes.size());
  std::memcpy(to, unpacked_bytes.data(), bytes);
}

}  // namespace

at::Tensor image_of(std::string_view bytes, const std::string& encoding, const std::string& type,
                    std::int64_t rows, std::int64_t cols, double* ceiling) {
  require(rows >= 1 && cols >= 1 && rows <= kMostPixels && cols <= kMostPixels / rows,
          "an image of {} x {} pixels: expected 1 to {}", rows, cols, kMostPixels);
  const PixelType& pixel = pixel_type(type);
  const auto element = static_cast<std::size_t>(at::elementSize(pixel.type));
  const std::size_t size = element * static_cast<std::size_t>(rows * cols);
  // No packing of the detectors makes bytes more than 255 times fewer: what claims to be more is
  // not given memory.
  require(size / 300 <= bytes.size(), "{} bytes cannot hold an image of {} x {} pixels",
          bytes.size(), rows, cols);
  at::Tensor image = at::empty({rows, cols}, pixel.type);
  unpack(bytes, encoding, element, static_cast<std::uint8_t*>(image.data_ptr()), size);
  if (ceiling != nullptr)
    *ceiling =
        pixel.is_integer ? integer_ceiling(static_cast<std::int64_t>(element), type[0] != 'u') : 0;
  return pixel.is_unsigned ? from_unsigned_bits(image) : image;
}

namespace {

constexpr int kDeepestJson = 16;

Header header_of(std::string_view text) {
  require(text.size() <= kMostHeaderBytes, "a header of {} bytes", text.size());
  require_shallow(std::string(text), "header", kDeepestJson);
  try {
    Header header = Header::parse(text);
    require(header.is_object(), "expected a JSON object as the header");
    return header;
  } catch (const Header::exception& error) {
    throw InvalidInput(fmt::format("the header is no JSON: {}", error.what()));
  }
}

/// A whole number 0..most; `otherwise` where there is none.
std::int64_t whole_at(const Header& header, const char* key, std::int64_t otherwise,
                      std::int64_t most = kLargestIndex) {
  if (!header.contains(key)) return otherwise;
  const Header& value = header[key];
  const bool fits =
      value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(most);
  require(fits, "{}: expected a whole number from 0 to {}, found {}", key, most,
          value.dump().substr(0, 40));
  return value.get<std::int64_t>();
}

double number_at(const Header& header, const char* key) {
  if (!header.contains(key) || !header[key].is_number()) return 0;
  const auto value = header[key].get<double>();
  return std::isfinite(value) ? value : 0;
}

std::string text_at(const Header& header, const char* key, const std::string& otherwise = "") {
  return header.contains(key) && header[key].is_string() ? header[key].get<std::string>()
                                                         : otherwise;
}

/// (first, second) of a list of two whole numbers.
std::pair<std::int64_t, std::int64_t> shape_of(const Header& header) {
  require(header.contains("shape") && header["shape"].is_array() && header["shape"].size() == 2 &&
              header["shape"][0].is_number_unsigned() && header["shape"][1].is_number_unsigned(),
          "shape: expected two whole numbers");
  return {header["shape"][0].get<std::int64_t>(), header["shape"][1].get<std::int64_t>()};
}

const std::string_view& part(const std::vector<std::string_view>& parts, std::size_t number) {
  require(number < parts.size(), "expected {} parts, found {}", number + 1, parts.size());
  return parts[number];
}

// DECTRIS stream V1, and proxies of it that leave `htype` out (holoptycho).

SeriesStart start_v1(const Header& header, const std::vector<std::string_view>& parts) {
  SeriesStart start{.series = whole_at(header, "series", 0)};
  if (parts.size() < 2) return start;
  const Header config = header_of(parts[1]);
  start.frames = whole_at(config, "nimages", 0) *
                 std::max<std::int64_t>(1, whole_at(config, "ntrigger", 1, 1'000'000));
  start.geometry = {.energy_ev = number_at(config, "photon_energy"),
                    .distance_m = std::abs(number_at(config, "detector_distance")),
                    .detector_pixel_m = number_at(config, "x_pixel_size"),
                    .exposure_s = number_at(config, "count_time")};
  return start;
}

FrameMessage frame_v1(const Header& header, const std::vector<std::string_view>& parts) {
  const Header what = header_of(part(parts, 1));
  const auto [cols, rows] = shape_of(what);  // x first
  FrameMessage frame{.series = whole_at(header, "series", 0),
                     .index = whole_at(header, "frame", 0)};
  frame.counts = image_of(part(parts, 2), text_at(what, "encoding", "<"), text_at(what, "type"),
                          rows, cols, &frame.ceiling);
  return frame;
}

// Ours (docs/live.md).

SeriesStart start_ours(const Header& header, const std::vector<std::string_view>& parts) {
  SeriesStart start{.series = whole_at(header, "series", 0),
                    .frames = whole_at(header, "frames", 0)};
  start.geometry = {.energy_ev = number_at(header, "energy_ev"),
                    .distance_m = number_at(header, "distance_m"),
                    .detector_pixel_m = number_at(header, "detector_pixel_m"),
                    .exposure_s = number_at(header, "exposure_s"),
                    .object_pixel_m = number_at(header, "object_pixel_m")};
  std::size_t next = 1;
  if (header.contains("mask_shape")) {
    const auto [rows, cols] = shape_of({{"shape", header["mask_shape"]}});
    start.mask = image_of(part(parts, next++), "<", "uint8", rows, cols).ne(0);
  }
  if (const std::int64_t modes = whole_at(header, "probe_modes", 0, 64); modes > 0) {
    const std::int64_t size = whole_at(header, "probe_size", 0, 8192);
    const at::Tensor parts_of_it =
        image_of(part(parts, next), "<", "float32", modes * size, 2 * size);
    start.probe = at::view_as_complex(parts_of_it.view({modes, size, size, 2}));
    start.probe_calibrated = whole_at(header, "probe_calibrated", 0, 1) == 1;
  }
  return start;
}

FrameMessage frame_ours(const Header& header, const std::vector<std::string_view>& parts) {
  const auto [rows, cols] = shape_of(header);
  require(header.contains("index"), "a frame without index");
  FrameMessage frame{.series = whole_at(header, "series", 0),
                     .index = whole_at(header, "index", 0)};
  frame.counts = image_of(part(parts, 1), text_at(header, "encoding", "<"), text_at(header, "type"),
                          rows, cols, &frame.ceiling);
  // What a record keeps of a frame that was read from a file, whose type may have been another.
  if (header.contains("ceiling")) frame.ceiling = number_at(header, "ceiling");
  return frame;
}

at::Tensor list_of_numbers(const Header& header, const char* key) {
  require(header.contains(key) && header[key].is_array(), "positions: expected a list '{}'", key);
  at::Tensor values = at::empty({static_cast<std::int64_t>(header[key].size())}, at::kDouble);
  auto* to = values.data_ptr<double>();
  for (const Header& each : header[key]) {
    require(each.is_number(), "positions: expected numbers in '{}'", key);
    *to++ = each.get<double>();
  }
  return values;
}

/// Positions (k, 2) float64 as row and column, finite, of at most kLargestIndex patterns.
PositionsMessage checked(PositionsMessage message) {
  require(at::isfinite(message.positions).all().item<bool>(), "positions: expected finite numbers");
  require(message.first + message.positions.size(0) <= kLargestIndex,
          "positions: an index beyond {}", kLargestIndex);
  return message;
}

PositionsMessage positions_ours(const Header& header, const std::vector<std::string_view>& parts) {
  PositionsMessage message{.first = whole_at(header, "first", 0)};
  if (parts.size() > 1) {
    const std::int64_t count = whole_at(header, "count", 0);
    const at::Tensor xy = image_of(parts[1], "<", "float64", count, 2);
    message.positions = xy.flip(1).contiguous();
  } else {
    const at::Tensor x = list_of_numbers(header, "x"), y = list_of_numbers(header, "y");
    require(x.size(0) == y.size(0), "positions: {} of x and {} of y", x.size(0), y.size(0));
    message.positions = at::stack({y, x}, 1);
  }
  const std::string unit = text_at(header, "unit", "m");
  message.metres = unit != "px";
  const auto metres = metres_in(unit);
  require(metres || !message.metres, "positions: unit '{}': known are m, mm, um, nm, A, pm and px",
          unit.substr(0, 20));
  if (message.metres && *metres != 1) message.positions = message.positions * *metres;
  return checked(std::move(message));
}

// PandA's captures, as holoptycho sends them: blocks of samples, each axis on its own.

void keep_samples(const Header& sets, const std::string& name,
                  std::map<std::int64_t, double>& samples) {
  if (name.empty() || !sets.contains(name)) return;
  const Header& set = sets[name];
  require(set.is_object(), "PandA: expected an object for {}", name);
  const at::Tensor values = list_of_numbers(set, "data");
  std::int64_t at = whole_at(set, "starting_sample_number", 0);
  for (const double value :
       std::vector<double>(values.data_ptr<double>(), values.data_ptr<double>() + values.numel())) {
    require(samples.size() < 10'000'000, "PandA: {} samples wait for the other axis",
            samples.size());
    samples[at++] = value;
  }
}

/// Every pattern of which all samples of both axes are there.
std::vector<LiveMessage> positions_of_panda(const Header& header, const DialectOptions& options,
                                            DialectState& state) {
  if (!header.contains("datasets") || !header["datasets"].is_object()) return {};
  require(
      !options.x.empty() && !options.y.empty(),
      "PandA: x=DATASET and y=DATASET behind the '?' of the source say which datasets are axes");
  keep_samples(header["datasets"], options.x, state.waiting_x);
  keep_samples(header["datasets"], options.y, state.waiting_y);
  std::vector<LiveMessage> found;
  const std::int64_t each = std::max<std::int64_t>(1, options.upsample);
  for (auto first = state.waiting_x.begin(); first != state.waiting_x.end();) {
    const std::int64_t pattern = first->first / each;
    double x = 0, y = 0;
    std::int64_t together = 0;
    auto last = first;
    for (; last != state.waiting_x.end() && last->first / each == pattern; ++last)
      if (const auto other = state.waiting_y.find(last->first); other != state.waiting_y.end()) {
        x += last->second, y += other->second;
        ++together;
      }
    if (together == each) {
      const double scale = options.scale / static_cast<double>(each);
      found.push_back(
          checked({pattern, at::tensor({y * scale, x * scale}, at::kDouble).view({1, 2}), true}));
      for (std::int64_t i = 0; i < each; ++i) state.waiting_y.erase(pattern * each + i);
      state.waiting_x.erase(first, last);
    }
    first = last;
  }
  return found;
}

}  // namespace

std::vector<LiveMessage> decode_json(const std::vector<std::string_view>& parts,
                                     const DialectOptions& options, DialectState& state) {
  const Header header = header_of(part(parts, 0));
  const std::string type = text_at(header, "htype");
  if (type == "ptyche-start-1.0") return {start_ours(header, parts)};
  if (type == "ptyche-frame-1.0") return {frame_ours(header, parts)};
  if (type == "ptyche-positions-1.0") return {positions_ours(header, parts)};
  if (type == "ptyche-end-1.0")
    return {
        SeriesEnd{whole_at(header, "series", 0), text_at(header, "of", "frames") != "positions"}};
  if (type.starts_with("dheader-")) return {start_v1(header, parts)};
  if (type.starts_with("dimage")) return {frame_v1(header, parts)};
  if (type.starts_with("dseries_end")) return {SeriesEnd{whole_at(header, "series", 0), true}};
  const std::string panda = text_at(header, "msg_type");
  if (panda == "data") return positions_of_panda(header, options, state);
  if (panda == "stop") return {SeriesEnd{0, false}};
  if (!panda.empty()) return {};
  require(type.empty() && header.contains("frame"), "a message of type '{}', which is not known",
          type.substr(0, 40));
  return {frame_v1(header, parts)};
}

std::vector<LiveMessage> decode(const std::string& dialect,
                                const std::vector<std::string_view>& parts,
                                const DialectOptions& options, DialectState& state) {
  try {
    if (dialect == "eiger2") return decode_eiger2(part(parts, 0), options);
    return decode_json(parts, options, state);
  } catch (const Header::exception& error) {
    throw InvalidInput(fmt::format("a header with other kinds of values: {}", error.what()));
  } catch (const std::bad_alloc&) {
    throw InvalidInput("a message that does not fit into memory");
  }
}

namespace {

std::string bytes_text(const at::Tensor& values) {
  const at::Tensor plain = values.contiguous();
  return {static_cast<const char*>(plain.data_ptr()), plain.nbytes()};
}

RawMessage encoded(const SeriesStart& start) {
  Header header = {{"htype", "ptyche-start-1.0"},
                   {"series", start.series},
                   {"frames", start.frames},
                   {"energy_ev", start.geometry.energy_ev},
                   {"distance_m", start.geometry.distance_m},
                   {"detector_pixel_m", start.geometry.detector_pixel_m},
                   {"exposure_s", start.geometry.exposure_s},
                   {"object_pixel_m", start.geometry.object_pixel_m}};
  RawMessage raw{"json", {""}};
  if (start.mask.defined()) {
    header["mask_shape"] = {start.mask.size(0), start.mask.size(1)};
    raw.parts.push_back(bytes_text(start.mask.to(at::kByte)));
  }
  if (start.probe.defined()) {
    header["probe_modes"] = start.probe.size(0);
    header["probe_size"] = start.probe.size(1);
    header["probe_calibrated"] = start.probe_calibrated ? 1 : 0;
    raw.parts.push_back(bytes_text(at::view_as_real(start.probe.contiguous())));
  }
  raw.parts[0] = header.dump();
  return raw;
}

RawMessage encoded(const FrameMessage& frame) {
  const at::Tensor counts = frame.counts.contiguous();
  const auto* const type = std::ranges::find_if(
      kTypes, [&](const PixelType& t) { return t.type == counts.scalar_type() && !t.is_unsigned; });
  require(type != kTypes.end(), "a frame of a type that no message has");
  const Header header = {{"htype", "ptyche-frame-1.0"}, {"series", frame.series},
                         {"index", frame.index},        {"shape", {counts.size(0), counts.size(1)}},
                         {"type", type->name},          {"ceiling", frame.ceiling}};
  return {"json", {header.dump(), bytes_text(counts)}};
}

RawMessage encoded(const PositionsMessage& message) {
  const Header header = {{"htype", "ptyche-positions-1.0"},
                         {"first", message.first},
                         {"count", message.positions.size(0)},
                         {"unit", message.metres ? "m" : "px"}};
  return {"json", {header.dump(), bytes_text(message.positions.flip(1))}};
}

RawMessage encoded(const SeriesEnd& end) {
  const Header header = {{"htype", "ptyche-end-1.0"},
                         {"series", end.series},
                         {"of", end.of_frames ? "frames" : "positions"}};
  return {"json", {header.dump()}};
}

RawMessage encoded(const DamagedMessage& damaged) { return {"json", {damaged.why}}; }

}  // namespace

RawMessage encode_json(const LiveMessage& message) {
  return std::visit([](const auto& each) { return encoded(each); }, message);
}

}  // namespace ptyche
