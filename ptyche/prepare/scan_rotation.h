// The turn of a raster against the detector, as microscopes leave it to be found. Out of focus the
// sample's shadow moves along the scan's steps (likeness.h); in focus light is deflected along the
// slope of the object's phase (Ehrenfest; Muller et al., Nat. Commun. 5, 5653 (2014)), and a slope
// has no curl. Both give candidates, short solves choose among them.
#pragma once

#include <optional>

#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"

namespace ptyche {

struct ScanRotation {
  double degrees = 0;       ///< of the raster's columns against the detector's, towards its rows
  bool transposed = false;  ///< the detector's rows are the scan's columns
  double explained = 0;     ///< HeldOutFit::explained of the search for the probe so
};

/// Over an unturned raster (row by row) of at least 4 x 4:
/// 1. candidates: turns, as it is and transposed, along which shadows move in neighbouring
/// patterns,
///    up to kMostShadows of them; where these are weak, the turns that leave the field of centres
///    of mass the least curl;
/// 2. each is tried by a search for the first probe (find_probe); the one that explains most wins;
/// 3. where the curl that is left is not nearly nothing, short solves at turns beside it, on 200
///    patterns: the least deviance of held-out ones, by a parabola.
/// The opposite turn is the twin image; chosen is the one whose phase has peaks rather than pits,
/// as atoms make them. Nothing where the positions are no such raster, or where nothing is
/// explained: noise, too few electrons. The same on any number of threads. Throws Interrupted after
/// Ctrl-C.
std::optional<ScanRotation> find_scan_rotation(const Scan& scan);

/// The scan with its raster turned so, about its middle.
Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation);

/// read_scan, and with --scan-rotation auto its raster turned as the patterns say, which is noted.
/// What every verb reads a scan by. Throws InvalidInput as read_scan does, and where no turn is
/// found.
Scan read_turned_scan(const ReadOptions& options);

}  // namespace ptyche
