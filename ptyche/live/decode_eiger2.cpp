// DECTRIS stream V2: one CBOR map per message (github.com/dectris/documentation, stream_v2, and tag
// 56500 for packed byte strings); arrays by the tags of RFC 8746.
#include <fmt/format.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/live/cbor.h"
#include "ptyche/live/decode.h"

namespace ptyche {
namespace {

using Kind = CborValue::Kind;

constexpr std::uint64_t kMultiDimensional = 40, kPacked = 56500;

const CborValue& value_at(const CborValue& map, std::string_view key, Kind kind) {
  const CborValue* const found = map.at(key);
  require(found != nullptr && found->is(kind), "stream V2: expected '{}', found none of its kind",
          key);
  return *found;
}

/// A number that a sender may leave out; others than finite ones count as left out.
double number_at(const CborValue& map, std::string_view key) {
  const CborValue* const found = map.at(key);
  if (found == nullptr || !(found->is(Kind::number) || found->is(Kind::integer))) return 0;
  return std::isfinite(found->number) ? found->number : 0;
}

std::int64_t whole_at(const CborValue& map, std::string_view key, std::int64_t most) {
  const CborValue* const found = map.at(key);
  if (found == nullptr || !found->is(Kind::integer)) return 0;
  require(found->whole <= static_cast<std::uint64_t>(most), "stream V2: {} of {}", key,
          found->whole);
  return static_cast<std::int64_t>(found->whole);
}

/// NumPy's name for a typed array's tag, little endian or of one byte.
const char* type_of_tag(std::uint64_t tag) {
  switch (tag) {
    case 64:
      return "uint8";
    case 69:
      return "uint16";
    case 70:
      return "uint32";
    case 72:
      return "int8";
    case 77:
      return "int16";
    case 78:
      return "int32";
    case 85:
      return "float32";
    case 86:
      return "float64";
    default:
      return nullptr;
  }
}

/// Tag 40 of [[rows, cols], typed array], whose bytes may be packed.
at::Tensor image_in(const CborValue& value, double* ceiling) {
  require(
      value.is(Kind::tag) && value.whole == kMultiDimensional && value.items[0].items.size() == 2,
      "stream V2: expected an array of two dimensions (tag 40), found {}",
      value.is(Kind::tag) ? fmt::format("tag {}", value.whole) : "something else");
  const std::vector<CborValue>& pair = value.items[0].items;
  require(pair[0].is(Kind::array) && pair[0].items.size() == 2 && pair[1].is(Kind::tag),
          "stream V2: an array of {} dimensions", pair[0].items.size());
  const CborValue &rows = pair[0].items[0], &cols = pair[0].items[1];
  require(rows.is(Kind::integer) && cols.is(Kind::integer) && rows.whole <= kMostPixels &&
              cols.whole <= kMostPixels,
          "stream V2: an image of {} x {} pixels", rows.number, cols.number);
  const char* const type = type_of_tag(pair[1].whole);
  require(type != nullptr, "stream V2: an array of tag {}, which is no known type", pair[1].whole);
  const CborValue& bytes = pair[1].items[0];
  std::string encoding = "<";
  std::string_view data = bytes.text;
  if (bytes.is(Kind::tag) && bytes.whole == kPacked) {
    const std::vector<CborValue>& packed = bytes.items[0].items;
    require(packed.size() == 3 && packed[0].is(Kind::text) && packed[2].is(Kind::bytes),
            "stream V2: tag 56500 without name, number and bytes");
    require(packed[0].text == "bslz4" || packed[0].text == "lz4",
            "stream V2: packed by '{}', known are lz4 and bslz4", packed[0].text);
    encoding = packed[0].text == "lz4"
                   ? "lz4-hdf5<"
                   : fmt::format("bs{}-lz4<", 8 * std::min<std::uint64_t>(packed[1].whole, 64));
    data = packed[2].text;
  } else {
    require(bytes.is(Kind::bytes), "stream V2: an array without bytes");
  }
  return image_of(data, encoding, type, static_cast<std::int64_t>(rows.whole),
                  static_cast<std::int64_t>(cols.whole), ceiling);
}

/// Of a map from channels, that of the wanted one, or the first.
const CborValue& of_channel(const CborValue& channels, const std::string& wanted) {
  require(channels.is(Kind::map) && channels.items.size() >= 2, "stream V2: no channel");
  if (wanted.empty()) return channels.items[1];
  const CborValue* const found = channels.at(wanted);
  require(found != nullptr, "stream V2: no channel '{}'", wanted);
  return *found;
}

SeriesStart start_of(const CborValue& map, const DialectOptions& options) {
  SeriesStart start{.series = whole_at(map, "series_id", kLargestIndex),
                    .frames = whole_at(map, "number_of_images", kLargestIndex)};
  // The whole frame is taken into account before any memory is: see image_of.
  const double rows = number_at(map, "image_size_y"), cols = number_at(map, "image_size_x");
  require(rows * cols <= static_cast<double>(kMostPixels), "stream V2: images of {} x {} pixels",
          rows, cols);
  start.geometry = {.energy_ev = number_at(map, "incident_energy"),
                    .detector_pixel_m = number_at(map, "pixel_size_x"),
                    .exposure_s = number_at(map, "count_time")};
  const CborValue* const place = map.at("detector_translation");
  if (place != nullptr && place->is(Kind::array) && place->items.size() == 3 &&
      std::isfinite(place->items[2].number))
    start.geometry.distance_m = std::abs(place->items[2].number);
  const CborValue* const mask = map.at("pixel_mask");
  if (mask != nullptr && mask->is(Kind::map) && mask->items.size() >= 2)
    start.mask = image_in(of_channel(*mask, options.channel), nullptr).eq(0);
  return start;
}

}  // namespace

std::vector<LiveMessage> decode_eiger2(std::string_view bytes, const DialectOptions& options) {
  const CborValue map = parse_cbor(bytes);
  const std::string_view type = value_at(map, "type", Kind::text).text;
  if (type == "start") return {start_of(map, options)};
  const std::int64_t series = whole_at(map, "series_id", kLargestIndex);
  if (type == "end") return {SeriesEnd{series, true}};
  require(type == "image", "stream V2: a message of type '{}'", type);
  require(map.at("image_id") != nullptr, "stream V2: an image without image_id");
  FrameMessage frame{.series = series, .index = whole_at(map, "image_id", kLargestIndex)};
  frame.counts =
      image_in(of_channel(value_at(map, "data", Kind::map), options.channel), &frame.ceiling);
  return {std::move(frame)};
}

}  // namespace ptyche
