// With which glibc the program runs: the system's, or the package's own where the system's is older
// than the one that the package's libraries were built with, or where there is none (musl, an empty
// container). launch.cpp chooses, main.cpp tidies up.
//
// A package's `ptyche-program` names "/proc/self/fd/1023" as its dynamic linker (PT_INTERP). The
// kernel opens that while execve(2) still runs in the launcher, so it is whichever linker the
// launcher has opened there. Other than `ld.so PROGRAM ARGUMENTS` this keeps /proc/self/exe,
// $ORIGIN, the name in ps(1) and core files as they are.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ptyche {

namespace linker {

constexpr int kStream = 1023;  ///< tools/set_interpreter.py writes it into the program
constexpr const char* kSystems = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* kOwnName = "ld-linux-x86-64.so.2";
constexpr const char* kChoice = "PTYCHE_GLIBC";  ///< "own" or "system": a user's wish
// What the launcher tells the program: the limit of descriptors and LD_LIBRARY_PATH as they were.
constexpr const char* kDescriptors = "PTYCHE_LAUNCH_DESCRIPTORS";
constexpr const char* kLibraryPath = "PTYCHE_LAUNCH_LIBRARY_PATH";

/// A file's bytes while this lives; empty where it cannot be read.
class Bytes {
 public:
  explicit Bytes(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      size_ = static_cast<std::size_t>(about.st_size);
      data_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    if (file >= 0) close(file);
  }
  ~Bytes() {
    if (data_ != MAP_FAILED) munmap(data_, size_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  std::string_view text() const {
    if (data_ == MAP_FAILED) return {};
    return {static_cast<const char*>(data_), size_};
  }

 private:
  void* data_ = MAP_FAILED;
  std::size_t size_ = 0;
};

}  // namespace linker

/// The minor number of glibc 2.x, as its libc.so.6 in `folder` says it in its banner; 0 where there
/// is none.
inline int glibc_in(const std::string& folder) {
  const linker::Bytes file(folder + "/libc.so.6");
  constexpr std::string_view kBanner = "GNU C Library", kRelease = " release version 2.";
  const std::string_view text = file.text();
  const void* const found =
      text.empty() ? nullptr : memmem(text.data(), text.size(), kBanner.data(), kBanner.size());
  if (found == nullptr) return 0;
  const auto begin = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
  const std::string banner(text.substr(begin, 200));
  const std::size_t at = banner.find(kRelease);
  return at == std::string::npos ? 0 : std::atoi(banner.c_str() + at + kRelease.size());
}

/// A dynamic linker, and the glibc beside it.
struct Glibc {
  std::string linker, folder;
  int minor = 0;        ///< of version 2.minor; 0: unknown
  bool is_own = false;  ///< the package's
  bool is_there =
      false;  ///< whether the package has one at all: a build that was not installed has none
};

/// The glibc for the program in `bin`, a folder of lib/ptyche. Nothing where PTYCHE_GLIBC has
/// another word than own or system.
inline std::optional<Glibc> chosen_glibc(const std::string& bin) {
  const std::string folder = std::filesystem::path(bin).parent_path() / "glibc";
  const Glibc own{folder + "/" + linker::kOwnName, folder, glibc_in(folder), true, true};
  char real[PATH_MAX] = "";
  Glibc systems{linker::kSystems, "", 0, false, own.minor > 0};
  if (realpath(linker::kSystems, real) != nullptr)
    systems.minor = glibc_in(std::filesystem::path(real).parent_path());
  const char* const wish = std::getenv(linker::kChoice);
  const std::string_view word = wish == nullptr ? "" : wish;
  if (!word.empty() && word != "own" && word != "system") return std::nullopt;
  if (!systems.is_there || word == "system") return systems;
  return word == "own" || systems.minor < own.minor ? own : systems;
}

namespace linker {

/// The package's glibc is found by LD_LIBRARY_PATH; the program puts back what a user had there.
inline void show_own(const std::string& folder) {
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  setenv(kLibraryPath, before != nullptr ? before : "", 1);
  const bool more = before != nullptr && *before != '\0';
  setenv("LD_LIBRARY_PATH", (more ? folder + ":" + before : folder).c_str(), 1);
}

/// Whether `file` could be opened a second time as kStream: not where that is taken (it may be
/// named in the arguments) or above a limit that may not be raised.
inline bool put_in_place(int file) {
  rlimit limit{};
  if (fcntl(kStream, F_GETFD) >= 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  setenv(kDescriptors, std::to_string(limit.rlim_cur).c_str(), 1);
  if (limit.rlim_cur <= kStream) {
    limit.rlim_cur = kStream + 1;
    if (limit.rlim_max <= kStream || setrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  }
  return dup2(file, kStream) >= 0;
}

/// The linker itself becomes the process, and loads the program: /proc/self/exe is the linker's
/// then.
inline void load_by_linker(const std::string& program, const Glibc& glibc, char** argv) {
  const std::filesystem::path bundle = std::filesystem::path(program).parent_path().parent_path();
  std::string path = bundle / "lib";
  if (glibc.is_own) path = glibc.folder + ":" + path;
  std::string words[] = {glibc.linker, "--library-path", path, program};
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  for (int i = 1; argv[0] != nullptr && argv[i] != nullptr; ++i) all.push_back(argv[i]);
  all.push_back(nullptr);
  execv(glibc.linker.c_str(), all.data());
}

}  // namespace linker

/// Becomes `program`. Returns only where that fails: the file that could not be started, with
/// errno.
inline std::string become(const std::string& program, const Glibc& glibc, char** argv) {
  if (!glibc.is_there) {  // a build: its program names the system's linker
    execv(program.c_str(), argv);
    return program;
  }
  const int file = open(glibc.linker.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return glibc.linker;
  if (glibc.is_own) linker::show_own(glibc.folder);
  if (linker::put_in_place(file)) {
    execv(program.c_str(), argv);
    if (errno != ENOENT) return program;  // ENOENT: no /proc
    close(linker::kStream);
  }
  unsetenv(linker::kDescriptors);
  linker::load_by_linker(program, glibc, argv);
  return glibc.linker;
}

/// What the program does first, so that neither it nor its child processes see how it was started.
inline void forget_launcher() {
  if (const char* const before = std::getenv(linker::kLibraryPath)) {
    if (*before != '\0')
      setenv("LD_LIBRARY_PATH", before, 1);
    else
      unsetenv("LD_LIBRARY_PATH");
    unsetenv(linker::kLibraryPath);
  }
  if (const char* const before = std::getenv(linker::kDescriptors)) {
    close(linker::kStream);
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
      limit.rlim_cur = std::strtoull(before, nullptr, 10);
      setrlimit(RLIMIT_NOFILE, &limit);
    }
    unsetenv(linker::kDescriptors);
  }
}

}  // namespace ptyche
