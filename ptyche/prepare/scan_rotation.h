// The turn of a raster against the detector, as microscopes leave it to be found: light is
// deflected along the slope of the object's phase (Ehrenfest; Muller et al., Nat. Commun. 5, 5653
// (2014)), and a slope has no curl. Only where the raster lies right has the field of deflections
// none.
#pragma once

#include <optional>

#include "ptyche/data/scan.h"
#include "ptyche/io/read_scan.h"

namespace ptyche {

struct ScanRotation {
  double degrees = 0;       ///< of the raster's columns against the detector's, towards its rows
  bool transposed = false;  ///< the detector's rows are the scan's columns
  double curl_left = 1;     ///< of the field's curl, the share that the best turn leaves, 0..1
};

/// From the patterns' centres of mass over an unturned raster (row by row). The opposite turn
/// leaves as little curl: it is the twin image; chosen is the one whose phase has peaks rather than
/// pits, as atoms make them. Nothing where the positions are no raster of at least 4 x 4 or where
/// no turn leaves much less curl than others (kMostCurl: below .1 where atoms deflect 1e5 electrons
/// a pattern, .58 in noise alone).
std::optional<ScanRotation> find_scan_rotation(const Scan& scan);
inline constexpr double kMostCurl = 0.4;

/// The scan with its raster turned so, about its middle.
Scan with_raster_turned(const Scan& scan, const ScanRotation& rotation);

/// read_scan, and with --scan-rotation auto its raster turned as the patterns say, which is noted.
/// What every verb reads a scan by. Throws InvalidInput as read_scan does, and where no turn is
/// found.
Scan read_turned_scan(const ReadOptions& options);

}  // namespace ptyche
