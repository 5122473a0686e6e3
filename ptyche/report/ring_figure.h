// A Fourier ring correlation as a picture.
#pragma once

#include <string>

#include "ptyche/data/comparison.h"

namespace ptyche {

/// The curve over cycles per object pixel with the four criteria, each labelled with its crossing
/// (and half that period in nm where the object pixel is known), as the bytes of a PNG file.
/// Throws InvalidInput if the comparison holds no curve.
std::string ring_figure_png(const Comparison& comparison, const std::string& title);

/// The crossings in one sentence, for those who do not see the picture.
std::string ring_figure_words(const Comparison& comparison);

}  // namespace ptyche
