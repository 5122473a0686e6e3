#include "ptyche/commands/several_scans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/product.h"
#include "ptyche/report/report.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/train/train.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

/// '*' stands for any text, '?' for one character.
bool fits_glob(const std::string& text, const std::string& pattern, std::size_t i = 0,
               std::size_t j = 0) {
  for (; j < pattern.size(); ++i, ++j) {
    if (pattern[j] == '*') {
      for (std::size_t at = i; at <= text.size(); ++at)
        if (fits_glob(text, pattern, at, j + 1)) return true;
      return false;
    }
    if (i >= text.size() || (pattern[j] != '?' && pattern[j] != text[i])) return false;
  }
  return i == text.size();
}

/// What fits, in the order of the numbers; a path that is there stands for itself.
std::vector<fs::path> fitting(const fs::path& word) {
  const std::string pattern = word.filename().string();
  std::error_code unknown;
  if (fs::exists(word, unknown) || pattern.find_first_of("*?") == std::string::npos) return {word};
  const fs::path folder = word.parent_path().empty() ? "." : word.parent_path();
  std::vector<std::string> names;
  if (fs::is_directory(folder, unknown))
    for (const auto& entry : fs::directory_iterator(folder))
      if (fits_glob(entry.path().filename().string(), pattern))
        names.push_back(entry.path().filename().string());
  require(!names.empty(), "{}: expected files that fit, found none", word.string());
  std::sort(names.begin(), names.end(), by_number);
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(word.parent_path() / name);
  return files;
}

std::string name_of(const fs::path& file) {
  fs::path plain = file;
  if (plain.filename().empty()) plain = plain.parent_path();
  return fs::is_directory(plain) ? plain.filename().string() : plain.stem().string();
}

/// Numbers behind names that were there before.
void make_different(std::vector<ScanJob>& jobs) {
  std::set<std::string> taken;
  for (ScanJob& job : jobs) {
    const std::string name = job.name;
    for (int number = 2; !taken.insert(job.name).second; ++number)
      job.name = fmt::format("{}_{}", name, number);
  }
}

/// The file's scans, one job each.
void add_scans(const fs::path& file, ReadOptions options, std::vector<ScanJob>& jobs) {
  options.file = file;
  std::vector<std::int64_t> numbers;
  if (options.scan_index < 0) {
    try {
      numbers = scan_numbers(options);
    } catch (const InvalidInput&) {  // said when its turn comes
    }
  }
  if (numbers.size() < 2) return jobs.push_back({file, options.scan_index, name_of(file)});
  for (const std::int64_t number : numbers)
    jobs.push_back({file, number, fmt::format("{}_{}", name_of(file), number)});
}

/// What the table says of a scan.
struct Outcome {
  std::string name, verdict, message;
  double expected_error = NAN, deviance = NAN, seconds = 0;
  int code = 0;
};

void take_scores(const fs::path& folder, Outcome& outcome) {
  std::error_code unknown;
  if (!fs::exists(folder / "scores.json", unknown)) return;
  const auto json = nlohmann::json::parse(read_bytes(folder / "scores.json"), nullptr, false);
  if (!json.is_object()) return;
  const auto number = [&](const char* key) {
    return json.contains(key) && json[key].is_number() ? json[key].get<double>() : NAN;
  };
  outcome.expected_error = number("verdict.expected_error");
  outcome.deviance = number("held_out.deviance_per_photon");
  if (json.contains("verdict") && json["verdict"].is_string())
    outcome.verdict = json["verdict"].get<std::string>();
}

/// Runs the work; what it throws becomes the outcome's code and message.
void guarded(Outcome& outcome, const std::function<void()>& work) {
  try {
    return work();
  } catch (const Interrupted&) {
    throw;
  } catch (const FailedImage& error) {
    outcome.code = 4;
    outcome.message = error.what();
  } catch (const InvalidInput& error) {
    outcome.code = 1;
    outcome.message = error.what();
  } catch (const std::exception& error) {
    const std::string refused = system_message(error);
    if (refused.empty()) throw;  // an error of the program's own
    outcome.code = 1;
    outcome.message = refused;
  }
  print_message(MessageLevel::error, fmt::format("{}: {}", outcome.name, outcome.message));
}

std::string cell_of(double value, double factor, int digits, const char* unit) {
  return std::isfinite(value) ? fmt::format("{:.{}g}{}", factor * value, digits, unit) : "-";
}

std::string verdict_of(const Outcome& one) {
  if (one.code == 1) return "not made";
  return one.verdict.empty() ? "none" : one.verdict;
}

void print_table(const std::vector<Outcome>& outcomes) {
  std::size_t width = 4;
  for (const Outcome& one : outcomes) width = std::max(width, one.name.size());
  show("\n{:<{}}  {:<9} {:>14} {:>17} {:>8}\n", "scan", width, "verdict", "expected error",
       "held-out deviance", "seconds");
  for (const Outcome& one : outcomes)
    show("{:<{}}  {:<9} {:>14} {:>17} {:>8.1f}\n", one.name, width, verdict_of(one),
         cell_of(one.expected_error, 100, 3, " %"), cell_of(one.deviance, 1, 4, ""), one.seconds);
}

