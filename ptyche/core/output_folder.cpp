#include "ptyche/core/output_folder.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLockName = ".ptyche.lock";

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// "process 123 on host": what a lock file says.
struct Holder {
  pid_t process = 0;
  std::string host;
};

Holder read_holder(int descriptor) {
  std::array<char, 300> text{};
  const ssize_t count = pread(descriptor, text.data(), text.size() - 1, 0);
  Holder holder;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + std::max<ssize_t>(count, 0), holder.process);
  if (error == std::errc() && *end == ' ') holder.host = end + 1;
  while (!holder.host.empty() && holder.host.back() == '\n') holder.host.pop_back();
  return holder;
}

void write_holder(int descriptor) {
  const std::string text = fmt::format("{} {}\n", getpid(), host_name());
  const bool written =
      ftruncate(descriptor, 0) == 0 &&
      pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  require(written, "the lock could not be written: {}", [] { return std::strerror(errno); });
}

[[noreturn]] void refuse(const fs::path& lock, const Holder& holder) {
  throw InvalidInput(fmt::format(
      "{}: another run of ptyche is at work in this folder (process {} on {}); choose another "
      "folder, or remove {} if that run is gone",
      lock.parent_path().string(), holder.process, holder.host.empty() ? "?" : holder.host,
      lock.string()));
}

/// Where the file system has no locks: whether the run that wrote the file may still be at work.
bool may_be_at_work(const Holder& holder) {
  if (holder.process <= 0 || holder.process == getpid()) return false;
  if (holder.host != host_name()) return true;
  return kill(holder.process, 0) == 0 || errno == EPERM;
}

/// Whether the file that is open is still the one under its name: whoever held the lock has removed
/// it at its end.
bool still_there(const fs::path& lock, int descriptor) {
  struct stat opened {
  }, named{};
  return fstat(descriptor, &opened) == 0 && stat(lock.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// The lock file, open and locked.
int take_lock(const fs::path& lock) {
  for (int tries = 0; tries < 100; ++tries) {
    const int descriptor = open(lock.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    require(descriptor >= 0, "{}: the lock could not be made: {}", lock.string(),
            [] { return std::strerror(errno); });
    const bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    const int why = errno;
    const Holder holder = read_holder(descriptor);
    const bool held = !locked && (why == EWOULDBLOCK || may_be_at_work(holder));
    if (held) {
      close(descriptor);
      refuse(lock, holder);
    }
    if (still_there(lock, descriptor)) return descriptor;
    close(descriptor);
  }
  throw InvalidInput(lock.string() + ": the lock could not be taken");
}

std::vector<std::string> results_in(const fs::path& folder, const RunFiles& files) {
  std::vector<std::string> found;
  for (const std::string& name : files.names)
    if (fs::exists(fs::symlink_status(folder / name))) found.push_back(name);
  const fs::path checkpoint = folder / files.checkpoint;
  if (!files.checkpoint.empty() && fs::exists(fs::symlink_status(checkpoint)) &&
      std::ranges::count(found, files.checkpoint) == 0)
    found.push_back(files.checkpoint);
  return found;
}

void remove_leftovers(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_leftover(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
}

/// FOLDER.old, or FOLDER.old.2 and so on where that is taken.
fs::path free_name(const fs::path& folder) {
  fs::path plain = folder.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  if (plain.filename() == "." || plain.filename() == "..") plain = fs::canonical(plain);
  for (int number = 1;; ++number) {
    const fs::path name = plain.string() + (number == 1 ? ".old" : fmt::format(".old.{}", number));
    if (!fs::exists(fs::symlink_status(name))) return name;
  }
}

void move_away(const fs::path& folder, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const fs::path old = free_name(folder);
  fs::create_directories(old);
  for (const std::string& name : names) fs::rename(folder / name, old / name);
  note("--overwrite: the {} earlier results of {} are in {}", names.size(), folder.string(),
       old.string());
}

void see_to_results(const fs::path& folder, FolderUse use, const RunFiles& files) {
  const std::vector<std::string> found = results_in(folder, files);
  const auto has = [&](const std::string& name) { return std::ranges::count(found, name) > 0; };
  if (found.empty()) return;
  if (use == FolderUse::overwrite) return move_away(folder, found);
  if (use == FolderUse::resume) {
    if (has(files.checkpoint)) return;
    const auto other = std::ranges::find_if(
        found, [](const std::string& name) { return name.find("checkpoint") != name.npos; });
    require(other == found.end(),
            "{}: expected {} to resume from, found {} of another kind of run; choose another "
            "folder or give --overwrite",
            folder.string(), files.checkpoint, other == found.end() ? "" : *other);
    if (!has(files.last)) return;
    throw InvalidInput(fmt::format(
        "{}: expected {} to resume from, found a run that has come to its end ({}); "
        "--overwrite starts anew and moves its results to {}",
        folder.string(), files.checkpoint, fmt::join(found, ", "), free_name(folder).string()));
  }
  throw InvalidInput(fmt::format(
      "{}: expected a folder without results, found {}; choose another one, {}or give --overwrite, "
      "which moves them to {}",
      folder.string(), fmt::join(found, ", "),
      has(files.checkpoint) ? "give --resume to go on from the checkpoint, " : "",
      free_name(folder).string()));
}

}  // namespace

double checkpoint_seconds() {
  constexpr double kUsual = 30;
  const char* const said = std::getenv("PTYCHE_CHECKPOINT_SECONDS");
  char* end = nullptr;
  const double seconds = said == nullptr ? kUsual : std::strtod(said, &end);
  return said == nullptr || (end != said && *end == 0 && seconds >= 0) ? seconds : kUsual;
}

OutputFolder::OutputFolder(const fs::path& folder, FolderUse use, const RunFiles& files)
    : lock_(folder / kLockName) {
  require_writable_folder(folder);
  descriptor_ = take_lock(lock_);
  try {
    write_holder(descriptor_);
    remove_leftovers(folder);
    see_to_results(folder, use, files);
  } catch (...) {
    unlink(lock_.c_str());
    close(descriptor_);
    throw;
  }
}

OutputFolder::~OutputFolder() {
  unlink(lock_.c_str());  // before the lock is let go: nobody else's may be removed
  close(descriptor_);
}

}  // namespace ptyche
