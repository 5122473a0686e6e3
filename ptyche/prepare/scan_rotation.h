// The turn of a raster against the detector, as microscopes leave it to be found. At the right turn
// and defocus all patterns say the same of the sample's phase (phase_energy.h), with few electrons
// too; short solves tell turns apart that are all far above noise, and give the probe by which the
// last degree is found.
#pragma once

#include <optional>

#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/prepare/findings.h"

namespace ptyche {

struct ScanRotation {
  double degrees = 0;       ///< of the raster's columns against the detector's, towards its rows
  bool transposed = false;  ///< the detector's rows are the scan's columns
  double strength = 0;      ///< of the phase's energy, standard errors of noise alone
};

/// Over an unturned raster (row by row) of at least 4 x 4:
/// 1. at each defocus of one sign, all turns, as it is and transposed: those of the most evidence;
/// 2. turns near by, with spherical aberration too, and short solves from them: the first turn, or
/// one from which held-out patterns are explained better;
/// 3. turn and probe of these solves refined in turn;
/// 4. a turn near by without curl of the centres of mass, where it explains them no worse.
/// The opposite turn is the twin image; chosen is the one whose phase has peaks rather than pits,
/// as atoms make them, for there the centres of mass are drawn together (Ehrenfest; Muller et al.,
/// Nat. Commun. 5, 5653 (2014)). Nothing where the positions are no such raster, or where the
/// energy is not far above noise: too few electrons. The same on any number of threads. Throws
/// Interrupted after Ctrl-C.
std::optional<ScanRotation> find_scan_rotation(const Scan& scan);

/// What it does to the raster's positions.
TurnPositions turn_of(const ScanRotation& rotation);

/// The scan with its raster turned so, about its middle.
Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation);

/// read_scan, and with --scan-rotation auto its raster turned as the patterns say, which is noted.
/// What every verb reads a scan by. Throws InvalidInput as read_scan does, and where no turn is
/// found.
Scan read_turned_scan(const ReadOptions& options);

}  // namespace ptyche
