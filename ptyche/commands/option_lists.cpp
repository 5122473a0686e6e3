#include "ptyche/commands/option_lists.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>

#include "ptyche/commands/parse.h"
#include "ptyche/core/progress.h"
#include "ptyche/engine/engine.h"
#include "ptyche/solve/shares.h"

namespace ptyche {

Field output_dir_option(std::filesystem::path& folder, const std::string& help) {
  return {
      .name = "output-dir", .target = &folder, .help = help, .short_name = "o", .required = true};
}

Field overwrite_option(bool& overwrite) {
  return {.name = "overwrite",
          .target = &overwrite,
          .help = "new start where the output folder holds results, which are moved to FOLDER.old",
          .affects_result = false};
}

FolderUse folder_use(bool overwrite, bool resume) {
  if (overwrite && resume)
    throw UsageError("--overwrite: it starts anew, --resume goes on; give one of them");
  if (overwrite) return FolderUse::overwrite;
  return resume ? FolderUse::resume : FolderUse::fresh;
}

KeepProbe kept_in(const std::filesystem::path& folder, bool resume) {
  return {.file = folder / kFirstProbeFile, .resume = resume};
}

RunFiles image_files(const std::string& checkpoint) {
  return {.names = {"reconstruction.h5",    "scores.json",
                    "report.html",          "phase.png",
                    "amplitude.png",        "probe.png",
                    "verdict.png",          "trust.png",
                    "coverage.png",         "patterns.png",
                    "positions.png",        "attempts.csv",
                    "progress.csv",         "patterns_left_out.csv",
                    "half_even.h5",         "half_odd.h5",
                    "half_sets.csv",        "half_sets.png",
                    "truth_frc.png",        "solve_checkpoint.h5",
                    "automatic_checkpoint", "refine_checkpoint.h5",
                    "object.npy",           "probe.npy",
                    "positions.npy",        "coverage.npy",
                    "frame_use.npy",        "background.npy",
                    "intensities.npy",      "arrays.json",
                    "bright_field.png"},
          .last = "report.html",
          .checkpoint = checkpoint};
}

RunFiles model_files() {
  return {.names = {"model.ptyche", "history.csv"},
          .last = "history.csv",
          .checkpoint = "checkpoint.ptyche"};
}

RunFiles joined(RunFiles first, const RunFiles& second) {
  for (const std::string& name : second.names)
    if (std::ranges::count(first.names, name) == 0) first.names.push_back(name);
  if (first.checkpoint.empty()) first.checkpoint = second.checkpoint;
  return first;
}

Field threads_option(std::int64_t& threads) {
  return {.name = "threads",
          .target = &threads,
          .help = "threads; 0 = one per core",
          .range = {0, 4096},
          .affects_result = false};  // but for rounding
}

void use_threads(std::int64_t threads) {
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

std::vector<Field> far_field_scan_options(ReadOptions& options) {
  return without(fields(options), {"near-field", "source-distance"});
}

std::vector<Field> whole_scan_options(ReadOptions& options) {
  return without(fields(options), {"hold-out", "hold-out-file", "unseen-half"});
}

void TrainingChoices::resolve() {
  if (std::filesystem::is_directory(train.start)) train.start /= "model.ptyche";
  as_usage([&] { require_own_options(train.network); });
  require_device(train.device);
  use_threads(threads);
  use_memory(memory);
  settle_ranks({threads, memory.bytes});
  scan.seed = group.seed = train.seed;
  train.checkpoint = output / "checkpoint.ptyche";
  train.keep_checkpoint = true;
  // The probe is calibrated so that |object| is about 1, in the middle of a sigmoid.
  train.network.amplitude_range = 2;
}

FixedGroupOptions GroupingChoices::resolved_groups(std::uint64_t seed) const {
  FixedGroupOptions options = groups;
  options.gridsize = std::max<std::int64_t>(groups.gridsize, 1);
  options.seed = seed;
  return options;
}

SubsampleOptions GroupingChoices::resolved_subsample() const {
  SubsampleOptions options = subsample;
  options.first = groups.sequential;
  return options;
}

std::vector<Field> fields(GroupingChoices& choices) {
  return joined({fields(choices.groups), fields(choices.subsample)});
}

bool draws_groups(const TrainingChoices& training, const GroupingChoices& grouping) {
  return grouping.groups.gridsize == 0 && traits_of(training.train.network).has_stem;
}

void require_own_grouping(TrainingChoices training, GroupingChoices grouping) {
  const bool drawn = draws_groups(training, grouping);
  GroupOptions group;
  FixedGroupOptions fixed{.gridsize = 0};
  for (const std::string& name : drawn ? given(fields(grouping.groups), fields(fixed))
                                       : given(fields(training.group), fields(group))) {
    if (drawn && name == "sequential-sampling" && grouping.subsample.count > 0) continue;
    throw UsageError(fmt::format(
        "--{}: {}", name,
        drawn ? "groups are drawn anew in every epoch; with --gridsize they are chosen once"
              : "groups are chosen once, of --gridsize^2 patterns, all of them merged"));
  }
}

Groups groups_for(const Scan& scan, const TrainingChoices& training,
                  const GroupingChoices& grouping) {
  if (draws_groups(training, grouping)) return make_groups(scan, training.group);
  const std::uint64_t seed = training.train.seed;
  return groups_of(fixed_groups(scan, grouping.resolved_groups(seed)), seed);
}

LossKind LossWeights::kind() const {
  if (nll == 0 && mae == 0) return otherwise;
  return nll > 0 ? LossKind::poisson : LossKind::amplitude_absolute;
}

std::vector<Field> fields(LossWeights& weights) {
  const bool poisson = weights.otherwise == LossKind::poisson;
  const auto help = [](const char* what, bool is_default) {
    return fmt::format(
        "weight of {} in the loss{}; where both weights are above 0 their ratio counts", what,
        is_default ? ", which is all of it where neither weight is given" : "");
  };
  return {{.name = "nll-weight",
           .target = &weights.nll,
           .help = help("the Poisson likelihood of the counts", poisson),
           .range = {0, 1e6}},
          {.name = "mae-weight",
           .target = &weights.mae,
           .help = help("the absolute error of the amplitudes", !poisson),
           .range = {0, 1e6}}};
}

}  // namespace ptyche
