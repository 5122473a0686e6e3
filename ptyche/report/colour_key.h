// The key beside a picture: what its colours mean.
#pragma once

#include <variant>

#include "ptyche/report/canvas.h"
#include "ptyche/report/figure.h"

namespace ptyche {

/// Width that the key needs, in units of the text size.
double key_width_em(const std::variant<ColourBar, ColourWheel>& key);

/// Draws the key into `where`; `em` is the text size in sheet pixels.
void draw_key(Canvas& canvas, const std::variant<ColourBar, ColourWheel>& key,
              const Rectangle& where, double em);

}  // namespace ptyche
