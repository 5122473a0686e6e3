#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ptyche/data/fingerprint.h"
#include "ptyche/train/training_state.h"

namespace ptyche {
namespace {

std::string text_of(const Groups& groups) {
  if (!groups.are_fixed()) return fmt::format("drawn {} of {}", groups.merged, groups.size);
  return fmt::format("fixed {} ({:.17g}) order {}", groups.fixed.size(0), fingerprint(groups.fixed),
                     groups.seed);
}

std::string steps_text(const TrainOptions& o) {
  return fmt::format("{} x {} rates {} {} {} {} warm-up {} {} limit {} averaging {}", o.epochs,
                     o.groups_per_batch, o.learning_rate, o.probe_learning_rate, o.position_step,
                     o.background_rate, o.probe_warm_up, o.warm_up_steps, o.gradient_limit,
                     o.averaging);
}

std::string model_text(const TrainOptions& o) {
  return fmt::format(
      "fixed {} modes {} positions {} background {} start {} {} network {} stem {} {}",
      o.fixed_probe, o.probe_modes, static_cast<int>(o.positions), o.background, o.probe_start,
      o.first_probe.epochs, to_string(o.network), fmt::join(o.stem.steps, "-"),
      o.stem.regularisation);
}

}  // namespace

std::string training_key(const Scan& scan, const Groups& groups, const TrainOptions& o) {
  return fmt::format("scan {}; groups {}; steps {}; {}; loss {} precision {} engine {} seed {}",
                     fingerprint(scan), text_of(groups), steps_text(o), model_text(o),
                     static_cast<int>(o.loss), static_cast<int>(o.precision), to_string(o.engine),
                     o.seed);
}

}  // namespace ptyche
