// Files, written whole or not at all; pieces of text; the program's version, which goes into every
// file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

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

/// What stands between the separators, at least one part: "a,,b" is "a", "" and "b".
std::vector<std::string> split(const std::string& text, char separator);

/// "; did you mean 'NEAREST'?" if one of `known` is near enough to `word` (by edit distance, or
/// because it begins with it), else nothing; to be put behind an error message.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

std::string version();  ///< e.g. "0.1.0"
std::string commit();   ///< twelve hex digits, or "unknown" outside a git checkout

}  // namespace ptyche
