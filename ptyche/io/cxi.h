// CXI 1.x files (Maia, Nature Methods 2012, doi 10.1038/nmeth.2110), as the field's programs write
// them.
//
// Conventions, where the standard leaves room:
// - translation (n, 3) is (x, y, z); x grows with the object's column, y with its row. Programs
// that
//   store the sample's own movement have the opposite sign: read them with --flip-x --flip-y.
// - mask is the standard's bit field: 0 = good pixel, anything else but CXI_PIXEL_HAS_SIGNAL
//   (0x1000) = bad; we write 1 = CXI_PIXEL_INVALID. The same rule holds for masks stored as bool.
// - data are counts with the zero frequency at (N/2, N/2); energy is in joules.
// - the group /ptyche marks our own files: truth, true positions, exact energy and object pixel.
#pragma once

#include <filesystem>

#include "ptyche/data/scan.h"

namespace ptyche {

/// Writes the scan (counts, positions, probe, mask, geometry and, if defined, truth and
/// true positions under /ptyche) atomically. Positions are written in metres where the object pixel
/// is known, in object pixels otherwise (attribute `units` says which). Throws InvalidInput when
/// the disk is full.
void write_cxi(const std::filesystem::path& file, const Scan& scan);

}  // namespace ptyche
