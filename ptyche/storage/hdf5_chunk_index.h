// Where the chunks of a dataset lie, read from the file itself: the library (1.10) goes through all
// chunks to find one, so that to ask it for each takes as long as the square of their number.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "ptyche/storage/frame_stack.h"

namespace ptyche {

/// A chunk as the file has it.
struct IndexedChunk {
  std::vector<std::int64_t> offset;  ///< of its first element
  std::int64_t at = 0, bytes = 0;    ///< in the file, from HDF5's address 0 on
  std::uint32_t skipped = 0;         ///< bit i: filter i was not applied
};

/// All chunks that were written, of a dataset of `rank` axes whose index is a B-tree of version 1,
/// the format of files that do not ask for a later one (HDF5 File Format Specification 3.0,
/// III.A.1, IV.A.1, IV.A.2.i). Nothing where it is another one, or more than `most` chunks, or
/// where anything is not as the specification says: then the library has to be asked.
///   base  where byte 0 of HDF5's addresses lies
std::optional<std::vector<IndexedChunk>> chunks_by_tree(hid_t dataset, const ByteReader& file,
                                                        std::int64_t base, std::size_t rank,
                                                        std::size_t most);

}  // namespace ptyche
