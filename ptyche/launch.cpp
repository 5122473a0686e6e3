// The command `ptyche`. It prints help, version and completion, which were written down when it was
// built, and becomes the program itself (`ptyche-program` beside it) for all else: LibTorch takes a
// third of a second to load, and reads its settings while it is loaded.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "ptyche_help_pages.h"

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

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string wanted = page_of(argc - 1, argv + 1);
  for (const HelpPage& page : kHelpPages)
    if (page.name == wanted && print(page.text)) return 0;
  wait_without_spinning();
  hear_interrupts(argc - 1, argv + 1);
  std::error_code unknown;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", unknown);
  if (unknown) {
    std::fputs("ptyche: error: /proc/self/exe cannot be read; is /proc mounted?\n", stderr);
    return 1;
  }
  const std::string program = own.parent_path() / "ptyche-program";
  execv(program.c_str(), argv);
  std::fprintf(stderr, "ptyche: error: %s: %s; it belongs beside %s\n", program.c_str(),
               std::system_category().message(errno).c_str(), own.c_str());
  return 1;
}
