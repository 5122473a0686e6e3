// CXI 1.x files (Maia, Nature Methods 2012, doi 10.1038/nmeth.2110), as the field's programs write
// them.
//
// Conventions, where the standard leaves room:
//
// - translation (n, 3), or (3, n) as PyNX writes it, is (x, y, z) of the sample; basis_vectors say
//   along what the detector's rows and columns run, by default along -y and -x. The two signs
//   cancel: x grows with the object's column, y with its row. Of another basis the patterns (and
//   the probe) are turned to this one.
//
// - mask is the standard's bit field: 0 = good pixel, anything else but CXI_PIXEL_HAS_SIGNAL
//   (0x1000) = bad; we write 1 = CXI_PIXEL_INVALID. The same rule holds for masks stored as bool.
//
// - data are counts with the zero frequency at (N/2, N/2); energy is in joules. An attribute
//   `units` overrules these.
//
// - the group /ptyche marks our own files: truth, true positions, exact energy and object pixel.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/data/scan.h"

namespace ptyche {

/// Where things are in a CXI file; of several paths the first is written and any is read.
namespace cxi {

inline const std::vector<std::string> kData = {"entry_1/data_1/data",
                                               "entry_1/instrument_1/detector_1/data"};
inline const std::vector<std::string> kTranslations = {
    "entry_1/data_1/translation", "entry_1/sample_1/geometry_1/translation",
    "entry_1/instrument_1/detector_1/translation"};
inline const std::vector<std::string> kIlluminations = {
    "entry_1/instrument_1/source_1/illumination", "entry_1/instrument_1/detector_1/illumination",
    "entry_1/instrument_1/source_1/probe", "entry_1/instrument_1/detector_1/probe",
    "entry_1/image_1/instrument_1/source_1/illumination"};
inline const std::string kDistance = "entry_1/instrument_1/detector_1/distance";
inline const std::string kPixelX = "entry_1/instrument_1/detector_1/x_pixel_size";
inline const std::string kPixelY = "entry_1/instrument_1/detector_1/y_pixel_size";
inline const std::string kExposure = "entry_1/instrument_1/detector_1/count_time";
inline const std::string kMask = "entry_1/instrument_1/detector_1/mask";
inline const std::string kSourceEnergy = "entry_1/instrument_1/source_1/energy";
inline const std::string kBeamEnergy = "entry_1/instrument_1/beam_1/energy";
inline const std::string kSemiAngle =
    "entry_1/instrument_1/beam_1/semi_convergence_angle";  ///< ours
inline const std::string kOurs = "ptyche";                 ///< group that only our own files have
inline const std::string kTruth = "ptyche/truth";
inline const std::string kTruePositions = "ptyche/true_positions";  ///< (n, 2) row, col, px

inline const std::string kObjectPixel = "object pixel";  ///< units where no length is known
inline const std::string kRootPhoton = "sqrt(photon)";   ///< units of a calibrated probe
inline constexpr double kJoulesPerEv = 1.602176634e-19;  ///< exact, SI 2019

}  // namespace cxi

/// Writes the scan (counts, positions, probe where it was given, mask, geometry and, if defined,
/// truth and true positions under /ptyche) atomically. Positions are written in metres where the
/// object pixel is known, in object pixels otherwise (attribute `units` says which). Throws
/// InvalidInput when the disk is full.
void write_cxi(const std::filesystem::path& file, const Scan& scan);

}  // namespace ptyche
