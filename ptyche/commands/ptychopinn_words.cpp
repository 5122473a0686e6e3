#include "ptyche/commands/ptychopinn_words.h"

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

/// Any word that is no option.
TextTarget plain_word(std::string& word) {
  return {.get = [&word] { return word; },
          .set =
              [&word](const std::string& found) {
                require(!found.starts_with("-"), "expected a value, found '{}'", found);
                word = found;
              }};
}

}  // namespace

std::vector<Field> fields(BackendWords& words) {
  return {{.name = "backend",
           .target = &words.backend,
           .help = "no effect: --engine chooses",
           .choices = {"", "tensorflow", "pytorch"}},
          {.name = "use-xla-translate",
           .target = &words.xla,
           .help = "no effect: nothing is compiled while the program runs",
           .affects_result = false},
          {.name = "torch-accelerator",
           .target = plain_word(words.torch_setting),
           .help = "no effect, as all of PtychoPINN's --torch-* settings",
           .implied = "true",
           .aliases = {"torch-num-workers", "torch-scheduler", "torch-logger", "torch-precision",
                       "torch-strategy", "torch-devices", "torch-checkpoint-save-top-k",
                       "torch-checkpoint-monitor", "torch-checkpoint-mode",
                       "torch-early-stop-patience", "torch-accumulate-grad-batches",
                       "torch-plateau-factor", "torch-plateau-patience", "torch-plateau-min-lr",
                       "torch-plateau-threshold", "torch-mae-pred-l2-match-target"},
           .affects_result = false},
          {.name = "torch-deterministic",
           .target = &words.torch_switch,
           .help = "no effect, as all of PtychoPINN's --torch-* switches",
           .aliases = {"torch-no-deterministic", "torch-enable-checkpointing",
                       "torch-disable-checkpointing"},
           .affects_result = false}};
}

void note_backend_words(const BackendWords& words) {
  if (!words.backend.empty())
    note("--backend {}: there is one program; --engine chooses how the physics is computed",
         words.backend);
  if (words.xla)
    note("--use-xla-translate: not needed, nothing is compiled while the program runs");
  if (!words.torch_setting.empty() || words.torch_switch)
    note("--torch-*: settings of PyTorch's trainer, which is not used here; they change nothing");
}

}  // namespace ptyche
