// A trained network with all that it needs to be used again: what model.ptyche holds.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/model/precision.h"
#include "ptyche/nn/network_options.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

class PatchNetwork;

/// One line of history.csv.
struct EpochRecord {
  std::int64_t epoch = 0;  ///< from 1
  /// Over the epoch's patterns: Poisson loss (half the deviance) per photon, or the misfit of the
  /// amplitudes over their sum, or that of labels per pixel.
  double loss = 0;
  double object_contrast = 0;  ///< standard deviation of the merged objects over their mean
  double probe_change = 0;     ///< |P - P_start| / |P_start|
  double learning_rate = 0;    ///< of the network, at the end of the epoch
  /// The loss of the groups that are kept from training to set its rate; where there are some.
  std::optional<double> validation_loss = {};
};

/// How a network learns, and how its patches are joined.
enum class TrainRecipe {
  ptyche,      ///< ours: merge by the probe's intensity, cosine, means of the weights
  ptychopinn,  ///< PtychoPINN's (ptyche/train/ptychopinn_recipe.h)
};
std::vector<std::pair<std::string, TrainRecipe>> recipe_names();

/// (N, N) float32: 1 in the central square of `side` (even) pixels, 0 around it.
at::Tensor central_square(std::int64_t size, std::int64_t side);

/// What a model keeps of one scan that it was trained on.
struct LearnedScan {
  at::Tensor stem_probe;  ///< (modes, N, N) complex64, inside the physics stem; frozen in training
  at::Tensor probe;       ///< (modes, N, N) complex64, trained with the network
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none
  /// Likewise, taken from the patterns before the physics stem sees them; of a scan that a network
  /// for any scan is used on, never of one that it was trained on.
  at::Tensor stem_background;
  at::Tensor position_corrections;  ///< (n, 2) float64 px, what training added to the positions of
                                    ///< this scan; undefined = nothing
  double input_scale = 1;           ///< what sqrt(counts) is multiplied by, frozen in training
  double photons = 0;      ///< power of the scan's calibrated probe, per pattern; 0 = not known
  std::string input_hash;  ///< SHA-256 of the scan
};

/// A trained network with what it needs to know of the scan that it is used on: at first the only
/// or the first one that it was trained on.
struct Model : LearnedScan {
  NetworkOptions network_options;
  StemOptions stem_options;
  std::shared_ptr<PatchNetwork> network;  ///< frozen weights, channels_last
  std::uint64_t seed = 1;
  TrainRecipe recipe = TrainRecipe::ptyche;
  Key training;  ///< the options of its training and the groups; empty = not known
  std::vector<EpochRecord> history;
  std::vector<LearnedScan> more;  ///< the further scans that it was trained on
  bool any_scan = false;      ///< trained on scans of a universe: its own probe is none of a user's
  double seconds_before = 0;  ///< of its training before it was resumed; not in its file

  std::int64_t pattern_size() const { return probe.size(-1); }
};

/// A model that has not been trained: the network's weights drawn from `seed`, its stem probe and
/// probe set to `probe`, its input constant taken from the counted pixels of the scan's used
/// patterns. Throws InvalidInput, before any other work, for a pattern size that the network does
/// not take.
Model new_model(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network,
                const StemOptions& stem, std::uint64_t seed);

/// What a model knows of a scan before it is trained on it: stem probe and probe are the given one,
/// the input constant is taken from the counted pixels of the used patterns.
///   probe  (modes, N, N) complex64, sqrt(photon)
LearnedScan untrained_on(const Scan& scan, const at::Tensor& probe, const NetworkOptions& network);

/// Which probe an image is made with.
enum class ProbeSource {
  automatic,  ///< see below
  model,      ///< that of the model, of its only or first scan
  scan,       ///< that of the scan, as it was read
};

