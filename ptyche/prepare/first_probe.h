// Which probe a solve begins with: the file's, one found from the patterns, another result's, or
// one that the optics' numbers describe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/core/remark.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"
#include "ptyche/prepare/bright_field.h"
#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/optics.h"
#include "ptyche/prepare/probe_search.h"

namespace ptyche {

struct ProbeChoice {
  std::string probe = "auto";  ///< auto, library, scan, a kind of optics.h, or a file
  Optics optics = {};
};
std::vector<Field> fields(ProbeChoice& choice);

/// (modes, N, N) complex of any power where the choice itself names the probe: an instrument's or
/// that of a file; nothing for auto, library and scan. Throws InvalidInput as with_first_probe.
std::optional<at::Tensor> said_probe(const Scan& scan, const ProbeChoice& choice);

struct FirstProbe {
  Scan scan;                                ///< with the chosen probe, and its positions turned
  std::optional<FoundProbe> found = {};     ///< what a search came to
  double seconds = 0;                       ///< that it took
  std::optional<TurnPositions> turn = {};   ///< of the positions
  std::optional<ChangeValues> values = {};  ///< of the counts, which were misread
  std::string doubt =
      {};  ///< why an image made so may be wrong all the same; empty = nothing known
  at::Tensor put_aside = {};         ///< the file's probe where another was found at its positions
  std::vector<Remark> remarks = {};  ///< of the search: what it corrected, and what it warns of
  std::optional<BrightField> bright_field = {};  ///< where it told the probe
};

/// Where what a search finds is kept, and whether it is taken from there if it is there.
struct KeepProbe {
  std::filesystem::path file = {};  ///< empty = nothing is kept; left for the caller to remove
  bool resume = false;
};

/// The scan with the probe of the choice, its power that of the counts; says which. With
/// `positions`, fractions of which nothing says whether they are counts or amplitudes are read the
/// other way where a search explains clearly more so; where a search explains little of the
/// patterns, other orientations and scales of the positions are tried (position_search.h), after
/// what all patterns agree on where the file has no probe (orientation_energy.h), and where one
/// explains clearly more it is taken, unless these options say how the axes lie; where a probe of
/// the file is put aside that fits positions of another scale, that is warned of, and `doubt` says
/// it, as it does where no pattern overlaps another. Throws InvalidInput for a file without a probe
/// of the patterns' size, for optics whose numbers are missing or whose probe does not fit the
/// window, and where find_probe does.
FirstProbe with_first_probe(const Scan& scan, const ProbeChoice& choice, const KeepProbe& keep = {},
                            const std::optional<ExamineOptions>& positions = {});

/// The probe of an .npy file, a result of any program, a model, a file of the library or a folder
/// with a product or a model, (modes, N, N) complex64. Throws InvalidInput where there is none.
at::Tensor read_any_probe(const std::filesystem::path& file);

struct RefinedProbe {
  Scan scan;              ///< with the probe, (modes, N, N), its power that of the counts
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none fitted
};

/// The scan with its probe as a short solve of the 512 patterns around the middle refines it, with
/// one mode, or with three where these explain more of the patterns that the solve does not see,
/// and with a background if `background`: for a network, which takes a probe as it is, while a
/// solver mends it on its way. As it is where such solves diverge or explain no more than the mean
/// pattern. Throws Interrupted after Ctrl-C.
RefinedProbe with_refined_probe(const Scan& scan, bool background = false);

/// What its search came to; nothing where there was none.
std::optional<ProbeScore> score_of(const FirstProbe& first);

}  // namespace ptyche
