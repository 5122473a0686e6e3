#include "ptyche/commands/option_lists.h"

#include <ATen/Parallel.h>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/engine/engine.h"

namespace ptyche {

ReadOptions ReadChoices::resolved() const {
  require(centre.empty() || centre.size() == 2, "--center: expected row,col, found {} numbers",
          centre.size());
  ReadOptions options = read;
  if (!centre.empty()) options.centre = DetectorCentre{centre[0], centre[1]};
  return options;
}

void ComputeChoices::apply() const {
  require_device(engine_from(engine), compute_device_from(device));
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

void TrainingChoices::resolve() {
  scan.read.seed = group.seed = train.seed;
  train.precision = precision_from(compute.precision);
  train.engine = engine_from(compute.engine);
  train.positions = position_freedom_from(positions);
  train.device = compute_device_from(compute.device);
  train.checkpoint = output / "checkpoint.ptyche";
  // The probe is calibrated so that |object| is about 1, in the middle of a sigmoid.
  train.network.amplitude_range = 2;
}

std::vector<Field> read_option_list(ReadChoices& choices) {
  ReadOptions& read = choices.read;
  return {
      {.name = "domain",
       .target = &read.domain,
       .help = "what the file's patterns are, where it does not say",
       .choices = {"auto", "counts", "amplitude"}},
      {.name = "mask",
       .target = &read.mask,
       .help =
           "file, none (every pixel counts), or a .npy/.npz file of bool (N, N), true = counted"},
      {.name = "scan-index",
       .target = &read.scan_index,
       .help = "which scan, where the file's array scan_index numbers several; -1 = there is one",
       .range = {-1, 1e9}},
      {.name = "crop",
       .target = &read.crop,
       .unit = "px",
       .help = "keep the central N x N detector pixels; 0 = all",
       .range = {0, 1e6},
       .aliases = {"N"}},
      {.name = "center",
       .target = &choices.centre,
       .unit = "px",
       .help = "row,col of the zero frequency, where it is not at (N/2, N/2)"},
      {.name = "energy",
       .target = &read.energy_ev,
       .unit = "eV",
       .help = "photon energy; 0 = from the file",
       .range = {0}},
      {.name = "distance",
       .target = &read.distance_m,
       .unit = "m",
       .help = "sample to detector; 0 = from the file",
       .range = {0}},
      {.name = "detector-pixel",
       .target = &read.detector_pixel_m,
       .unit = "m",
       .help = "detector pixel pitch; 0 = from the file",
       .range = {0}},
      {.name = "near-field",
       .target = &read.near_field,
       .help = "the detector sees the sample's shadow and not its far field (solve only)"},
      {.name = "source-distance",
       .target = &read.source_distance_m,
       .unit = "m",
       .help = "near field: focus to sample; 0 = from the file, or parallel light",
       .range = {0}},
      {.name = "flip-x",
       .target = &read.flip_x,
       .help = "columns of the positions run the other way"},
      {.name = "flip-y", .target = &read.flip_y, .help = "rows of the positions run the other way"},
      {.name = "swap-xy",
       .target = &read.swap_xy,
       .help = "exchange rows and columns of the positions"},
      {.name = "photons",
       .target = &read.photons,
       .unit = "photons",
       .help = "per pattern through an empty sample; 0 = from the mean counts",
       .range = {0}},
      {.name = "nphotons",
       .target = &read.nphotons,
       .unit = "photons",
       .help = "mean counts per pattern for amplitudes without a scale; 0 = 1e9, with a warning",
       .range = {0}},
  };
}

std::vector<Field> hold_out_option_list(ReadOptions& options) {
  return {
      {.name = "hold-out",
       .target = &options.hold_out,
       .help = "share of patterns kept out of everything, to score the image on",
       .range = {0, 0.5}},
      {.name = "hold-out-file",
       .target = &options.hold_out_file,
       .help = "JSON file with heldout_indices, instead of --hold-out"},
      {.name = "unseen-half",
       .target = &options.unseen_half,
       .help = "half of the scan kept from training and inferred in single passes",
       .choices = {"none", "upper", "lower"}},
  };
}

std::vector<Field> train_option_list(GroupOptions& group, TrainOptions& train) {
  return {
      {.name = "epochs",
       .target = &train.epochs,
       .help = "passes over the patterns",
       .range = {1, 1e6},
       .aliases = {"nepochs"}},
      {.name = "group-size",
       .target = &group.size,
       .unit = "patterns",
       .help = "neighbours that one merged object must predict",
       .range = {1, 64}},
      {.name = "merged",
       .target = &group.merged,
       .unit = "patterns",
       .help = "how many of a group are merged, drawn anew each time; 0 = half",
       .range = {0, 64}},
      {.name = "groups-per-batch",
       .target = &train.groups_per_batch,
       .help = "groups in one step",
       .range = {1, 1024},
       .aliases = {"batch-size"}},
      {.name = "learning-rate",
       .target = &train.learning_rate,
       .help = "of the network, at its highest",
       .range = {1e-9, 1}},
      {.name = "probe-learning-rate",
       .target = &train.probe_learning_rate,
       .help = "of the probe, in shares of its peak",
       .range = {0, 1}},
      {.name = "fixed-probe",
       .target = &train.fixed_probe,
       .help = "keep the probe that training starts from"},
      {.name = "probe-modes",
       .target = &train.probe_modes,
       .help = "incoherent probe modes that are trained",
       .range = {1, 32}},
      {.name = "background",
       .target = &train.background,
       .help = "train a background per detector pixel (--background=false: none)"},
      {.name = "probe-start",
       .target = &train.probe_start,
       .help = "solver: rPIE on the used patterns; guess: the file's probe",
       .choices = {"solver", "guess"}},
      {.name = "probe-start-epochs",
       .target = &train.first_probe.epochs,
       .help = "passes of that solver",
       .range = {1, 10000}},
      {.name = "network",
       .target = &train.network.name,
       .help =
           "unet: ours; ptychopinn: the original's; supervised: its baseline, which is shown the "
           "truth",
       .choices = {"unet", "ptychopinn", "supervised"}},
      {.name = "resume",
       .target = &train.resume,
       .help = "go on from the checkpoint in the output folder"},
      {.name = "seed",
       .target = &train.seed,
       .help = "of every random choice; the same seed gives the same result"},
  };
}

std::vector<Field> position_option_list(std::string& freedom, double& step_px) {
  return {
      {.name = "refine-positions",
       .target = &freedom,
       .help = "none, jitter (each pattern's own error; what the bare option means) or affine "
               "(scale, rotation, shear too)",
       .choices = {"none", "jitter", "affine"},
       .implied = "jitter"},
      {.name = "position-step",
       .target = &step_px,
       .unit = "px",
       .help = "largest move of a position between two looks at all patterns, about",
       .range = {0, 10}},
  };
}

std::vector<Field> compute_option_list(ComputeChoices& choices) {
  return {
      {.name = "device",
       .target = &choices.device,
       .help =
           "where the physics of training is computed; the network stays on the CPU, auto is cpu",
       .choices = {"auto", "cpu", "cuda"}},
      {.name = "engine",
       .target = &choices.engine,
       .help = "how the physics is computed (ptyche info --engines)",
       .choices = {"fused", "reference"}},
      {.name = "precision",
       .target = &choices.precision,
       .help = "of the network's arithmetic; auto = bfloat16 where the processor is faster with it",
       .choices = {"auto", "float32", "bfloat16"}},
      {.name = "threads",
       .target = &choices.threads,
       .help = "0 = one per core",
       .range = {0, 4096}},
  };
}

Field backend_option(std::string& backend) {
  return {.name = "backend",
          .target = &backend,
          .help = "accepted and not needed: --engine chooses",
          .choices = {"", "tensorflow", "pytorch"}};
}

void note_backend(const std::string& backend) {
  if (!backend.empty())
    note("--backend {}: there is one program; --engine chooses how the physics is computed",
         backend);
}

Field output_dir_option(std::filesystem::path& folder, const std::string& help) {
  return {
      .name = "output-dir", .target = &folder, .help = help, .short_name = "o", .required = true};
}

}  // namespace ptyche
