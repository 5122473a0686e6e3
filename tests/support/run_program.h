// The built program, run as a user runs it.
#pragma once

#include <string>

namespace ptyche {

struct Outcome {
  int code = -1;
  std::string output, error;
};

/// Runs `ptyche ARGUMENTS` (shell words) and waits for it.
Outcome run_ptyche(const std::string& arguments);

/// A file that the build makes: "ptyche", or "ptyche-program" behind it.
std::string built_file(const std::string& name);

/// run_ptyche of another file.
Outcome run_file(const std::string& file, const std::string& arguments);

/// run_ptyche with --verbose, and SIGINT (Ctrl-C) as soon as `sign` stands on its stderr.
Outcome run_ptyche_and_interrupt(const std::string& arguments, const std::string& sign);

/// The Python that runs scripts of tests.
std::string python_program();

std::string file_bytes(const std::string& file);

}  // namespace ptyche
