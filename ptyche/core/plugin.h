// Shared libraries beside the program that are opened only when they are needed: what they link
// against is then no part of the program.
#pragma once

#include <filesystem>
#include <string>

namespace ptyche {

/// The folder of the running program, also where the dynamic linker was started with the program's
/// name (ptyche/dynamic_linker.h); empty where /proc is not mounted.
std::filesystem::path program_folder();

/// Where a plug-in is: the file that the environment variable names, else `name` in the folder of
/// the program.
std::filesystem::path plugin_file(const std::string& name, const char* variable);

/// What a plug-in's one visible function has returned.
struct Plugin {
  const void* table = nullptr;  ///< nullptr: see `fault`
  std::string fault;            ///< why there is none, in words
};

/// Opens the library, which stays open until the process ends, and calls its function `symbol`
/// (without arguments, of C linkage, returning a pointer).
///   how_made  ends the sentence where there is no such file
Plugin open_plugin(const std::filesystem::path& file, const char* symbol,
                   const std::string& how_made);

/// What is said of a plug-in whose table does not fit the program's declarations.
std::string other_version(const std::filesystem::path& file);

}  // namespace ptyche
