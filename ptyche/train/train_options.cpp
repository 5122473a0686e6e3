#include "ptyche/train/train_options.h"

namespace ptyche {
namespace {

std::vector<Field> step_fields(TrainOptions& options) {
  return {
      {.name = "epochs",
       .target = &options.epochs,
       .help = "passes over the patterns",
       .range = {1, 1e6},
       .aliases = {"nepochs"}},
      {.name = "groups-per-batch",
       .target = &options.groups_per_batch,
       .unit = "groups",
       .help = "groups in one step",
       .range = {1, 1e5},
       .aliases = {"batch-size"}},
      {.name = "learning-rate",
       .target = &options.learning_rate,
       .help = "learning rate of the network, at its highest",
       .range = {1e-9, 1},
       .aliases = {"torch-learning-rate"}},
      {.name = "probe-learning-rate",
       .target = &options.probe_learning_rate,
       .help = "learning rate of the probe, in shares of its peak",
       .range = {0, 1}},
      {.name = "background-rate",
       .target = &options.background_rate,
       .range = {0, 1e6},
       .internal = true},
      {.name = "probe-warm-up",
       .target = &options.probe_warm_up,
       .range = {0, 1},
       .internal = true},
      {.name = "warm-up-steps",
       .target = &options.warm_up_steps,
       .range = {0, 1e9},
       .internal = true},
      {.name = "gradient-limit",
       .target = &options.gradient_limit,
       .range = {1e-9, 1e9},
       .internal = true},
      {.name = "averaging", .target = &options.averaging, .range = {0, 0.999999}, .internal = true},
  };
}

std::vector<Field> probe_fields(TrainOptions& options) {
  return {
      {.name = "fixed-probe",
       .target = &options.fixed_probe,
       .help = "no change of the probe that training starts from"},
      {.name = "probe-scale", .target = &options.probe_scale, .range = {0, 1e6}, .internal = true},
      {.name = "probe-modes",
       .target = &options.probe_modes,
       .help = "incoherent probe modes that are trained",
       .range = {1, 32}},
      {.name = "background",
       .target = &options.background,
       .help = "trained background per detector pixel (--background=false: none)"},
      {.name = "probe-start",
       .target = &options.probe_start,
       .help = "solver: rPIE on the used patterns; guess: the file's probe",
       .choices = {"solver", "guess"}},
      {.name = "probe-start-epochs",
       .target = &options.probe_start_epochs,
       .help = "passes of the solver of --probe-start",
       .range = {1, 10000}}};
}

std::vector<Field> run_fields(TrainOptions& options) {
  return {
      {.name = "start",
       .target = &options.start,
       .help = "model.ptyche, or its folder, whose network is trained further; none = a new one",
       .affects_result = false},  // its weights are in the key
      {.name = "resume",
       .target = &options.resume,
       .help = "continuation from the folder's checkpoint",
       .affects_result = false},
      {.name = "seed",
       .target = &options.seed,
       .help = "seed of every random choice; the same seed gives the same result"},
      positions_field(options.positions),
      {.name = "position-step",
       .target = &options.position_step,
       .unit = "px",
       .help = "largest move of a position in two epochs, about",
       .range = {0, 10}},
      {.name = "checkpoint",
       .target = &options.checkpoint,
       .affects_result = false,
       .internal = true}};
}

std::vector<std::pair<std::string, LossKind>> loss_names() {
  std::vector<std::pair<std::string, LossKind>> names;
  for (const LossInfo& loss : losses()) names.emplace_back(loss.name, loss.kind);
  return names;
}

/// What is computed, and how.
std::vector<Field> physics_fields(TrainOptions& options) {
  return {{.name = "recipe", .target = choice(options.recipe, recipe_names()), .internal = true},
          {.name = "loss", .target = choice(options.loss, loss_names()), .internal = true},
          {.name = "mae-share", .target = &options.mae_share, .range = {0, 1e6}, .internal = true},
          {.name = "tv-weight",
           .target = &options.tv_weight,
           .help = "weight of the patches' total variation in the loss, which makes them smooth",
           .range = {0, 1e6}},
          {.name = "realspace-mae-weight",
           .target = &options.realspace_mae,
           .help = "weight in the loss of the patches' distance from the true object, which only a "
                   "simulated scan has",
           .range = {0, 1e6}},
          device_field(options.device),
          engine_field(options.engine),
          precision_field(options.precision)};
}

}  // namespace

std::vector<Field> fields(TrainOptions& options) {
  return remembering(joined({step_fields(options), probe_fields(options), fields(options.network),
                             fields(options.stem), run_fields(options), physics_fields(options)}),
                     options.typed);
}

}  // namespace ptyche
