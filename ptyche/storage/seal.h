// The seal of our own HDF5 files: a SHA-256 of all of their bytes, behind the end that HDF5 knows.
// HDF5 and every program that reads it pass over what stands there; a program that changes the file
// cuts it off, and the file is then read as one of another program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace ptyche {

enum class Seal {
  none,    ///< of another program, of an older ptyche, or changed by another program since
  whole,   ///< every byte is as it was written
  broken,  ///< damaged since
};

/// That a seal takes behind the end of a file.
inline constexpr std::size_t kSealBytes = 95;

/// Puts the seal behind the file's bytes. Throws InvalidInput with the system's reason.
void append_seal(const std::filesystem::path& file);

/// Reads the whole file, once in the life of the process as long as it does not change. A seal that
/// is itself damaged counts as broken as long as half of its mark is left. Throws InvalidInput for
/// a file that cannot be read.
Seal check_seal(const std::filesystem::path& file);

/// SHA-256 of the file; where it has a seal, that is compared on the way. Throws InvalidInput where
/// it does not fit.
std::string sha256_of_sound_file(const std::filesystem::path& file);

}  // namespace ptyche
