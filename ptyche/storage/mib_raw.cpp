#include "ptyche/storage/mib_raw.h"

#include <cmath>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/array.h"

namespace ptyche {
namespace {

/// Pixels that a word of 8 bytes holds.
std::int64_t pixels_of_word(int bits) { return bits == 1 ? 64 : bits == 6 ? 8 : 4; }

/// The pixel at `index` of a row of a chip, as it was sent.
std::int32_t sent_pixel(const std::uint8_t* row, std::int64_t index, int bits) {
  const std::int64_t each = pixels_of_word(bits), place = index % each;
  const std::uint8_t* const word = row + index / each * 8;
  if (bits == 1) return word[7 - place / 8] >> (place % 8) & 1;
  if (bits == 6) return word[7 - place];
  return word[2 * (3 - place)] << 8 | word[2 * (3 - place) + 1];
}

template <typename T>
class Decoder {
 public:
  Decoder(const MibRaw& raw, T* to) : raw_(raw), to_(to) {}

  /// Adds the frame's pixels times `factor`.
  void add(const std::uint8_t* from, int bits, std::int32_t factor) const {
    const std::int64_t chip = raw_.chip, row_bytes = chip / pixels_of_word(bits) * 8;
    for (std::int64_t row = 0; row < chip; ++row) {
      if (!raw_.quad) {
        add_row(from + row * row_bytes, bits, factor, row, 0, false);
        continue;
      }
      const std::uint8_t* const four = from + 4 * row * row_bytes;
      add_row(four + 3 * row_bytes, bits, factor, row, 0, false);
      add_row(four + 2 * row_bytes, bits, factor, row, chip, false);
      add_row(four + row_bytes, bits, factor, 2 * chip - 1 - row, 0, true);
      add_row(four, bits, factor, 2 * chip - 1 - row, chip, true);
    }
  }

 private:
  void add_row(const std::uint8_t* from, int bits, std::int32_t factor, std::int64_t row,
               std::int64_t left, bool reversed) const {
    T* const out = to_ + row * raw_.size() + left;
    for (std::int64_t i = 0; i < raw_.chip; ++i) {
      T& pixel = out[reversed ? raw_.chip - 1 - i : i];
      pixel = static_cast<T>(pixel + factor * sent_pixel(from, i, bits));
    }
  }

  const MibRaw& raw_;
  T* to_;
};

template <typename T>
void decode(const std::vector<std::uint8_t>& bytes, const MibRaw& raw, at::Tensor& frame) {
  const Decoder<T> decoder(raw, frame.mutable_data_ptr<T>());
  if (raw.bits != 24) return decoder.add(bytes.data(), raw.bits, 1);
  decoder.add(bytes.data(), 12, 1 << 12);
  decoder.add(bytes.data() + bytes.size() / 2, 12, 1);
}

class MibRawStack : public FrameStack {
 public:
  MibRawStack(std::shared_ptr<const ByteReader> file, const MibRaw& raw, std::int64_t frames)
      : FrameStack({.frames = frames,
                    .rows = raw.size(),
                    .cols = raw.size(),
                    .type = raw.bits == 24   ? at::kInt
                            : raw.bits == 12 ? at::kShort
                                             : at::kByte,
                    .ceiling = std::ldexp(1.0, raw.bits) - 1}),
        file_(std::move(file)),
        raw_(raw) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    on_all_cores(to.size(0), [&](std::int64_t i) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(raw_.frame_bytes()));
      file_->read(raw_.offset + (first + i) * raw_.stride, raw_.frame_bytes(), bytes.data());
      at::Tensor frame = at::zeros({shape_.rows, shape_.cols}, shape_.type);
      if (raw_.bits == 24)
        decode<std::int32_t>(bytes, raw_, frame);
      else if (raw_.bits == 12)
        decode<std::int16_t>(bytes, raw_, frame);
      else
        decode<std::uint8_t>(bytes, raw_, frame);
      to.select(0, i).copy_(cut(frame, window));
    });
  }

 private:
  std::shared_ptr<const ByteReader> file_;
  MibRaw raw_;
};

}  // namespace

std::unique_ptr<FrameStack> mib_raw_stack(std::shared_ptr<const ByteReader> file, const MibRaw& raw,
                                          std::int64_t frames) {
  require(raw.bits == 1 || raw.bits == 6 || raw.bits == 12 || raw.bits == 24,
          "expected Merlin's raw mode of 1, 6, 12 or 24 bits, found {}", raw.bits);
  return std::make_unique<MibRawStack>(std::move(file), raw, frames);
}

}  // namespace ptyche
