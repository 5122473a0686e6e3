// The packings of HDF5 that detectors and programs of the field use and HDF5 itself lacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptyche {

/// Numbers under which the HDF Group lists the filters.
enum Hdf5Filter : int {
  kBlosc = 32001,
  kLzf = 32000,
  kLz4 = 32004,
  kBitshuffle = 32008,
  kZstd = 32015,
};

/// Makes bitshuffle (alone, with LZ4 or zstd), LZ4, LZF, zstd and Blosc known to the library, for
/// reading; a filter that is known already, or lies in HDF5_PLUGIN_PATH, is left alone. May be
/// called any number of times.
void register_hdf5_filters();

/// One chunk's bytes, unpacked.
///   filter      one of Hdf5Filter
///   parameters  the dataset's "client data" of this filter
/// Throws InvalidInput for damaged bytes and for other filters; never writes or allocates beyond
/// `most_bytes`, the size of an unpacked chunk.
std::vector<std::uint8_t> unpacked(int filter, const std::vector<unsigned>& parameters,
                                   const std::uint8_t* packed, std::size_t bytes,
                                   std::size_t most_bytes);

/// Bits back to elements: the inverse of the transpose of Masui et al., "A compression scheme for
/// radio data in high performance computing", Astronomy and Computing 12 (2015) 181.
///   bits      count * element_bytes bytes, bit plane after bit plane
///   elements  as many, element after element
///   count     elements, a multiple of 8
void unshuffle_bits(const std::uint8_t* bits, std::uint8_t* elements, std::size_t count,
                    std::size_t element_bytes);

}  // namespace ptyche
