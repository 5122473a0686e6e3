// CBOR (RFC 8949) as a tree of values that point into the message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ptyche {

/// One item. Texts and byte strings are views of the message, which must outlive them.
struct CborValue {
  enum class Kind { nothing, integer, number, truth, text, bytes, array, map, tag };
  Kind kind = Kind::nothing;
  double number = 0;        ///< of integers below 2^53, floats and truths (0, 1)
  std::uint64_t whole = 0;  ///< of unsigned integers; of a tag its number
  std::string_view text;    ///< texts and byte strings
  std::vector<CborValue>
      items;  ///< of an array; keys and values in turn of a map; what a tag marks

  /// The value under a key of a map; nothing where there is none.
  const CborValue* at(std::string_view key) const;
  bool is(Kind other) const { return kind == other; }
};

/// The one item that the bytes hold. Throws InvalidInput for bytes that are no CBOR, go on behind
/// the item, nest deeper than kDeepestCbor or have more than kMostCborItems items.
CborValue parse_cbor(std::string_view bytes);

inline constexpr std::size_t kDeepestCbor = 24;
inline constexpr std::size_t kMostCborItems = 100'000;

}  // namespace ptyche
