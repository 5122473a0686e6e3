// The turn of a raster against the detector, as microscopes leave it to be found. At the right turn
// and defocus all patterns say the same of the sample's phase (phase_energy.h), with few electrons
// too; short solves tell turns apart that are all far above noise, and give the probe by which the
// last degree is found.
#pragma once

#include <optional>
#include <string>

#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/first_probe.h"

namespace ptyche {

/// What tells a turn from the opposite one, which is that of the twin image and explains the
/// patterns as well.
enum class TwinToldBy {
  nothing,  ///< it is the one nearer to the raster as given
  probe,    ///< the known probe's curvature
  peaks     ///< the phase has peaks and no pits, as atoms give it to electrons
};

struct ScanRotation {
  double degrees = 0;       ///< of the raster's columns against the detector's, towards its rows
  bool transposed = false;  ///< the detector's rows are the scan's columns
  double strength = 0;      ///< of the phase's energy, standard errors of noise alone
  TwinToldBy twin = TwinToldBy::nothing;
};

/// What is known that tells the twins apart.
struct TwinEvidence {
  at::Tensor probe = {};  ///< (modes, N, N), as far as it is curved; undefined = none
  bool electrons = false;
};

/// Of a file's probe, if it has one, and of electrons by their semi-angle.
TwinEvidence evidence_of(const Scan& scan);

/// The same of a scan whose probe is chosen so: an instrument's, with the sign of its defocus, or a
/// file's.
TwinEvidence evidence_of(const Scan& scan, const ProbeChoice& choice);

/// Over an unturned raster (row by row) of at least 4 x 4:
/// 1. at each defocus of one sign, all turns, as it is and transposed: those of the most evidence;
/// 2. turns near by, with spherical aberration too, and short solves from them: the first turn, or
/// one from which held-out patterns are explained better;
/// 3. turn and probe of these solves refined in turn;
/// 4. a turn near by without curl of the centres of mass, where it explains them no worse.
/// The opposite turn is the twin image. The known probe tells which is right; else, of electrons,
/// strong peaks of the phase do, to which the centres of mass are drawn (Ehrenfest; Muller et al.,
/// Nat. Commun. 5, 5653 (2014)); else it is the turn of less than 90 degrees. Nothing where the
/// positions are no such raster, or where the energy is not far above noise: too few electrons. The
/// same on any number of threads. Throws Interrupted after Ctrl-C.
std::optional<ScanRotation> find_scan_rotation(const Scan& scan, const TwinEvidence& evidence);

/// "33.1 degrees", "-12.0 degrees against a transposed detector".
std::string in_words(const ScanRotation& rotation);

/// What tells the turn from the opposite one, or what to type where nothing does.
std::string twin_in_words(const ScanRotation& rotation);

/// What it does to the raster's positions.
TurnPositions turn_of(const ScanRotation& rotation);

/// The scan with its raster turned so, about its middle.
Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation);

/// read_scan, and with --scan-rotation auto its raster turned as the patterns say, a correction.
/// What every verb reads a scan by. Throws InvalidInput as read_scan does, and where no turn is
/// found.
Scan read_turned_scan(const ReadOptions& options, const ProbeChoice& probe = {});

}  // namespace ptyche
