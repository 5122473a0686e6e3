// Several scans in one call: which ones, one after another, and a table of what came of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ptyche/io/read_scan.h"

namespace ptyche {

/// One scan of several.
struct ScanJob {
  std::filesystem::path file;
  std::int64_t scan_index = -1;  ///< of several in the file; -1 = it holds one
  std::string name;              ///< of its folder
};

/// The scans that the words name: files, folders that are a scan, patterns with * and ? (of the
/// last part of a path; sorted by the numbers in the names), and of a file with several scans each,
/// unless `options.scan_index` takes one. Names are the files' without their endings, made
/// different by numbers. Throws InvalidInput for a pattern that fits nothing.
std::vector<ScanJob> scan_jobs(const std::vector<std::filesystem::path>& words,
                               const ReadOptions& options);

/// A scan to learn from, and how much.
struct WeightedJob {
  ScanJob job;
  double weight = 1;
};

/// The scans that the words name, and those of a list file (empty = none): one path in a line, with
/// * and ? as above, then perhaps its weight; what follows # is a remark, paths are relative to
/// the file's folder. Throws InvalidInput naming file and line for a path that is not there, a
/// weight that is no number above 0, and for a list without scans.
std::vector<WeightedJob> weighted_jobs(const std::vector<std::filesystem::path>& words,
                                       const std::filesystem::path& list,
                                       const ReadOptions& options);

/// Runs `reconstruct` for each job, whose result goes into `folder`/NAME; what it throws is printed
/// and the next scan begins, but for Interrupted, which ends it all. Prints a table at the end
/// (scan, verdict, expected error, held-out deviance, seconds) and writes it as scans.csv.
///   reconstruct(job, out, before)  before: the last result whose image had not failed, or empty
/// Throws, at the end, what the worst exit code is of: InvalidInput before FailedImage.
void run_scans(const std::vector<ScanJob>& jobs, const std::filesystem::path& folder,
               const std::function<void(const ScanJob&, const std::filesystem::path& out,
                                        const std::filesystem::path& before)>& reconstruct);

/// Whether the probe of an earlier result fits a scan: patterns of its size, an object pixel within
/// kSamePixel of its. Where it does not, says why.
bool probe_fits(const std::filesystem::path& result, const ReadOptions& scan);
inline constexpr double kSamePixel = 0.01;  // an energy of another 1 % is another probe's

}  // namespace ptyche
