// How much memory the program may use, and where large arrays lie that do not fit into it.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

struct MemoryOptions {
  double bytes = 0;               ///< that may be used; 0 = kShareOfFree of what is free, of which
                                  ///< each rank on a host takes its part (ranks.h)
  std::filesystem::path scratch;  ///< folder for arrays that do not fit; empty = scratch_folder
};
std::vector<Field> fields(MemoryOptions& options);

inline constexpr double kShareOfFree = 0.8;
/// What the program itself and its small arrays may take of it.
inline constexpr double kProgramBytes = 400e6;
/// Less than this is refused.
inline constexpr double kLeastMemory = 600e6;

/// "8G", "500MB", "1.5TB", "6e8": bytes, prefixes are powers of 1000. Throws InvalidInput for
/// another text.
double bytes_of(const std::string& text);
/// "4.2 GB", "131 MB".
std::string bytes_text(double bytes);

/// From now on arrays of at least 20 MiB are taken from `options.bytes`, less kProgramBytes, while
/// they leave a quarter of what is left; others lie in nameless files of the scratch folder, mapped
/// into memory. The kernel keeps of those what there is room for, and what is resident of them is
/// given back whenever the whole process would have more than `options.bytes`. Files of arrays that
/// nobody has any more stay for the next of their size, up to a quarter of it and 1 GB. Throws
/// InvalidInput for less than kLeastMemory and for a scratch folder that cannot be written to.
void use_memory(const MemoryOptions& options);

/// What use_memory was told, or chose; infinite before.
double memory_limit();

/// The folder for arrays that do not fit: use_memory's, else the first of $TMPDIR, /var/tmp, /tmp
/// and the working folder that can be written to and does not itself lie in memory; empty = none.
std::filesystem::path scratch_folder();
/// Bytes that are free there.
double scratch_room();

/// Throws InvalidInput where arrays of so many bytes fit neither into what is left of memory nor
/// into the scratch folder: "what: expected at most 3.1 GB (...), found 8 GB; advice".
void require_room(double bytes, const std::string& what, const std::string& advice);

/// An array (bytes) of zeros, uint8, in a nameless file of the folder, mapped into memory. Throws
/// InvalidInput naming the folder where it has no room.
at::Tensor array_in_file(const std::filesystem::path& folder, std::int64_t bytes);
/// Whether it, or the array that it is a part of, lies in such a file.
bool lies_in_file(const at::Tensor& array);

/// Begins to read rows (k) int64 of an array (n, ...) that lies in a file, and gives back what is
/// resident of such arrays where that is too much; does nothing for arrays in memory.
void read_ahead(const at::Tensor& array, const at::Tensor& rows);

/// Gives back what is resident of an array that lies in a file and is not needed for a while, so
/// that what is needed stays; does nothing for arrays in memory.
void set_aside(const at::Tensor& array);

}  // namespace ptyche
