// The options of each stage, declared once and shared by the verbs that run the stage.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/commands/command.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/group/subsample.h"
#include "ptyche/infer/infer.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// How a file is read; `centre` is a vector because an option is.
struct ReadChoices {
  ReadOptions read;
  std::vector<double> centre;  ///< row, col; empty = (N/2, N/2)

  /// The reader's options. Throws InvalidInput unless `centre` has no number or two.
  ReadOptions resolved() const;
};

/// On what and how the program computes.
struct ComputeChoices {
  std::string device = "auto", engine = "fused", precision = "auto";
  std::int64_t threads = 0;

  /// Sets the number of threads. Throws InvalidInput that says what is missing where
  /// engine and device cannot be used here.
  void apply() const;
};

/// What every verb that trains is asked.
struct TrainingChoices {
  ReadChoices scan;
  GroupOptions group;
  TrainOptions train;
  ComputeChoices compute;
  std::string positions = "none";  ///< a PositionFreedom
  std::filesystem::path output;

  /// Sets the values that follow from others: one seed for all, what words mean, the checkpoint in
  /// the output folder. Throws InvalidInput for a word that means nothing.
  void resolve();
};

/// What training minimises, as the original's two weights; only which one is above 0 matters.
struct LossWeights {
  LossKind otherwise = LossKind::poisson;  ///< where neither is
  double nll = 0, mae = 0;

  /// Throws InvalidInput where both are above 0.
  LossKind kind() const;
};

/// Groups that are chosen once, out of some of the patterns.
struct GroupingChoices {
  FixedGroupOptions groups;
  SubsampleOptions subsample = {};
  std::string grouping = "nearest";

  /// What the choices mean; `seed` draws the groups.
  FixedGroupOptions resolved_groups(std::uint64_t seed) const;
  SubsampleOptions resolved_subsample() const;
};

/// The groups that training is shown: drawn anew in every epoch; chosen once where a gridsize is
/// asked for or the network is one of the original's.
Groups groups_for(const Scan& scan, const TrainingChoices& training,
                  const GroupingChoices& grouping = {.groups = {.gridsize = 0}});

std::vector<Field> loss_weight_option_list(LossWeights& weights);

/// The original's --backend, and what is said about it where it is given.
Field backend_option(std::string& backend);
void note_backend(const std::string& backend);
std::vector<Field> read_option_list(ReadChoices& choices);
std::vector<Field> hold_out_option_list(ReadOptions& options);
std::vector<Field> train_option_list(GroupOptions& group, TrainOptions& train);
/// Names and defaults are the original's.
std::vector<Field> grouping_option_list(GroupingChoices& choices);
/// --refine-positions, a PositionFreedom in words, and the step that goes with it.
std::vector<Field> position_option_list(std::string& freedom, double& step_px);
std::vector<Field> compute_option_list(ComputeChoices& choices);

/// -o, --output-dir, which must be given.
Field output_dir_option(std::filesystem::path& folder,
                        const std::string& help = "folder for all results");

}  // namespace ptyche
