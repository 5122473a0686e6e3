// What the studies ask of training.
#pragma once

#include "ptyche/train/train.h"

namespace ptyche {

/// Simulated data know their probe and have no background.
inline TrainOptions with_known_probe(TrainOptions options) {
  options.probe_start = "guess";
  options.fixed_probe = true;
  options.background = false;
  return options;
}

}  // namespace ptyche
