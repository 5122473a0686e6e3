// Where things are in a CXI file; shared by the reader and the writer.
#pragma once

#include <string>
#include <vector>

namespace ptyche::cxi {

inline const std::vector<std::string> kData = {"entry_1/data_1/data",
                                               "entry_1/instrument_1/detector_1/data"};
inline const std::vector<std::string> kTranslations = {
    "entry_1/data_1/translation", "entry_1/sample_1/geometry_1/translation",
    "entry_1/instrument_1/detector_1/translation"};
inline const std::vector<std::string> kIlluminations = {
    "entry_1/instrument_1/source_1/illumination", "entry_1/instrument_1/detector_1/illumination"};
inline const std::string kDistance = "entry_1/instrument_1/detector_1/distance";
inline const std::string kPixelX = "entry_1/instrument_1/detector_1/x_pixel_size";
inline const std::string kPixelY = "entry_1/instrument_1/detector_1/y_pixel_size";
inline const std::string kExposure = "entry_1/instrument_1/detector_1/count_time";
inline const std::string kMask = "entry_1/instrument_1/detector_1/mask";
inline const std::string kSourceEnergy = "entry_1/instrument_1/source_1/energy";
inline const std::string kBeamEnergy = "entry_1/instrument_1/beam_1/energy";
inline const std::string kOurs = "ptyche";  ///< group that only our own files have
inline const std::string kTruth = "ptyche/truth";
inline const std::string kTruePositions = "ptyche/true_positions";  ///< (n, 2) row, col, px

inline const std::string kObjectPixel = "object pixel";  ///< units where no length is known
inline const std::string kRootPhoton = "sqrt(photon)";   ///< units of a calibrated probe
inline constexpr double kJoulesPerEv = 1.602176634e-19;  ///< exact, SI 2019

}  // namespace ptyche::cxi
