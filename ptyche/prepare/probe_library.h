// Probes that earlier runs have found, kept in the user's data folder for scans of the same
// instrument.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// One of them, a file NAME.h5.
struct KeptProbe {
  std::string name;
  at::Tensor probe;          ///< (modes, N, N) complex64, sqrt(photon) of the scan that it is from
  Geometry geometry;         ///< energy, distance and object pixel, all known
  std::string source, when;  ///< of what file, and the time

  std::int64_t pattern_size() const { return probe.size(-1); }
};

/// $PTYCHE_PROBES, else ptyche/probes in $XDG_DATA_HOME, else in $HOME/.local/share; nothing where
/// the surroundings name none of them.
std::optional<std::filesystem::path> probe_library();

/// The file of a name. Throws InvalidInput where there is no library, and for a name that is not
/// one of letters, digits, '.', '_' and '-' that begins with a letter or digit.
std::filesystem::path kept_probe_file(const std::string& name);

/// Throws InvalidInput as kept_probe_file does, and where the name is taken: nothing that a run may
/// have begun with is replaced.
void require_free_name(const std::string& name);

/// Throws InvalidInput where require_free_name does, and for a probe without light or of a near
/// field, and where energy, distance or object pixel are not known: nobody could say which scans it
/// belongs to.
void keep_in_library(const KeptProbe& probe);

/// What a result is kept as. The geometry may lack what keep_in_library asks for.
KeptProbe kept_from(const std::string& name, const Reconstruction& image);

/// Throws InvalidInput for a name that is not there, and a damaged file.
KeptProbe read_kept_probe(const std::string& name);

/// Names in their order; none without a library.
std::vector<std::string> kept_probe_names();

/// Whether it was found by the same instrument at the same settings: as many pixels, energy to a
/// thousandth, distance and object pixel to a hundredth, all of them known. The dose may be
/// another.
bool fits(const KeptProbe& kept, const Scan& scan);

/// Those that fit, in the order of their names; a damaged file is warned of and passed over.
std::vector<KeptProbe> kept_probes_for(const Scan& scan);

}  // namespace ptyche
