// Messages of every dialect, good ones and hostile ones.
#include "ptyche/live/decode.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <string>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/live/cbor.h"
#include "tests/support/refusal.h"

namespace ptyche {
namespace {

// CBOR by hand (RFC 8949, section 3): major type in the upper three bits, then the value.
std::string head(int major, std::uint64_t value) {
  std::string bytes;
  const char kind = static_cast<char>(major << 5);
  if (value < 24) return {static_cast<char>(kind | static_cast<char>(value))};
  const int size = value < 256 ? 1 : value < 65536 ? 2 : value < (std::uint64_t{1} << 32) ? 4 : 8;
  bytes += static_cast<char>(kind | (size == 1 ? 24 : size == 2 ? 25 : size == 4 ? 26 : 27));
  for (int i = size; i-- > 0;) bytes += static_cast<char>(value >> (8 * i) & 255);
  return bytes;
}
std::string whole(std::uint64_t value) { return head(0, value); }
std::string text(const std::string& value) { return head(3, value.size()) + value; }
std::string blob(const std::string& value) { return head(2, value.size()) + value; }
std::string tag(std::uint64_t number, const std::string& item) { return head(6, number) + item; }
std::string image(std::uint64_t rows, std::uint64_t cols, const std::string& typed) {
  return tag(40, head(4, 2) + head(4, 2) + whole(rows) + whole(cols) + typed);
}
std::string image_message(const std::string& array, std::uint64_t index = 7) {
  return head(5, 4) + text("type") + text("image") + text("series_id") + whole(3) +
         text("image_id") + whole(index) + text("data") + head(5, 1) + text("threshold_1") + array;
}

/// 2 x 3 pixels 1, 2, 3, 4, 5, 65535 as uint16, little endian.
std::string six_pixels() { return {"\1\0\2\0\3\0\4\0\5\0\xff\xff", 12}; }

FrameMessage frame_of(const std::vector<LiveMessage>& messages) {
  return std::get<FrameMessage>(messages.at(0));
}

/// LZ4 blocks as HDF5's filter has them: size, block size, then each block with its size.
std::string hdf5_lz4(const std::string& plain) {
  std::string packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(plain.size()))),
                     0);
  packed.resize(static_cast<std::size_t>(LZ4_compress_default(plain.data(), packed.data(),
                                                              static_cast<int>(plain.size()),
                                                              static_cast<int>(packed.size()))));
  const auto big = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = bytes; i-- > 0;) out += static_cast<char>(value >> (8 * i) & 255);
    return out;
  };
  return big(plain.size(), 8) + big(plain.size(), 4) + big(packed.size(), 4) + packed;
}

TEST(DecodeEiger2, GivesThePixelsOfAPlainImageWithItsIndexAndCeiling) {
  const FrameMessage frame =
      frame_of(decode_eiger2(image_message(image(2, 3, tag(69, blob(six_pixels())))), {}));
  EXPECT_EQ(frame.series, 3);
  EXPECT_EQ(frame.index, 7);
  EXPECT_EQ(frame.ceiling, 65535);
  EXPECT_TRUE(at::equal(frame.counts.to(at::kInt),
                        at::tensor({1, 2, 3, 4, 5, 65535}, at::kInt).view({2, 3})));
}

TEST(DecodeEiger2, UnpacksLz4WithTheFramingOfHdf5) {
  std::string pixels;
  for (int i = 0; i < 4096; ++i) pixels += static_cast<char>(i % 7);
  const std::string packed =
      tag(56500, head(4, 3) + text("lz4") + whole(0) + blob(hdf5_lz4(pixels)));
  const FrameMessage frame =
      frame_of(decode_eiger2(image_message(image(64, 64, tag(64, packed))), {}));
  EXPECT_EQ(frame.counts.sizes(), (std::vector<std::int64_t>{64, 64}));
  EXPECT_EQ(frame.counts[63][63].item<int>(), 4095 % 7);
}

TEST(DecodeEiger2, TakesWhatTheStartSaysOfTheBeam) {
  const auto number = [](double value) {
    std::uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::string bytes = "\xfb";
    for (int i = 8; i-- > 0;) bytes += static_cast<char>(bits >> (8 * i) & 255);
    return bytes;
  };
  const std::string start = head(5, 6) + text("type") + text("start") + text("series_id") +
                            whole(9) + text("number_of_images") + whole(100) +
                            text("incident_energy") + number(6200) + text("pixel_size_x") +
                            number(75e-6) + text("detector_translation") + head(4, 3) + number(0) +
                            number(0) + number(1.5);
  const auto found = std::get<SeriesStart>(decode_eiger2(start, {}).at(0));
  EXPECT_EQ(found.series, 9);
  EXPECT_EQ(found.frames, 100);
  EXPECT_EQ(found.geometry.energy_ev, 6200);
  EXPECT_EQ(found.geometry.detector_pixel_m, 75e-6);
  EXPECT_EQ(found.geometry.distance_m, 1.5);
}

