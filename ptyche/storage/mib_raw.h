// Merlin's raw modes: what the Medipix3 chips send, not yet in the order of the pixels.
#pragma once

#include <cstdint>
#include <memory>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {

/// How a raw frame lies in a MIB file. Facts: Quantum Detectors' manual of the MIB format;
/// LiberTEM's reader. A row of a chip is sent backwards in words of 64 bits, big endian: 64 pixels
/// of 1 bit (a word's lowest bit is the first pixel), 8 of a byte (6-bit mode) or 4 of two bytes
/// (12-bit mode). In 24-bit mode two frames of 12 bits follow one another, high bits first. Of four
/// chips in a square a row of the file holds one row of each: lower right, lower left, upper right,
/// upper left; the lower two lie upside down.
struct MibRaw {
  int bits = 12;                        ///< 1, 6, 12 or 24
  bool quad = false;                    ///< four chips, 2 x 2
  std::int64_t chip = 256;              ///< rows and columns of a chip
  std::int64_t offset = 0, stride = 0;  ///< of the first frame's data, and from one to the next

  std::int64_t size() const { return quad ? 2 * chip : chip; }
  std::int64_t frame_bytes() const {
    const int stored = bits == 24 ? 32 : bits == 12 ? 16 : bits == 6 ? 8 : 1;
    return size() * size() * stored / 8;
  }
};

/// uint8 (1 and 6 bits), int16 or int32 frames.
std::unique_ptr<FrameStack> mib_raw_stack(std::shared_ptr<const ByteReader> file, const MibRaw& raw,
                                          std::int64_t frames);

}  // namespace ptyche
