// Everything that changes during training, and its checkpoint file.
#pragma once

#include <filesystem>

#include "ptyche/data/reconstruction.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/model/model.h"
#include "ptyche/train/adam.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// What training changes of one scan.
struct ScanState {
  Model model;                 ///< what this scan starts from, with the network of all scans
  at::Tensor probe_parts;      ///< (modes, N, N, 2) float32, the probe as the optimiser sees it
  at::Tensor background_root;  ///< (N, N) float32 sqrt(counts), FFT order; its square is not < 0
  at::Tensor averaged_probe_parts, averaged_background_root;  ///< exponential means over the steps,
                                                              ///< which the finished model gets
  at::Tensor position_corrections;    ///< (n, 2) float64 px, added to those of the used patterns
  at::Tensor position_gradient;       ///< (n, 2) float64, of the summed loss since they last moved
  at::Tensor mean_position_gradient;  ///< (n, 2) float64, what is remembered of earlier ones
  AdamState probe_adam, background_adam;
  std::int64_t own_steps = 0;  ///< those in which it took part
};

/// Everything that changes while a network is trained: of the only or first scan its own members,
/// of the others `more`. The history is in `model`.
struct TrainingState : ScanState {
  std::vector<ScanState> more;
  std::vector<at::Tensor> weights, averaged_weights;
  AdamState network_adam;
  std::int64_t epoch = 0, batch = 0, step = 0;  ///< what comes next
  std::int64_t total_steps = 0;
  double rate = 1;  // factor on all learning rates; halved by every restart_from_stem
  double loss_sum = 0, size_sum = 0, contrast_sum = 0;
  double seconds_before = 0;  ///< that the training had taken before it was resumed

  std::size_t scans() const { return 1 + more.size(); }
  ScanState& of(std::size_t scan) { return scan == 0 ? *this : more[scan - 1]; }
  const ScanState& of(std::size_t scan) const { return scan == 0 ? *this : more[scan - 1]; }
};

/// The state before the first step: a new network, or that of options.start, on the probes that
/// training starts from. Throws InvalidInput for a model in options.start that is of another
/// network than options.network, and for scans of several sizes where the network has one.
TrainingState start_training(const std::vector<TrainingScan>& scans, const TrainOptions& options);
TrainingState start_training(const Scan& scan, const Groups& groups, const TrainOptions& options);

/// The state of a model that is about to be trained on scans of so many patterns: everything that
/// follows from these alone.
TrainingState state_around(Model model, const std::vector<std::int64_t>& frames);
TrainingState state_around(Model model, std::int64_t frames);

/// The network and all arrays of the state but the positions' corrections to a device; what is to
/// be trained stays so.
void move_to(TrainingState& state, at::Device device);

/// Marks what the options let training change beside the network: probe, background.
void require_gradients(TrainingState& state, const TrainOptions& options);

/// The finished model: averaged weights, probe and background; the moves if there are any.
Model finish_training(const TrainingState& state, const TrainOptions& options);

/// True if training has collapsed to a flat object, a state from which it does not come back by
/// itself: the last epoch's merged objects have less than a fifth of the contrast that the stem
/// alone gave in the first epoch, while probe or background explain the patterns instead.
bool collapsed(const Model& model);

/// Back to the stem's image: network weights drawn anew, probe and background as at the start, the
/// optimiser's memory cleared, learning rates halved from here on. The history is kept.
void restart_from_stem(TrainingState& state, const TrainOptions& options);

/// What two runs share only if one may go on with the other's checkpoint: scans, weights, groups
/// and all options that affect the result.
Key training_key(const std::vector<TrainingScan>& scans, const TrainOptions& options);
Key training_key(const Scan& scan, const Groups& groups, const TrainOptions& options);

/// Throws InvalidInput for counters that no state of such a training has.
void require_counters(const TrainingState& state, const std::vector<TrainingScan>& scans,
                      const TrainOptions& options);

/// The weights of the model that options.start names: into a model of the same network, and as one
/// line for keys. Throw InvalidInput naming the file, what was expected and found.
void take_start(Model& model, const TrainOptions& options);
std::string fingerprint_of_start(const TrainOptions& options);

/// The batches of an epoch, and how many an epoch has.
std::vector<std::vector<ScanBatch>> batches_of(const std::vector<TrainingScan>& scans,
                                               const TrainOptions& options, std::int64_t epoch);

/// Writes / reads the whole state; `seconds` are those that the training has taken. Both throw
/// InvalidInput naming the dataset for arrays of another shape or type and numbers that are not
/// finite: what could not be read is not written. Reading throws InvalidInput naming the options
/// that differ if the key is another one.
void write_checkpoint(const std::filesystem::path& file, const TrainingState& state, const Key& key,
                      double seconds = 0);
TrainingState read_checkpoint(const std::filesystem::path& file, const Key& key,
                              const std::vector<std::int64_t>& frames);

}  // namespace ptyche
