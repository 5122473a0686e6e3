// What verbs share: options that several have, and the names of the files that they leave.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/commands/command.h"
#include "ptyche/core/memory.h"
#include "ptyche/core/output_folder.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/model/model.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// -o, --output-dir, which must be sources.
Field output_dir_option(std::filesystem::path& folder,
                        const std::string& help = "folder for all results");

/// --overwrite, and what it and --resume mean for the folder.
Field overwrite_option(bool& overwrite);
FolderUse folder_use(bool overwrite, bool resume = false);

/// Where a probe that was looked for is kept until the run has come to its end.
inline constexpr const char* kFirstProbeFile = "first_probe.h5";
KeepProbe kept_in(const std::filesystem::path& folder, bool resume);

/// What verbs that write an image (write_image and what goes before it), a model, or both leave.
RunFiles image_files(const std::string& checkpoint = "");
RunFiles model_files();
RunFiles joined(RunFiles first, const RunFiles& second);

/// --threads, and what it means.
Field threads_option(std::int64_t& threads);
void use_threads(std::int64_t threads);

/// How a scan is read by a verb that knows the far field only.
std::vector<Field> far_field_scan_options(ReadOptions& options);

/// How a scan is read where all of its patterns are looked at alike.
std::vector<Field> whole_scan_options(ReadOptions& options);

/// What every verb that trains is asked.
struct TrainingChoices {
  ReadOptions scan;
  GroupOptions group;
  TrainOptions train;
  std::int64_t threads = 0;
  MemoryOptions memory;
  std::filesystem::path output;
  bool overwrite = false;

  /// Sets the values that follow from others (one seed for all, the checkpoint in the output
  /// folder) and the number of threads. Throws UsageError for options of another network than the
  /// one chosen, InvalidInput where the device cannot be used here.
  void resolve();
};

/// Groups that are chosen once, out of some of the patterns.
struct GroupingChoices {
  FixedGroupOptions groups;
  SubsampleOptions subsample = {};

  /// What the choices mean; `seed` draws the groups.
  FixedGroupOptions resolved_groups(std::uint64_t seed) const;
  SubsampleOptions resolved_subsample() const;
};
std::vector<Field> fields(GroupingChoices& choices);

/// Whether the groups that training is shown are drawn anew in every epoch: unless a gridsize is
/// asked for, or the network is one of PtychoPINN's.
bool draws_groups(const TrainingChoices& training, const GroupingChoices& grouping);
/// Throws UsageError naming the first option that chooses groups in another way than this.
void require_own_grouping(TrainingChoices training,
                          GroupingChoices grouping = {.groups = {.gridsize = 0}});
Groups groups_for(const Scan& scan, const TrainingChoices& training,
                  const GroupingChoices& grouping = {.groups = {.gridsize = 0}});

/// What training minimises, as PtychoPINN's two weights; only their ratio matters.
struct LossWeights {
  LossKind otherwise = LossKind::poisson;  ///< where neither is
  double nll = 0, mae = 0;

  /// The Poisson likelihood where both are above 0.
  LossKind kind() const;
  /// TrainOptions::mae_share: 0 unless both are above 0.
  double mae_share() const { return nll > 0 ? mae / nll : 0; }
};
std::vector<Field> fields(LossWeights& weights);

}  // namespace ptyche
