// What the studies ask of training.
#pragma once

#include "ptyche/nn/patch_network.h"
#include "ptyche/train/train.h"

namespace ptyche {

/// Simulated data know their probe and have no background.
inline TrainOptions with_known_probe(TrainOptions options) {
  options.probe_start = "guess";
  options.fixed_probe = true;
  options.background = false;
  return options;
}

/// Throws InvalidInput now, and not after other networks were trained, where this one cannot be
/// built for patterns of `size` pixels a side.
inline void require_network(const NetworkOptions& network, std::int64_t size) {
  make_network(completed(network, size, StemOptions{}), 1);
}

}  // namespace ptyche
