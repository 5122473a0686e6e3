// The command `ptyche`. It prints help, version and completion, which were written down when it was
// built, and becomes the program itself (`ptyche-program` beside it) for all else: LibTorch takes a
// third of a second to load, and reads its settings while it is loaded.
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "ptyche/dynamic_linker.h"
#include "ptyche_help_pages.h"
#include "ptyche_version.h"

namespace {

/// What the page that `words` ask for is listed as: "--help" for the list of the verbs, "solve
/// --help", "completion zsh", "--version"; other words name no page.
std::string page_of(int count, char** words) {
  std::string name = count == 0 || words[0] == std::string_view("help") ? "--help" : "";
  for (int i = name.empty() ? 0 : 1; i < count; ++i) {
    const std::string_view word = words[i];
    name += name.empty() ? "" : " ";
    name += word == "-h" ? "--help" : word;
  }
  return name;
}

/// False where the text could not be written: the program says why.
bool print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// OpenMP's threads wait for each other by spinning, which on a machine with other work to do costs
/// ten times the time (measured: 77 s against 6 s with one core busy): a short spin, unless the
/// user has chosen.
void wait_without_spinning() {
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) setenv("GOMP_SPINCOUNT", "2000", 0);
}

/// A shell that starts a script in the background has SIGINT ignored in all that comes of it; where
/// events are asked for it is how another program stops this one (docs/events.md).
void hear_interrupts(int count, char** words) {
  for (int i = 0; i < count; ++i)
    if (std::string_view(words[i]).starts_with("--events")) std::signal(SIGINT, SIG_DFL);
}

/// What a bug report needs to know, as JSON in one line: also which glibc the program would run
/// with.
int print_version(const ptyche::Glibc& glibc) {
  const std::string version = glibc.minor > 0 ? "\"2." + std::to_string(glibc.minor) + '"' : "null";
  const std::string from = glibc.is_own ? "package" : "system";
  return print("{\"version\": \"" PTYCHE_VERSION "\", \"commit\": \"" PTYCHE_COMMIT
               "\", \"libtorch\": \"" PTYCHE_LIBTORCH_VERSION "\", \"glibc\": {\"version\": " +
               version + ", \"from\": \"" + from + "\"}}\n")
             ? 0
             : 1;
}

/// Why `file`, the program or a dynamic linker, could not be started.
std::string reason(const std::string& file, bool is_program, int error) {
  std::string text = file + ": " + std::system_category().message(error);
  if (error == EACCES) text += "; is its folder on a file system that is mounted with noexec?";
  if (error == ENOENT && is_program) text += "; it belongs beside ptyche";
  if (error == ENOENT && !is_program) text += "; PTYCHE_GLIBC=own takes that of the package";
  return text;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "ptyche: error: %s\n", text.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string wanted = page_of(argc - 1, argv + 1);
  for (const HelpPage& page : kHelpPages)
    if (page.name == wanted && print(page.text)) return 0;
  std::error_code unknown;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) return fail("/proc/self/exe cannot be read; is /proc mounted?");
  const auto glibc = ptyche::chosen_glibc(own.parent_path());
  if (!glibc)
    return fail("PTYCHE_GLIBC: expected own or system, found " +
                std::string(std::getenv("PTYCHE_GLIBC")));
  if (wanted == "--version --json") return print_version(*glibc);
  if (glibc->is_own && glibc->folder.find_first_of(":;") != std::string::npos)
    return fail(
        glibc->folder +
        ": a path with ':' or ';' cannot be searched for libraries; move the package to another");
  wait_without_spinning();
  hear_interrupts(argc - 1, argv + 1);
  const std::string program = own.parent_path() / "ptyche-program";
  const std::string failed = ptyche::become(program, *glibc, argv);
  return fail(reason(failed, failed == program, errno));
}
