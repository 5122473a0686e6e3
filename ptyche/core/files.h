// Files, written whole or not at all; pieces of text; the program's version, which goes into every
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ptyche {

/// A new empty file in a folder, under a name that nobody could have guessed; removed with this
/// object unless it was renamed away. Throws InvalidInput where none can be made.
struct TemporaryFile {
  std::filesystem::path path;

  explicit TemporaryFile(const std::filesystem::path& folder);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
};

/// Calls `write` with a temporary path in the target's folder, brings what it wrote to the disk,
/// then renames it onto `target`. The temporary file is a new one under a name that nobody could
/// have guessed (mkostemp: O_EXCL, so that no symbolic link is followed). When `write` throws, it
/// is removed and an older `target` is left as it was. Throws InvalidInput when the folder cannot
/// be written to or the disk is full.
void write_atomically(const std::filesystem::path& target,
                      const std::function<void(const std::filesystem::path&)>& write);

/// Writes `content` atomically, as above.
void write_text(const std::filesystem::path& target, const std::string& content);

/// Whether `name` is that of a temporary file of write_atomically or of a folder that was being
/// removed, which a killed run has left.
bool is_leftover(const std::string& name);

/// Removes files or folders, in this order. What cannot be removed stays: less of a loss than the
/// result, which is there already. A kill leaves a folder whole or none of its name.
void remove_if_possible(const std::vector<std::filesystem::path>& paths);

/// What stands at `path` instead of a file that can be read, to follow "found": "none", "a folder",
/// "a FIFO", "a loop of symbolic links", ...; empty where it is a regular file. Nothing is opened:
/// a FIFO would wait for ever.
std::string not_a_file(const std::filesystem::path& path);

/// The whole file as bytes. Throws InvalidInput if it is no regular file, cannot be read or is
/// longer than `most` bytes; 0 = as long as it is.
std::string read_bytes(const std::filesystem::path& file, std::int64_t most = 0);

/// Makes `folder` (and its parents) and checks, by writing and removing a file, that it takes
/// files; called before long work. Throws InvalidInput with the system's reason.
void require_writable_folder(const std::filesystem::path& folder);

/// SHA-256 of the file's bytes, or of the first `bytes` of them, as 64 hex digits, in little
/// memory. Throws InvalidInput if it cannot be read or is shorter.
std::string sha256_of_file(const std::filesystem::path& file, std::int64_t bytes = -1);
std::string sha256_of(std::string_view bytes);  ///< the same of what is in memory

/// SHA-256 of the whole file and of its first `bytes` bytes, in one reading.
struct PartialSha256 {
  std::string whole, part;
};
PartialSha256 sha256_of_file_and_part(const std::filesystem::path& file, std::int64_t bytes);

/// Throws InvalidInput beginning with `name` for a text in which brackets, or the dots of a name,
/// nest deeper than `most` levels: parsers and what they build call themselves once a level.
/// Brackets in quotes do not count; `comment` begins a comment that ends with its line, 0 = none.
void require_shallow(const std::string& text, const std::string& name, int most, char comment = 0);

/// What stands between the separators, at least one part: "a,,b" is "a", "" and "b".
std::vector<std::string> split(const std::string& text, char separator);

/// "; did you mean 'NEAREST'?" if one of `known` is near enough to `word` (by edit distance, or
/// because it begins with it), else nothing; to be put behind an error message.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

std::string version();      ///< e.g. "0.1.0"
std::string commit();       ///< twelve hex digits, or "unknown" outside a git checkout
std::string commit_date();  ///< e.g. "2026-11-23"; outside a git checkout the day of the build
/// The words that this process was started with, as a shell takes them; the first is "ptyche".
std::string command_line();
/// "2026-11-23T12:34:56Z"
std::string utc_now();

}  // namespace ptyche
