// Truth and models side by side: compare_amp_phase.png of the grid workflow.
#pragma once

#include <ATen/ATen.h>

#include <string>
#include <vector>

#include "ptyche/report/html.h"
#include "ptyche/report/object_figures.h"

namespace ptyche {

struct LabelledObject {
  std::string label;  ///< above its column
  at::Tensor object;  ///< (rows, cols) complex
};

struct AmplitudeAndPhaseFigures {
  CaptionedFigure amplitude, phase;
};

/// One row of panels each, in the given order, all in one range of colours. The first object is
/// what the others are compared with. For display only, the other amplitudes are scaled to its
/// mean, its phase is shown less its mean and its linear ramp, and that of each other as the
/// first's and the difference between the two, less the difference's own mean and ramp. pixel_m >
/// 0: axes in lengths. Throws InvalidInput, naming the object, if one is missing, empty, not finite
/// somewhere or not of the first one's shape, and if there is none.
AmplitudeAndPhaseFigures amplitude_phase_figures(const std::vector<LabelledObject>& objects,
                                                 double pixel_m = 0);

/// Both rows as one picture: the PNG is compare_amp_phase.png. Throws as above.
Picture amplitude_phase_picture(const std::vector<LabelledObject>& objects, double pixel_m = 0);

}  // namespace ptyche
