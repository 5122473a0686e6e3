// What a user chooses about training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/engine/engine.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/network_options.h"
#include "ptyche/nn/physics_stem.h"
#include "ptyche/physics/losses.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

struct TrainOptions {
  std::int64_t epochs = 40;           ///< passes over the used patterns, >= 1
  std::int64_t groups_per_batch = 1;  ///< groups in a step, >= 1
  double learning_rate = 1.5e-3;      ///< of the network at its highest, > 0
  double probe_learning_rate = 1e-4;  ///< of the probe, in shares of its peak, >= 0
  double probe_warm_up = 0.15;        ///< share of the steps in which the probe is kept, 0..1
  std::int64_t warm_up_steps = 60;    ///< steps in which the learning rate rises
  double gradient_limit = 1.0;        ///< norm at which the network's gradient is clipped, > 0
  double averaging = 0.99;            ///< of weights and probe over the steps, 0..1; 0 = none
  bool fixed_probe = false;           ///< keep the probe that training starts from
  std::int64_t probe_modes = 1;       ///< incoherent ones, 1..32; not fewer than the scan has
  PositionFreedom positions = PositionFreedom::none;  ///< which corrections are looked for
  double position_step = 0.1;                         ///< px, the largest in two epochs, about
  bool background = true;                ///< train a background per detector pixel, in counts
  double background_rate = 0.02;         ///< learning rate of its square root, sqrt(counts), >= 0
  std::string probe_start = "solver";    ///< solver (rPIE) | guess (the scan's probe)
  std::int64_t probe_start_epochs = 30;  ///< passes of that solver, >= 1
  TrainRecipe recipe = TrainRecipe::ptyche;
  double probe_scale = 0;  ///< of ptychopinn_probe, >= 0; 0 = the counts say how bright it is
  NetworkOptions network;
  LossKind loss = LossKind::poisson;  ///< between expected and measured counts
  double mae_share = 0;               ///< of the amplitudes' absolute error beside `loss`, >= 0
  double tv_weight = 0;               ///< of real_space_terms' total variation, >= 0
  double realspace_mae = 0;           ///< of its distance from the truth, >= 0
  StemOptions stem;
  Precision precision = Precision::automatic;
  Engine engine = Engine::fused;  ///< how merge, forward model and loss are computed on the CPU
  at::Device device = at::kCPU;   ///< where network and physics are; the first probe's solver and
                                  ///< training on a universe stay on the CPU
  std::uint64_t seed = 1;
  std::filesystem::path start;  ///< a model whose network is trained further; empty = a new one
  std::filesystem::path checkpoint;  ///< where the state is kept while training; empty = nowhere
  bool resume = false;               ///< go on from `checkpoint` if it is there
  bool keep_checkpoint = false;      ///< at the end: whoever writes the model removes it afterwards
  std::set<std::string> typed = {};  ///< names of the options that the user typed, see Field
};

/// Those of the network, the stem and the first probe's solver among them.
std::vector<Field> fields(TrainOptions& options);

}  // namespace ptyche