TEST(DecodeEiger2, RefusesWhatClaimsMoreThanItHoldsBeforeItTakesMemory) {
  const std::string bytes = tag(69, blob(six_pixels()));
  for (const std::string& message :
       {image_message(image(31623, 31623, bytes)),                // 10^9 pixels
        image_message(image(1ull << 62, 4, bytes)),               // the product wraps
        image_message(image(2, 4, bytes)),                        // too few bytes
        image_message(image(2, 3, tag(99, blob(six_pixels())))),  // an unknown type
        image_message(image(8000, 8000,
                            tag(69, tag(56500, head(4, 3) + text("lz4") + whole(0) + blob("x"))))),
        image_message(
            image(2, 3, tag(69, tag(56500, head(4, 3) + text("zip") + whole(0) + blob("x")))))})
    EXPECT_THROW(decode_eiger2(message, {}), InvalidInput);
  EXPECT_THROW(decode_eiger2(head(5, 2) + text("type") + text("start") + text("number_of_images") +
                                 whole(1ull << 60),
                             {}),
               InvalidInput);
}

TEST(ParseCbor, RefusesBombs) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += head(4, 1);
  EXPECT_NE(message_of([&] { parse_cbor(deep); }).find("nested deeper"), std::string::npos);
  EXPECT_NE(message_of([] { parse_cbor(head(4, 1ull << 40)); }).find("a list of"),
            std::string::npos);
  EXPECT_THROW(parse_cbor(head(5, 1ull << 63)), InvalidInput);
  EXPECT_THROW(parse_cbor(head(2, 1ull << 40) + "x"), InvalidInput);
  std::string many = head(4, kMostCborItems);
  for (std::size_t i = 0; i < kMostCborItems; ++i) many += whole(1);
  EXPECT_THROW(parse_cbor(many), InvalidInput);
  EXPECT_THROW(parse_cbor(whole(1) + whole(2)), InvalidInput) << "bytes behind the item";
  EXPECT_THROW(parse_cbor(std::string("\xff")), InvalidInput) << "an end without a beginning";
  EXPECT_THROW(parse_cbor(""), InvalidInput);
}

