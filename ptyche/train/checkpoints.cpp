#include "ptyche/train/checkpoints.h"

#include <exception>
#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/events.h"
#include "ptyche/core/files.h"
#include "ptyche/core/output_folder.h"

namespace ptyche {

void Checkpoints::after_step(const TrainingState& state) {
  const bool stop = interrupted();
  if (!stop && since_last_.seconds() < checkpoint_seconds()) return;
  since_last_ = Stopwatch();
  const bool kept = keep(state);
  if (!stop) return;
  throw Interrupted(kept ? "stopped during training; the state is kept in " + file_.string() +
                               ", --resume goes on from it"
                         : "stopped during training");
}

void Checkpoints::remove() { remove_if_possible({file_}); }

bool Checkpoints::keep(const TrainingState& state) {
  if (file_.empty()) return false;
  try {
    write_checkpoint(file_, state, key_, state.seconds_before + since_start_.seconds());
    send_event("checkpoint", {{"file", file_.string()}, {"done", state.step}});
    return true;
  } catch (const std::exception& error) {
    warn("the checkpoint could not be written, --resume cannot go on from here: {}", error.what());
    return false;
  }
}

}  // namespace ptyche
