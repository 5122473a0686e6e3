// Writers of other programs' layouts, chosen by name or by a file's ending, and how they write
// HDF5.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/storage/file_array.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// One layout of a What (Scan, Reconstruction). An empty ending is that of a folder.
template <class What>
struct NamedWriter {
  std::string format, ending;
  void (*write)(const std::filesystem::path&, const What&);
};

template <class What>
std::vector<std::string> formats_of(const std::vector<NamedWriter<What>>& writers) {
  std::vector<std::string> formats;
  for (const NamedWriter<What>& writer : writers) formats.push_back(writer.format);
  return formats;
}

/// The format whose ending the file's name has. Throws InvalidInput listing the endings.
template <class What>
std::string format_for(const std::vector<NamedWriter<What>>& writers,
                       const std::filesystem::path& file) {
  std::vector<std::string> endings;
  for (const NamedWriter<What>& writer : writers) {
    if (file.extension() == writer.ending) return writer.format;
    if (!writer.ending.empty()) endings.push_back(writer.ending);
  }
  throw InvalidInput(
      fmt::format("{}: expected a name that ends in {} or in nothing, or --as FORMAT",
                  file.string(), fmt::join(endings, ", ")));
}

/// Throws InvalidInput listing the formats where there is none of that name.
template <class What>
void write_as(const std::vector<NamedWriter<What>>& writers, const std::string& format,
              const std::filesystem::path& file, const What& what) {
  for (const NamedWriter<What>& writer : writers)
    if (writer.format == format) return writer.write(file, what);
  throw InvalidInput(
      fmt::format("--as: expected one of {}, found {}", list_of(formats_of(writers)), format));
}

/// write(file) into a new HDF5 file that takes its place once it is whole.
template <class Write>
void write_hdf5(const std::filesystem::path& path, const Write& write) {
  write_atomically(path, [&](const std::filesystem::path& temporary) {
    Hdf5File file = Hdf5File::create(temporary);
    write(file);
    file.close();
  });
}

}  // namespace ptyche