TEST(DecodeEiger2, NeverCrashesOnDamagedMessages) {
  const std::string good = image_message(image(2, 3, tag(69, blob(six_pixels()))));
  int read = 0, refused = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    RandomStream stream(1, Purpose::live_replay, i);
    std::string bytes = good;
    for (int k = 0; k < 3; ++k)
      bytes[static_cast<std::size_t>(stream.below(static_cast<std::int64_t>(bytes.size())))] =
          static_cast<char>(stream.below(256));
    if (i % 3 == 0)
      bytes.resize(static_cast<std::size_t>(stream.below(static_cast<std::int64_t>(bytes.size()))));
    try {
      decode_eiger2(bytes, {});
      ++read;
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  EXPECT_GT(read, 100);  // changed pixels are still a message
  EXPECT_GT(refused, 5000);
}

std::vector<LiveMessage> json(const std::vector<std::string>& parts,
                              const DialectOptions& options = {}) {
  DialectState state;
  return decode("json", {parts.begin(), parts.end()}, options, state);
}

TEST(DecodeJson, ReadsFramesOfStreamV1WithColumnsFirst) {
  const FrameMessage frame = frame_of(
      json({R"({"htype":"dimage-1.0","series":2,"frame":5,"hash":""})",
            R"({"htype":"dimage_d-1.0","shape":[3,2],"type":"uint16","encoding":"<","size":12})",
            six_pixels(), "{}"}));
  EXPECT_EQ(frame.index, 5);
  EXPECT_EQ(frame.counts.sizes(), (std::vector<std::int64_t>{2, 3}));
}

TEST(DecodeJson, ReadsAProxysFramesThatHaveNoType) {
  EXPECT_EQ(frame_of(json({R"({"frame":4})", R"({"shape":[3,2],"type":"uint16","encoding":"<"})",
                           six_pixels()}))
                .index,
            4);
}

TEST(DecodeJson, ReadsPositionsAsColumnAndRowInMetres) {
  const auto places = std::get<PositionsMessage>(
      json({R"({"htype":"ptyche-positions-1.0","first":10,"unit":"um","x":[1,2],"y":[3,5]})"})
          .at(0));
  EXPECT_EQ(places.first, 10);
  EXPECT_TRUE(places.metres);
  EXPECT_TRUE(at::allclose(places.positions,
                           at::tensor({3e-6, 1e-6, 5e-6, 2e-6}, at::kDouble).view({2, 2})));
}

TEST(DecodeJson, JoinsPandasAxesBySampleNumberAndTakesTheMeanOfEachPattern) {
  DialectState state;
  const DialectOptions options{.x = "X", .y = "Y", .scale = 1e-6, .upsample = 2};
  const auto block = [&](const std::string& axis, const std::string& data, int first) {
    const std::string part = R"({"msg_type":"data","datasets":{")" + axis + R"(":{"data":[)" +
                             data + R"(],"starting_sample_number":)" + std::to_string(first) +
                             "}}}";
    return decode("json", {part}, options, state);
  };
  EXPECT_TRUE(block("X", "1,3,5,7", 4).empty());  // the other axis is not there yet
  const auto found = block("Y", "10,20,30,50", 4);
  ASSERT_EQ(found.size(), 2u);
  const auto last = std::get<PositionsMessage>(found[1]);
  EXPECT_EQ(last.first, 3);
  EXPECT_TRUE(at::allclose(last.positions, at::tensor({40e-6, 6e-6}, at::kDouble).view({1, 2})));
}

TEST(DecodeJson, RefusesOtherMessagesInWords) {
  for (const std::vector<std::string>& parts : std::vector<std::vector<std::string>>{
           {"no json"},
           {"[1]"},
           {R"({"htype":"pickle"})"},
           {R"({"htype":"ptyche-frame-1.0","shape":[2,2]})"},
           {R"({"htype":"ptyche-frame-1.0","index":-1,"shape":[2,3],"type":"uint16"})",
            six_pixels()},
           {R"({"htype":"ptyche-frame-1.0","index":1,"shape":[2,3],"type":"object"})",
            six_pixels()},
           {R"({"htype":"ptyche-frame-1.0","index":1,"shape":[1000000,1000],"type":"uint16"})",
            six_pixels()},
           {R"({"htype":"ptyche-frame-1.0","index":1e300,"shape":[2,3],"type":"uint16"})",
            six_pixels()},
           {R"({"htype":"ptyche-positions-1.0","x":[1],"y":[1,2]})"},
           {R"({"htype":"ptyche-positions-1.0","x":["a"],"y":[1]})"},
           {std::string(100'000, '[')},
           {}})
    EXPECT_THROW(json(parts), InvalidInput) << (parts.empty() ? "" : parts[0].substr(0, 60));
}

TEST(EncodeJson, ComesBackAsItWas) {
  SeriesStart start{
      .series = 4, .frames = 12, .geometry = {.energy_ev = 8000, .object_pixel_m = 1e-8}};
  start.mask = at::tensor({1, 0, 1, 1}, at::kByte).to(at::kBool).view({2, 2});
  start.probe = at::complex(at::ones({1, 2, 2}), at::full({1, 2, 2}, 2.0));
  start.probe_calibrated = true;
  const auto back = [](const LiveMessage& message) {
    const RawMessage raw = encode_json(message);
    return json(raw.parts).at(0);
  };
  const auto again = std::get<SeriesStart>(back(start));
  EXPECT_TRUE(at::equal(again.mask, start.mask));
  EXPECT_TRUE(at::equal(again.probe, start.probe));
  EXPECT_TRUE(again.probe_calibrated);
  EXPECT_EQ(again.geometry.object_pixel_m, 1e-8);
  const FrameMessage frame{
      .series = 4, .index = 3, .counts = at::arange(6, at::kShort).view({2, 3})};
  EXPECT_TRUE(at::equal(std::get<FrameMessage>(back(frame)).counts, frame.counts));
  const PositionsMessage places{2, at::tensor({1.25, -3.5}, at::kDouble).view({1, 2}), false};
  const auto same = std::get<PositionsMessage>(back(places));
  EXPECT_TRUE(at::equal(same.positions, places.positions));
  EXPECT_FALSE(same.metres);
  EXPECT_FALSE(std::get<SeriesEnd>(back(SeriesEnd{4, false})).of_frames);
}

}  // namespace
}  // namespace ptyche
