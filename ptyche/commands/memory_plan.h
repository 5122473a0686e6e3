// What a scan's large arrays take, and where they lie, for the user to read before the work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/commands/describe.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Who will work on the scan; the default's last solver, L-BFGS, keeps a history, others do not.
enum class PlannedWork { solve, solve_without_history, polish, infer, infer_polished, train };

/// Sizes that the memory of a scan follows from.
struct ScanExtent {
  double patterns = 0;      ///< that are used
  double pattern_px = 0;    ///< pixels of one
  double counts_bytes = 0;  ///< of all patterns, in their own type
  double canvas_px = 0;     ///< pixels of the object's canvas
};

/// One large array, or several of a kind.
struct PlannedArray {
  std::string name;
  double bytes = 0;
  bool on_disk = false;
};

/// What the work takes beside the counts, as measured (docs/scale.md): solvers keep canvases of
/// the object's size, at most 26 with L-BFGS's history, 16 without (18 are reckoned for the two
/// passes of a polish); inference the patches of some lines of the scan; training network inputs.
/// The counts are on disk where they take more than three quarters of `limit` less what is the
/// program's own.
std::vector<PlannedArray> memory_plan(const ScanExtent& scan, PlannedWork work, double limit);

/// "counts 2.5 GB (on disk), canvases of the solver 0.3 GB, the program 400 MB: 700 MB of 8.0 GB
/// (--memory)".
std::string plan_text(const std::vector<PlannedArray>& plan, double limit);

/// What has to stay in memory for a scan that was read, if that is more than may be used
/// (`--memory`); else 0, as for a scan that several ranks share.
double memory_beyond_limit(const Scan& scan, PlannedWork work);

/// The plan of a scan that was read, with its counts where they are: a line for --verbose, or for
/// all where something lies on disk; a warning that names what would do where memory and disk lie
/// in each other's way, since more than `limit` has to stay in memory.
void tell_memory_plan(const Scan& scan, PlannedWork work);

}  // namespace ptyche
