// Our own files with something in them that no ptyche writes: sealed, so that only the checks of
// the content stand between them and the program.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ptyche {

/// Writes the HDF5 file again with other datasets in place of, or beside, its own. Texts and
/// numbers of the groups that our files have are kept; an undefined tensor leaves its dataset out.
void rewrite(const std::filesystem::path& file, const std::map<std::string, at::Tensor>& datasets);

/// The same with one text attribute of a group changed.
void rewrite_text(const std::filesystem::path& file, const std::string& group,
                  const std::string& attribute, const std::string& text);

/// Cuts off the seal: the file is then one of an older ptyche.
void remove_seal(const std::filesystem::path& file);

/// Replaces 1 to 16 bytes at random places by other ones, the same for the same seed.
void damage(const std::filesystem::path& file, std::uint64_t seed);

}  // namespace ptyche
