// When a training's state is written.
#pragma once

#include <filesystem>

#include "ptyche/core/progress.h"
#include "ptyche/train/training_state.h"

namespace ptyche {

/// Writes the checkpoint now and then, and when the user wants to stop.
class Checkpoints {
 public:
  Checkpoints(std::filesystem::path file, Key key) : file_(std::move(file)), key_(std::move(key)) {}

  /// Throws Interrupted after Ctrl-C, with what was kept.
  void after_step(const TrainingState& state);

  void remove();

  /// What cannot be written is a warning: the work itself is not lost. False then.
  bool keep(const TrainingState& state);

 private:
  std::filesystem::path file_;
  Key key_;
  Stopwatch since_start_, since_last_;
};

}  // namespace ptyche
