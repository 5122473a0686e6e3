// What PtychoPINN's studies share: how networks learn from simulated data, and the image and the
// figure that a study leaves.
#pragma once

#include <ATen/ATen.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/report/html.h"
#include "ptyche/report/result_figures.h"
#include "ptyche/train/train.h"

namespace ptyche {

// The networks that the studies and `ptyche bench` compare, by their names in the registry.
inline constexpr const char* kOurNetwork = "unet";
inline constexpr const char* kPtychoPinnNetwork = "ptychopinn";
inline constexpr const char* kSupervisedNetwork = "supervised";

/// The studies' names of these networks. ptyche: our default network; pinn: PtychoPINN's network;
/// both learn from the patterns through the physics. baseline: PtychoPINN's supervised network,
/// which is shown the true objects.
std::vector<std::string> known_models();

/// The registry's name of one of them. Throws InvalidInput for another label.
std::string network_of(const std::string& label);

/// Some of them, by names joined by commas.
TextTarget models_target(std::vector<std::string>& models);

/// Simulated data know their probe and have no background.
TrainOptions with_known_probe(TrainOptions options);

/// How a study trains its networks.
struct StudyTraining {
  std::int64_t gridsize = 1, epochs = 60;
  std::int64_t batch = 16;  ///< of PtychoPINN's networks: groups, or labelled patterns, in a step
  LossKind loss = LossKind::amplitude_absolute;
  double mae_share = 0;       ///< as TrainOptions has it
  NetworkOptions ptychopinn;  ///< how PtychoPINN's networks are built
  Engine engine = Engine::fused;
  Precision precision = Precision::automatic;
  std::uint64_t seed = 1;
};

/// Ours has the defaults of `ptyche train`, PtychoPINN's what its studies give them; the probe is
/// the scan's.
TrainOptions training_of(const std::string& label, const StudyTraining& how);

inline constexpr const char* kStudyFile = "study.json";
inline constexpr const char* kReconFile = "recon.npz";  ///< the last of a network's files

/// Writes what the results depend on into `folder`/study.json; with `resume`, where there is one,
/// throws InvalidInput naming the options that differ.
void begin_study(const std::filesystem::path& folder, const Key& key, bool resume);

/// Throws InvalidInput now, and not after other networks were trained, where this one cannot be
/// built for patterns of `size` pixels a side.
void require_network(const NetworkOptions& network, std::int64_t size);

/// kReconFile in `folder`, which is made. `YY_pred` (rows, cols)
/// complex, and its `amp` and `phase`.
void write_recon(const std::filesystem::path& folder, const at::Tensor& image);

/// The image in `folder`/recon.npz, (rows, cols) complex. Throws InvalidInput that names the file
/// and both sizes where it has not the pixels of `truth`.
at::Tensor read_recon(const std::filesystem::path& folder, const at::Tensor& truth);

/// `--resume` of a study.
Field resume_field(bool& resume);

struct LabelledObject {
  std::string label;  ///< above its column
  at::Tensor object;  ///< (rows, cols) complex
};

struct AmplitudeAndPhaseFigures {
  CaptionedFigure amplitude, phase;
};

/// One row of panels each, in the given order, all in one range of colours. The first object is
/// what the others are compared with. For display only, the other amplitudes are scaled to its
/// mean, its phase is shown less its mean and its linear ramp, and that of each other as the
/// first's and the difference between the two, less the difference's own mean and ramp. The colours
/// of the phase span at least 1 rad, so that the noise of a phase that is 0 is not stretched over
/// them. pixel_m > 0: axes in lengths. Throws InvalidInput, naming the object, if one is missing,
/// empty, not finite somewhere or not of the first one's shape, and if there is none.
AmplitudeAndPhaseFigures amplitude_phase_figures(const std::vector<LabelledObject>& objects,
                                                 double pixel_m = 0);

/// Both rows as one picture: the PNG is compare_amp_phase.png. Throws as above.
Picture amplitude_phase_picture(const std::vector<LabelledObject>& objects, double pixel_m = 0);

}  // namespace ptyche
