// How a patch between two object pixels is taken; stored with every result.
#pragma once

#include <string>

namespace ptyche {

enum class Interpolation {
  bilinear,       ///< the patch is interpolated between object pixels
  probe_fourier,  ///< whole-pixel patch, probe moved by the rest in Fourier space: does not blur
};

std::string to_string(Interpolation interpolation);
/// Throws InvalidInput listing the names that exist.
Interpolation interpolation_from(const std::string& name);

}  // namespace ptyche
