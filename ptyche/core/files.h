// Files are written beside their target and renamed, so that nobody ever sees half a file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace ptyche {

/// Calls `write` with a temporary path in the target's folder, then renames it onto `target`.
/// When `write` throws, the temporary file is removed and an older `target` is left as it was.
/// Throws InvalidInput when the folder cannot be written to or the disk is full.
void write_atomically(const std::filesystem::path& target,
                      const std::function<void(const std::filesystem::path&)>& write);

/// Writes `content` atomically, as above.
void write_text(const std::filesystem::path& target, const std::string& content);

/// The whole file as bytes. Throws InvalidInput if it cannot be read.
std::string read_bytes(const std::filesystem::path& file);

/// Makes `folder` (and its parents) and checks, by writing and removing a file, that it takes
/// files; called before long work. Throws InvalidInput with the system's reason.
void require_writable_folder(const std::filesystem::path& folder);

/// SHA-256 of the file's bytes as 64 hex digits. Throws InvalidInput if it cannot be read.
std::string sha256_of_file(const std::filesystem::path& file);

}  // namespace ptyche
