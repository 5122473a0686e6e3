// What verbs share: options that several have, and the files that they leave.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/commands/command.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/model/model.h"
#include "ptyche/report/report.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// -o, --output-dir, which must be sources.
Field output_dir_option(std::filesystem::path& folder,
                        const std::string& help = "folder for all results");

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
  std::filesystem::path output;

  /// Sets the values that follow from others (one seed for all, the checkpoint in the output
  /// folder) and the number of threads. Throws UsageError for options of another network than the
  /// one chosen, InvalidInput where engine and device cannot be used here.
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

/// What training minimises, as PtychoPINN's two weights; only which one is above 0 matters.
struct LossWeights {
  LossKind otherwise = LossKind::poisson;  ///< where neither is
  double nll = 0, mae = 0;

  /// Throws InvalidInput where both are above 0.
  LossKind kind() const;
};
std::vector<Field> fields(LossWeights& weights);

/// PtychoPINN's --backend, and what is said about it where it is sources.
Field backend_option(std::string& backend);
void note_backend(const std::string& backend);

/// Runs `reconstruct` on the even and on the odd patterns, writes half_even.h5, half_odd.h5 and
/// half_sets.csv (the correlation's curve) and gives how far the two images agree.
Comparison write_half_sets(const std::filesystem::path& folder, const Scan& scan,
                           const ScanToImage& reconstruct);

/// What made the image: the model's seed, the command, its options; the losses of training come
/// before those that the image has.
void fill_provenance(Reconstruction& image, const Model& model, const std::string& command,
                     const std::string& options_json);

/// One line each on stdout: name, value, what trivial predictors get, meaning.
void print_scores(const std::vector<NamedScore>& scores);

/// The verdict in one line on stdout, its reasons below it.
void print_verdict(const Verdict& verdict);

/// reconstruction.h5 first, then its scores, scores.json, pictures and report.html; `scores` (its
/// seconds, half sets and verdict) gets what can be measured of `image`. Prints them to stdout.
void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras);

}  // namespace ptyche