void write_table(const fs::path& file, const std::vector<Outcome>& outcomes) {
  std::string table = "scan,verdict,expected_error,held_out_deviance_per_photon,seconds\n";
  for (const Outcome& one : outcomes)
    table += fmt::format("{},{},{},{},{:.2f}\n", one.name, verdict_of(one),
                         cell_of(one.expected_error, 1, 6, ""), cell_of(one.deviance, 1, 8, ""),
                         one.seconds);
  write_text(file, table);
}

void report(const fs::path& folder, const std::vector<Outcome>& outcomes) {
  print_table(outcomes);
  warn_on_error("scans.csv", [&] { write_table(folder / "scans.csv", outcomes); });
}

void throw_worst(const std::vector<Outcome>& outcomes) {
  const auto with = [&](int code) {
    return std::count_if(outcomes.begin(), outcomes.end(),
                         [&](const Outcome& one) { return one.code == code; });
  };
  if (with(1) > 0)
    throw InvalidInput(fmt::format("{} of {} scans could not be reconstructed{}", with(1),
                                   outcomes.size(),
                                   with(4) > 0 ? fmt::format(", {} images failed", with(4)) : ""));
  if (with(4) > 0)
    throw FailedImage(fmt::format("{} of {} images failed", with(4), outcomes.size()));
}

}  // namespace

std::vector<ScanJob> scan_jobs(const std::vector<fs::path>& words, const ReadOptions& options) {
  std::vector<ScanJob> jobs;
  for (const fs::path& word : words)
    for (const fs::path& file : fitting(word)) add_scans(file, options, jobs);
  make_different(jobs);
  return jobs;
}

namespace {

/// What stands before a # and is no blank.
std::string without_remark(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

/// "PATH WEIGHT" or "PATH". A last word that is a number is a weight.
std::pair<std::string, double> path_and_weight(const std::string& text) {
  const auto blank = text.find_last_of(" \t");
  if (blank == std::string::npos) return {text, 1};
  const std::string word = text.substr(blank + 1);
  char* end = nullptr;
  const double weight = std::strtod(word.c_str(), &end);
  if (*end != '\0') return {text, 1};
  require(weight > 0 && weight <= kLargestWeight,
          "expected a weight above 0 and at most {}, found {}", kLargestWeight, word);
  return {text.substr(0, text.find_last_not_of(" \t", blank) + 1), weight};
}

/// Before hours of work on the others.
std::vector<ScanJob> existing(std::vector<ScanJob> jobs) {
  for (const ScanJob& job : jobs)
    require(fs::exists(job.file), "{}: expected a scan, found no such file", job.file.string());
  return jobs;
}

/// The scans that one line names.
std::vector<ScanJob> jobs_of_line(const std::string& path, const fs::path& list,
                                  const ReadOptions& options) {
  const fs::path file = fs::path(path).is_absolute() ? fs::path(path) : list.parent_path() / path;
  return existing(scan_jobs({file}, options));
}

}  // namespace

std::vector<WeightedJob> weighted_jobs(const std::vector<fs::path>& words, const fs::path& list,
                                       const ReadOptions& options) {
  std::vector<WeightedJob> jobs;
  for (const ScanJob& job : existing(scan_jobs(words, options))) jobs.push_back({job});
  if (list.empty()) return jobs;
  std::istringstream lines(read_bytes(list));
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string text = without_remark(line);
    if (text.empty()) continue;
    with_context(fmt::format("{}: line {}", list.string(), number), [&] {
      const auto [path, weight] = path_and_weight(text);
      for (const ScanJob& job : jobs_of_line(path, list, options)) jobs.push_back({job, weight});
    });
  }
  require(!jobs.empty(), "{}: expected a scan in each line, found none", list.string());
  return jobs;
}

void run_scans(
    const std::vector<ScanJob>& jobs, const fs::path& folder,
    const std::function<void(const ScanJob&, const fs::path&, const fs::path&)>& reconstruct) {
  require_writable_folder(folder);
  std::vector<Outcome> outcomes;
  fs::path before;
  for (const ScanJob& job : jobs) {
    const Stopwatch watch;
    const fs::path out = folder / job.name;
    Outcome outcome{.name = job.name, .verdict = "", .message = ""};
    show("\n{} ({} of {})\n", job.name, outcomes.size() + 1, jobs.size());
    try {
      guarded(outcome, [&] { reconstruct(job, out, before); });
    } catch (const Interrupted&) {
      report(folder, outcomes);
      throw;
    }
    outcome.seconds = watch.seconds();
    if (outcome.code != 1) take_scores(out, outcome);
    if (outcome.code == 0) before = out / "reconstruction.h5";
    outcomes.push_back(outcome);
  }
  report(folder, outcomes);
  throw_worst(outcomes);
}

bool probe_fits(const fs::path& result, const ReadOptions& options) {
  const Reconstruction image = read_reconstruction(result);
  const ScanSample sample = [&] {
    const Silence silence;
    return read_scan_sample(options);
  }();
  const double pixel = sample.scan.geometry().object_pixel_m;
  const double other = image.geometry.object_pixel_m;
  const bool same_pixel = pixel <= 0 || other <= 0 || std::abs(pixel / other - 1) <= kSamePixel;
  if (image.pattern_size() == sample.scan.pattern_size() && same_pixel) return true;
  note("the probe of {} is not taken over: it has {} px of {:.4g} nm, this scan {} of {:.4g}",
       result.parent_path().filename().string(), image.pattern_size(), other * 1e9,
       sample.scan.pattern_size(), pixel * 1e9);
  return false;
}

}  // namespace ptyche
