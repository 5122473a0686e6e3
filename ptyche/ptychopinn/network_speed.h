// How fast networks learn and infer on this machine, measured side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/engine/engine.h"
#include "ptyche/model/model.h"

namespace ptyche {

/// What is timed: a network of NetworkOptions::name, under one engine and one number type.
struct SpeedCase {
  std::string network;
  Engine engine = Engine::fused;
  Precision precision = Precision::float32;
};

struct SpeedOptions {
  std::int64_t pattern_size = 64;
  std::int64_t gridsize = 1;  ///< of PtychoPINN's network, 1..3
  std::int64_t batch = 16;    ///< of its training: groups in a step, >= 1
  double seconds = 3;         ///< about how long each case trains, and infers
  std::uint64_t seed = 1;
};
std::vector<Field> fields(SpeedOptions& options);

/// Medians over steps, and over inferred batches.
struct NetworkSpeed {
  SpeedCase what;
  std::int64_t parameters = 0;
  double step_seconds = 0;   ///< of training, all of it
  double step_patterns = 0;  ///< that go through the network in a step
  double step_flops = 0;     ///< of its convolutions
  double infer_rate = 0;     ///< patterns per second, in batches of about 64
  double infer_flops = 0;    ///< per pattern, of its convolutions
  double train_rate() const { return step_patterns / step_seconds; }
};

struct SpeedTable {
  std::vector<NetworkSpeed> lines;
  double peak_gflops = 0;  ///< float32, of matrix products (2048 x 2048): the median, too
};

/// Trains and infers every case in turn, step by step, a matrix product after each round, so that
/// other work on the machine slows all alike. The patterns are those of a drawing of lines. Throws
/// InvalidInput where a network cannot be built for these options, or an engine does not cover
/// them.
SpeedTable measure_speed(const std::vector<SpeedCase>& cases, const SpeedOptions& options);

/// Floating-point operations of the convolutions that `work` runs in this thread, forward and
/// backward: 2 for every product that is added, for images that padding keeps at their size over
/// the stride, as all networks here do. What else a network computes is small beside them.
double convolution_flops(const std::function<void()>& work);

}  // namespace ptyche
