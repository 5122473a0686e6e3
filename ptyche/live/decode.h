// From the bytes of a message to what it says, one function per dialect. All of it comes from a
// socket: no byte is trusted, no size is believed before the bytes are there, nothing is executed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptyche/live/message.h"

namespace ptyche {

/// What a user says of a stream behind the '?' of its URL.
struct DialectOptions {
  std::string channel;        ///< V2: which threshold; empty = the first one
  std::string x, y;           ///< PandA: datasets of the two axes
  double scale = 1;           ///< PandA: metres per unit of these
  std::int64_t upsample = 1;  ///< PandA: samples per pattern, whose mean is the position
};

/// A frame of more pixels, or a text of more bytes, is damage or malice.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;
inline constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 24;

/// What a source remembers from one message to the next.
struct DialectState {
  std::map<std::int64_t, double> waiting_x, waiting_y;  ///< PandA: samples whose partner is missing
};

/// The messages in the parts of one: most often one, none where it says nothing that matters here.
/// Throws InvalidInput for bytes that are not of the dialect.
///   dialect  "eiger2" (DECTRIS stream V2, CBOR), "eiger1" (V1, JSON and blobs), "json" (ours,
///            docs/live.md, and what holoptycho sends)
std::vector<LiveMessage> decode(const std::string& dialect,
                                const std::vector<std::string_view>& parts,
                                const DialectOptions& options, DialectState& state);

std::vector<LiveMessage> decode_eiger2(std::string_view bytes, const DialectOptions& options);
std::vector<LiveMessage> decode_json(const std::vector<std::string_view>& parts,
                                     const DialectOptions& options, DialectState& state);

/// The message in the dialect "json": what records of sources without messages hold, and what
/// tests send.
RawMessage encode_json(const LiveMessage& message);

/// An image (rows, cols) out of its bytes.
///   type      NumPy's name: uint8, uint16, uint32, int16, int32, float32, float64
///   encoding  "<" plain, "lz4<" one LZ4 block, "bs16-lz4<" HDF5's bitshuffle and LZ4,
///             "bs16-lz4-bare<" the same without its header (areaDetector), "lz4-hdf5<" blocks of
///             LZ4 as HDF5's filter has them, "blosc<" one chunk of Blosc
/// Throws InvalidInput for other types and encodings, sizes beyond kMostPixels, too few or damaged
/// bytes. `ceiling` is the largest value of an integer type, else 0.
at::Tensor image_of(std::string_view bytes, const std::string& encoding, const std::string& type,
                    std::int64_t rows, std::int64_t cols, double* ceiling = nullptr);

}  // namespace ptyche