/// The model with the probe, the background and the input constant for a scan. Automatic: what was
/// trained for this very scan, told by its hash; else, of a model of one scan, that one's, as
/// scans of one beamtime share it; of a model of several scans or of a universe the scan's own
/// probe, and where the file gives none the model's. Throws InvalidInput where the network does not
/// take the scan's pattern size.
Model model_for(const Scan& scan, Model model, ProbeSource source = ProbeSource::automatic);

/// The model for another dose than that of its training: a scan's own calibrated probe says how
/// many photons a pattern has, so stem probe and probe grow by the root of the ratio, the
/// background by the ratio, and what the network sees stays in the range that it knows. Says so
/// where the ratio is more than 1 % from 1. The model as it is where the photons of its training
/// are not known.
Model at_dose_of(const Scan& scan, Model model);

/// The model with a network of its own and its arrays on a device; on the CPU the model itself.
Model on_device(const Model& model, at::Device device);

/// Throws InvalidInput for a near-field scan: networks know the far field only.
void require_far_field(const Scan& scan);

/// The scan with the positions that the model was trained to, if it was trained on this scan and
/// has moved them; else the scan as it is.
Scan placed_by(const Model& model, const Scan& scan);

/// How many patterns are worked on at a time: on the CPU those that stay near its caches, on
/// another device as many as keep it busy.
std::int64_t patterns_at_once(std::int64_t pattern_size, at::Device device);

/// The network's input for `frames` (k) int64: (k, channels, N, N) float32, channels_last.
/// Throws InvalidInput if the scan's pattern size is not the model's.
at::Tensor input_channels(const Model& model, const Scan& scan, const at::Tensor& frames,
                          Engine engine = Engine::fused);

/// Patches (k, N, N) complex64 of the patterns `frames` (k) whose channels (k, channels, N, N) are
/// given. A network that looks at several patterns at once takes them in this order,
/// patterns_per_input at a time; where one patch is all that it gives, that lies around their mean
/// position, 1 beyond it (as where no patch lies), and each of them is given the part that it sees.
/// Throws InvalidInput where the numbers of patterns do not fit.
at::Tensor patches_of(const Model& model, const Scan& scan, const at::Tensor& frames,
                      const at::Tensor& channels);

/// Positions less their nearest whole pixel, (k, 2) float64 in [-0.5, 0.5].
at::Tensor position_fractions(const Scan& scan, const at::Tensor& frames);

/// Throws InvalidInput where int8 is asked for and the processor would add bytes up wrongly, the
/// device is not the CPU, or the network has no layers for them or weights that are not finite.
void require_precision(const Model& model, Precision precision, at::Device device);

/// The model with a network of its own that multiplies bytes (PatchNetwork::multiply_bytes), if
/// int8 is asked for, or if automatic, the processor is fast with bytes and bfloat16, and the
/// network can; else the model itself. For inference alone: single patches of the program's network
/// differ from those in float32 by 4 % of the contrast (bfloat16: 2 %), its stitched image by .5 %.
/// Throws as require_precision.
Model in_bytes(const Model& model, Precision precision);

/// The numbers in which a file holds a network's weights; they are read as float32.
enum class WeightType { float32, float16 };
std::vector<std::pair<std::string, WeightType>> weight_type_names();

/// Writes the model atomically. The same model gives the same bytes: no times, no paths. Throws
/// InvalidInput for a weight that the type cannot hold.
void write_model(const std::filesystem::path& file, const Model& model,
                 WeightType weights = WeightType::float32);

/// model.ptyche and history.csv, one line per epoch, into a folder.
void write_training(const std::filesystem::path& folder, const Model& model,
                    WeightType weights = WeightType::float32);

/// Throws InvalidInput if the file is not a model, of another format version, or incomplete, and
/// for arrays of another shape or type than the model's, numbers that are not finite or out of
/// range, and a network larger than the file.
Model read_model(const std::filesystem::path& file);

/// The same into and from an open file, beside other things (a checkpoint's training state).
void write_model_to(Hdf5File& file, const Model& model, WeightType weights = WeightType::float32);
Model read_model_from(const Hdf5File& file);

}  // namespace ptyche
