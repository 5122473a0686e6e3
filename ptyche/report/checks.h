// The picture of what the doctor looked at.
#pragma once

#include <filesystem>
#include <string>

#include "ptyche/prepare/examine.h"

namespace ptyche {

/// One sheet as the bytes of a PNG file: mean and brightest pattern in log scale with centre and
/// mask, positions over the probe's footprint, intensity over frames, histogram of values, and the
/// odd correlation of neighbours, turned and scaled so that their step points to the right.
///   scan  as it was read
std::string checks_png(const Scan& scan, const Treatment& treatment);

/// checks.png and checks.json (findings and the numbers behind them) in the folder, which is made.
/// Throws InvalidInput where it cannot be written.
void write_check(const std::filesystem::path& folder, const Scan& scan, const Treatment& treatment);

}  // namespace ptyche
