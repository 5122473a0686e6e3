#include "ptyche/infer/by_ranks.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/solve/shares.h"

namespace ptyche {
namespace {

constexpr std::int64_t kWorthACall = 4, kEnoughForACall = 24;  // patterns
constexpr std::int64_t kPixelsInWork = std::int64_t{1} << 22;  // of patterns, some 120 bytes each
constexpr std::int64_t kMostBytes = std::int64_t{1} << 31;     // of a model's file

// A model is told by its file, which is the one description of all that it has.

at::Tensor bytes_of(const Model& model) {
  const TemporaryFile file(std::filesystem::temp_directory_path());
  write_model(file.path, model);
  return as_bytes(read_bytes(file.path, kMostBytes));
}

Model model_of(const at::Tensor& bytes, const at::Tensor& stem_background) {
  const TemporaryFile file(std::filesystem::temp_directory_path());
  write_text(file.path, as_text(bytes));
  Model model = read_model(file.path);
  model.stem_background = stem_background;
  return model;
}

// The question: [0] numbers, [1] the model, [2] its stem's background, [3] rows, [4] positions,
// [5] mask.

RankMessage question_of(const RankMessage& to_all, const RankPiece& piece,
                        const at::Tensor& positions) {
  RankMessage question = to_all;
  question.at(3) = piece.rows;
  question.at(4) = positions.index_select(0, piece.where).contiguous();
  return question;
}

/// The rank's patterns where the question says that they lie.
Scan scan_of(const CountsPart& part, const RankMessage& question) {
  ScanFields fields = part.scan.value().fields();
  fields.positions =
      at::zeros_like(fields.positions).index_copy_(0, question.at(3), question.at(4));
  fields.mask = question.at(5);
  return Scan(std::move(fields));
}

/// Who works on how many patterns at a time.
struct ThreadBatches {
  std::int64_t patterns = 1;
  bool each_thread = false;  ///< has patterns of its own; else all work on the same
};

/// On the CPU each thread has patterns of its own, which makes it wait for no other one: enough of
/// them for a call of the layers. Where memory should not hold as many, patterns are so large that
/// all threads can share one.
ThreadBatches thread_batches(const Model& model, const Scan& scan, std::int64_t patterns,
                             const InferOptions& options) {
  const std::int64_t threads = at::get_num_threads();
  const std::int64_t fitting =
      kPixelsInWork / (threads * scan.pattern_size() * scan.pattern_size());
  if (!options.device.is_cpu() || scan.shared() || threads == 1 || fitting < kWorthACall)
    return {options.batch, false};
  const std::int64_t even = (patterns + threads - 1) / threads;
  const std::int64_t own = std::min({even, fitting, kEnoughForACall});
  const std::int64_t group = model.network->patterns_per_input();
  return {std::clamp(own / group * group, group, options.batch), true};
}

}  // namespace

void each_patches(const Model& model, const Scan& scan, const at::Tensor& frames,
                  const InferOptions& options,
                  const std::function<void(const at::Tensor& patches)>& take) {
  const std::int64_t patterns = frames.size(0);
  const ThreadBatches batches = thread_batches(model, scan, patterns, options);
  const Model fast = in_bytes(model, options.precision);
  Progress progress("infer", patterns, "patterns");
  const std::int64_t at_once = batches.patterns;
  std::int64_t done = 0;
  const auto make = [&](std::int64_t number) {
    if (interrupted()) throw Interrupted("stopped during inference; the model file is complete");
    const at::NoGradGuard no_grad;
    const Autocast autocast(options.precision, options.device);
    const at::Tensor batch = frames.slice(0, number * at_once, (number + 1) * at_once);
    return patches_of(fast, scan, batch, input_channels(fast, scan, batch, options.engine));
  };
  const auto report = [&](const at::Tensor& patches) {
    const at::NoGradGuard no_grad;
    take(patches);
    done = std::min(done + at_once, patterns);
    progress.step(done, done, "");
  };
  const std::int64_t jobs = (patterns + at_once - 1) / at_once;
  if (batches.each_thread) return side_by_side_in_order(jobs, make, report);
  for (std::int64_t number = 0; number < jobs; ++number) report(make(number));
}

at::Tensor patches_by_batches(const Model& model, const Scan& scan, const at::Tensor& frames,
                              const InferOptions& options) {
  at::Tensor all;  // made once: all at the end out of those of batches would be twice the memory
  std::int64_t first = 0;
  each_patches(model, scan, frames, options, [&](const at::Tensor& own) {
    if (!all.defined()) all = at::empty({frames.size(0), own.size(1), own.size(2)}, own.options());
    all.slice(0, first, first + own.size(0)).copy_(own);
    first += own.size(0);
  });
  return all;
}

at::Tensor patches_by_ranks(const Model& model, const Scan& scan, const at::Tensor& frames,
                            const InferOptions& options) {
  const std::shared_ptr<const Shares> shares = shares_of(scan);
  const RankMessage to_all{at::tensor({static_cast<std::int64_t>(Question::infer), options.batch,
                                       static_cast<std::int64_t>(options.precision),
                                       static_cast<std::int64_t>(options.engine)},
                                      at::kLong),
                           bytes_of(model),
                           model.stem_background,
                           {},
                           {},
                           scan.mask()};
  const std::vector<RankPiece> pieces = shares->pieces_of(frames);
  const at::Tensor positions = scan.positions().index_select(0, frames);
  std::vector<RankMessage> questions(static_cast<std::size_t>(shares->processes()));
  for (const RankPiece& piece : pieces)
    questions[piece.rank] = question_of(to_all, piece, positions);
  std::vector<RankMessage> answers;
  try {
    answers = shares->ask(questions, answer_inference);
  } catch (const RankFailure&) {
    if (interrupted()) throw Interrupted("stopped during inference; the model file is complete");
    throw;
  }
  at::Tensor all;
  for (const RankPiece& piece : pieces) {
    const at::Tensor& own = array_of(answers[piece.rank]);
    if (!all.defined()) all = at::empty({frames.size(0), own.size(1), own.size(2)}, own.options());
    all.index_copy_(0, piece.where, own);
    answers[piece.rank].clear();
  }
  return all;
}

RankMessage answer_inference(CountsPart& part, const RankMessage& question) {
  const Model model = model_of(question.at(1), question.at(2));
  const auto number = [&](std::int64_t i) { return question.at(0)[i].item<std::int64_t>(); };
  return {no_failure(), patches_by_batches(model, scan_of(part, question), question.at(3),
                                           {.batch = number(1),
                                            .precision = static_cast<Precision>(number(2)),
                                            .engine = static_cast<Engine>(number(3))})};
}

}  // namespace ptyche
