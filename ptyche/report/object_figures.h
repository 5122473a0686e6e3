// The figures of a reconstruction: amplitude, phase, probe.
#pragma once

#include <string>

#include "ptyche/data/reconstruction.h"
#include "ptyche/report/display.h"
#include "ptyche/report/figure.h"

namespace ptyche {

/// A figure with the words that go with it.
struct CaptionedFigure {
  Figure figure;
  std::string caption;  ///< what is shown and what was done to it
  std::string alt;      ///< for those who do not see it
};

/// Colours of a phase: grey from end to end of the range, the closed loop of colours where it spans
/// more than 5 rad.
ColourBar phase_colours(const ValueRange& range_rad);

/// Amplitude |O| where the scan lights the object. Throws InvalidInput if object and coverage are
/// not two equal (rows, cols).
CaptionedFigure amplitude_figure(const Reconstruction& image);

/// Phase of O, without its mean and its linear ramp; over the full circle of colours where it
/// winds. Throws as above.
CaptionedFigure phase_figure(const Reconstruction& image);

/// The probe's modes (at most 6), each in its own brightness, with their share of the power.
/// Throws InvalidInput if the probe is not (modes, N, N).
CaptionedFigure probe_figure(const Reconstruction& image);

}  // namespace ptyche
