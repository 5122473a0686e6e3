// The reference material beside the project: real scans, golden numbers, an independent scorer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ptyche {

/// $PTYCHE_SHARED, else ../shared beside the checkout, else nothing (then the test skips and says
/// so). Throws InvalidInput, by which the test fails, where PTYCHE_SHARED names no folder.
std::optional<std::filesystem::path> shared_folder();

/// A file of it; nothing where there is no such folder. Throws InvalidInput where the folder is
/// there and the file is not: a test that cannot compare must not pass.
std::optional<std::filesystem::path> shared_file(const std::string& name);

/// The checkout.
std::filesystem::path source_folder();

}  // namespace ptyche
