// The reference material beside the project: real scans, golden numbers, an independent scorer.
#pragma once

#include <filesystem>
#include <optional>

namespace ptyche {

/// $PTYCHE_SHARED, else ../shared beside the checkout, else nothing (then the test skips and says
/// so).
std::optional<std::filesystem::path> shared_folder();

/// The checkout.
std::filesystem::path source_folder();

}  // namespace ptyche
