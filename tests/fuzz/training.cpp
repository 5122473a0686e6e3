// Checkpoints of training with other datasets than training leaves; what is read is trained on.
#include "ptyche/core/files.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/train/train.h"
#include "ptyche/train/training_state.h"
#include "tests/fuzz/changed_file.h"
#include "tests/support/small_scan.h"

namespace {

struct Training {
  ptyche::Scan scan = ptyche::small_scan(16);
  ptyche::Groups groups = ptyche::make_groups(scan, {.size = 8, .merged = 4});
  ptyche::TrainOptions options;
  std::string bytes;

  Training() {
    const ptyche::Silence silence;
    options.epochs = 1;
    options.network.widths = {8};
    options.probe_start = "guess";
    options.resume = true;
    options.checkpoint = ptyche::fuzz::file_named(".ptyche");
    ptyche::write_checkpoint(options.checkpoint, ptyche::start_training(scan, groups, options),
                             ptyche::training_key(scan, groups, options));
    bytes = ptyche::read_bytes(options.checkpoint);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Training training;
  const ptyche::fuzz::InputFile file(bytes, size, ".ptyche");
  ptyche::write_text(file.path, training.bytes);
  FuzzedDataProvider input(bytes, size);
  ptyche::fuzz::change(file.path, input);
  ptyche::fuzz::may_refuse(
      file.path, [&] { ptyche::train(training.scan, training.groups, training.options); },
      /*works_on=*/true);
  return 0;
}
