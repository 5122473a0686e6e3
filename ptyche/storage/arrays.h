// Arrays under names, whatever the kind of the file: what recipes and the options --patterns and
// --positions point into.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/storage/file_array.h"
#include "ptyche/storage/frame_stack.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// An opened file. What a name is depends on the kind:
///   HDF5, MATLAB 7.3   path of a dataset, with or without the first slash; "path@attribute"; '*'
///                      within one part of the path stands for any text: all that fit are joined
///                      along their first axis, by number ("entry/data/data_*")
///   NPZ                name of an array
///   MATLAB 5           variable, or field of a structure ("p.lambda")
///   text tables        a column's name, or its number from 1 on
///   NPY, TIFF (a file, or a folder of them by number), MIB, EMPAD's .raw and .xml
///                      "frames", the only name there is
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  virtual std::vector<std::string> names() const = 0;
  virtual bool has(const std::string& name) const = 0;
  /// Throws InvalidInput that begins with the name and lists the others where there is none.
  virtual FileArray read(const std::string& name) const = 0;
  /// Images, to be read in parts; nullptr where the array is none or can only be read whole. May
  /// outlive the file. Throws as `read` does.
  virtual std::unique_ptr<FrameStack> frames(const std::string&) const { return nullptr; }
  /// Files beside this one that its arrays lie in (HDF5's links to other files, sources of
  /// virtual datasets).
  virtual std::vector<std::filesystem::path> linked_files() const { return {}; }
  /// A text; nothing where there is none of this name.
  virtual std::optional<std::string> text(const std::string&) const { return std::nullopt; }
  /// What the array's attribute `units` says; empty where there is none.
  virtual std::string unit(const std::string&) const { return {}; }
  /// Rows and columns of the raster that the file says were scanned; empty where it does not.
  virtual std::vector<std::int64_t> scan_shape() const { return {}; }
};

/// Opens a file, or a folder of TIFF or MIB files, by its content. Throws InvalidInput for others.
std::unique_ptr<ArrayFile> open_arrays(const std::filesystem::path& file);

/// The kind of a file that is no text table, by its first bytes: "HDF5", "NPZ", "NPY", "TIFF",
/// "MIB", "MATLAB 5", "EMPAD"; "text" for anything else. Of a folder by the names in it.
std::string kind_of_file(const std::filesystem::path& file);

/// The folder's files of one of the endings (as ".tif", in any case), in the order of the numbers
/// in their names.
std::vector<std::filesystem::path> files_in_order(const std::filesystem::path& folder,
                                                  const std::vector<std::string>& endings);

// The kinds, one function each.
std::unique_ptr<ArrayFile> open_hdf5_arrays(const std::filesystem::path& file);
std::unique_ptr<ArrayFile> open_numpy_arrays(const std::filesystem::path& file);
std::unique_ptr<ArrayFile> open_matlab_arrays(const std::filesystem::path& file);
std::unique_ptr<ArrayFile> open_table(const std::filesystem::path& file);
std::unique_ptr<ArrayFile> open_tiff(const std::filesystem::path& file_or_folder);
std::unique_ptr<ArrayFile> open_mib(const std::filesystem::path& file);
std::unique_ptr<ArrayFile> open_empad(const std::filesystem::path& file);

/// Texts in the order of the numbers in them: "a2" before "a10".
bool by_number(const std::string& a, const std::string& b);

/// The files' names, without their folders.
std::vector<std::string> names_of(const std::vector<std::filesystem::path>& files);

/// Of texts in that order the numbers by which alone they differ, ascending; empty where they
/// differ by more, or do not ascend.
std::vector<std::int64_t> numbers_in(const std::vector<std::string>& texts);

/// Whether `text` fits `pattern`, in which '*' stands for any text.
bool fits_pattern(const std::string& text, const std::string& pattern);

/// Bytes that a text beside the frames may have.
inline constexpr std::int64_t kLargestHeader = 1 << 20;

/// Of such a text: the whole number from 1 to 1e9 that follows the first `sign` behind `key`; 0
/// where there is none, or where one of `ends` comes first. No regular expressions: the library's
/// call themselves once a letter.
std::int64_t number_behind(const std::string& text, const std::string& key, char sign,
                           const char* ends);

}  // namespace ptyche
