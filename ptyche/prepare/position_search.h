// Orientation and scale of the positions by short solves, for probes in focus, which cast no shadow
// that would tell them without one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {

/// A short solve with the positions changed in one way; without a change they are those given.
struct PositionTrial {
  std::string what;
  std::optional<TurnPositions> change;
  HeldOutFit fit;
  bool beside = false;  ///< of a scale that is only tried to see whether another one stands out
};

/// The patterns around the middle of a far-field scan, solved from the scan's probe with the
/// positions as given (always first), one axis flipped, the axes swapped, both, and, where the
/// probe is the file's, half and twice as far apart. Where one of these scales explains most, so
/// are those 1.4 times smaller and larger: patterns that are hardly more than shifts by the slope
/// of a smooth phase are explained at every scale, best where they overlap most. Both axes flipped
/// is not tried: it is the twin image, which explains as much. Where an orientation explains most,
/// so is the same turned by 180 degrees, beside a probe of the file: one with curved light tells
/// the two apart, one in focus does not. Trials that diverge are left out.
/// The same on any number of threads. Throws Interrupted after Ctrl-C.
std::vector<PositionTrial> try_positions(const Scan& scan);

/// Whether the file's probe, held as it is, explains the patterns around the middle better with the
/// positions `scale` or 1.3 times `scale` times as far apart, and leaves half as much, than with
/// them as given: three short solves. Samples that are smooth, or that repeat themselves, have
/// shadows whose likeness says another scale than the right one. Throws Interrupted after Ctrl-C.
bool bears_out_scale(const Scan& scan, double scale);

/// Explained, beyond what the next best explains.
inline constexpr double kClearlyMore = 0.15;

/// The same ways, but scales, each with a probe that is searched for anew: one that was made up at
/// wrong positions says nothing of the right ones. `given` is what the search with the positions as
/// they are explains. All without aberrations, which stand for flipped axes. For scans without a
/// probe; takes as long as three searches. Throws Interrupted after Ctrl-C.
std::vector<PositionTrial> search_at_positions(const Scan& scan, const HeldOutFit& given);

/// "positions: rows flipped", "columns flipped", "axes swapped" ..., with a remedy unless the user
/// gave an option that says how the axes lie, where one trial explains clearly more than the
/// positions as given and than all others but its twin; nothing where none does or there are too
/// few photons to tell. Where the twin explains as much, or was not tried, it is "one axis flipped"
/// ..., and the text says that the image may be the other one.
std::optional<Finding> finding_of(const std::vector<PositionTrial>& trials,
                                  const ExamineOptions& options);

/// Beside a probe of the file that a search put aside for another one: what the found probe
/// explains with the positions as given (first), what the file's does (second), and the file's with
/// both axes flipped and with them 1.3 and 1.5 times closer and farther. Throws Interrupted after
/// Ctrl-C.
///   found  (modes, N, N) complex
std::vector<PositionTrial> try_scales(const Scan& scan, const at::Tensor& found);

/// "positions: scale, or the defocus", a warning, where the file's probe explains much at another
/// scale, clearly more than with the positions as given and about as much as the found one, or
/// leaves half of what either leaves with the positions as given: a beam of another curvature
/// stands for positions of another scale, and the image is magnified with them. "positions: both
/// axes flipped, or the sign of the defocus" where that is so of the twin.
std::optional<Finding> scale_finding(const std::vector<PositionTrial>& trials);

/// The scan with its positions changed as they were for an image of this very scan: in that one of
/// the ways above which brings them nearest to `positions` (n, 2) float64 px, or turned by any
/// angle where that brings them much nearer, or as it is. Another number of positions changes
/// nothing.
Scan turned_like(const Scan& scan, const at::Tensor& positions);

}  // namespace ptyche
