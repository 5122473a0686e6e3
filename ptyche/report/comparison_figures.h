// Two images side by side, and what is between them.
#pragma once

#include <vector>

#include "ptyche/evaluate/compare.h"
#include "ptyche/report/object_figures.h"

namespace ptyche {

/// What the two are called above their pictures.
struct ComparedNames {
  std::string image, reference;
};

/// Amplitudes side by side in one range of colours; phases likewise, without the reference's mean
/// phase and linear ramp, which are taken from both.
CaptionedFigure amplitude_pair(const ComparedImages& compared, const ComparedNames& names);
CaptionedFigure phase_pair(const ComparedImages& compared, const ComparedNames& names);

/// Image less reference: amplitude, and phase in (-pi, pi]. Middle grey is no difference.
CaptionedFigure amplitude_difference(const ComparedImages& compared);
CaptionedFigure phase_difference_figure(const ComparedImages& compared);

}  // namespace ptyche
