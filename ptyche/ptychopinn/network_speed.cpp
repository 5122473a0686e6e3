#include "ptyche/ptychopinn/network_speed.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>

#include <atomic>
#include <cmath>
#include <deque>
#include <string_view>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/fixed_groups.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/ptychopinn/grid_data.h"
#include "ptyche/ptychopinn/study.h"
#include "ptyche/train/train_step.h"

namespace ptyche {
namespace {

/// LibTorch's callback is a bare function, so what it adds to has to be found from anywhere, by the
/// threads that training shares its chunks among, too.
std::atomic<double>& counter() {
  static std::atomic<double> flops = 0;
  return flops;
}

/// Every pixel of the output meets every weight of one of its channels.
double flops_of(const at::Tensor& image, const at::Tensor& weight, at::IntArrayRef stride) {
  auto pixels = static_cast<double>(image.size(0));
  for (std::int64_t axis = 2; axis < image.dim(); ++axis) {
    // One stride may stand for all axes.
    const std::int64_t step = stride[stride.size() == 1 ? 0 : static_cast<std::size_t>(axis - 2)];
    pixels *= static_cast<double>(image.size(axis)) / static_cast<double>(step);
  }
  return 2 * pixels * static_cast<double>(weight.numel());
}

/// aten::convolution(input, weight, bias, stride, ...) and aten::convolution_backward(by_output,
/// input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask).
std::unique_ptr<at::ObserverContext> count(const at::RecordFunction& call) {
  const std::string_view name = call.name();
  const auto inputs = call.inputs();
  if (name == "aten::convolution" && inputs.size() > 3)
    counter() += flops_of(inputs[0].toTensor(), inputs[1].toTensor(), inputs[3].toIntVector());
  if (name == "aten::convolution_backward" && inputs.size() > 10) {
    const auto mask = inputs[10].toBoolList();
    counter() += (static_cast<int>(mask[0]) + static_cast<int>(mask[1])) *
                 flops_of(inputs[1].toTensor(), inputs[2].toTensor(), inputs[4].toIntVector());
  }
  return nullptr;
}

/// While it lives, convolutions of this thread, and of those that work for it, are counted.
struct Counting {
  Counting()
      : handle(
            at::addThreadLocalCallback(at::RecordFunctionCallback(count).needsInputs(true).scopes(
                {at::RecordScope::FUNCTION}))) {}
  ~Counting() { at::removeCallback(handle); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  at::CallbackHandle handle;
};

constexpr std::int64_t kInferBatch = 64;  // about; whole groups

GridData data_of(const SpeedOptions& options) {
  GridDataOptions data;
  data.images = 1;
  data.grid.pattern_size = options.pattern_size;
  data.grid.gridsize = options.gridsize;
  data.grid.object_size = options.pattern_size + 64;
  return simulate_grid_data(data, grid_probe(options.pattern_size, {}));
}

TrainOptions train_options(const SpeedCase& what, const SpeedOptions& options) {
  TrainOptions train;
  train.network.name = what.network;
  train.network.gridsize = what.network == kOurNetwork ? 1 : options.gridsize;
  if (what.network != kOurNetwork) train.groups_per_batch = options.batch;
  train.engine = what.engine;
  train.precision = what.precision;
  train.seed = options.seed;
  return with_known_probe(train);
}

Groups groups_for(const SpeedCase& what, const GridData& data, std::uint64_t seed) {
  return what.network == kOurNetwork ? make_groups(data.scan, {.seed = seed})
                                     : groups_of(data.groups, seed);
}

/// A case in the middle of its training.
class Runner {
 public:
  Runner(const SpeedCase& what, const GridData& data, const SpeedOptions& options)
      : data_(data),
        options_(train_options(what, options)),
        groups_(groups_for(what, data, options.seed)),
        state_(start_training(data.scan, groups_, options_)),
        inputs_(state_.model, data.scan, what.engine) {
    const std::int64_t together = state_.model.network->patterns_per_input();
    seen_ = data.groups.flatten().slice(
        0, 0, std::max<std::int64_t>(kInferBatch / together, 1) * together);
    speed_.what = what;
    for (const at::Tensor& weight : state_.model.network->parameters())
      speed_.parameters += weight.numel();
  }

  void count_work() {
    speed_.step_flops = convolution_flops([&] { step(); });
    speed_.step_patterns = static_cast<double>(batch_.merged.size(0));
    speed_.infer_flops = convolution_flops([&] { infer(); }) / static_cast<double>(seen_.size(0));
  }

  void time_step() {
    steps_.push_back(seconds_of([&] { step(); }));
  }
  void time_inference() {
    inferences_.push_back(seconds_of([&] { infer(); }));
  }

  NetworkSpeed speed() const {
    NetworkSpeed found = speed_;
    found.step_seconds = median(steps_);
    found.infer_rate = static_cast<double>(seen_.size(0)) / median(inferences_);
    return found;
  }

 private:
  void step() {
    if (batches_.empty()) {
      const auto drawn = draw_epoch(groups_, options_.groups_per_batch, epoch_++);
      batches_.assign(drawn.begin(), drawn.end());
      // The last one of an epoch may be a smaller one.
      if (batches_.size() > 1) batches_.pop_back();
    }
    batch_ = batches_.front();
    batches_.pop_front();
    train_step(state_, data_.scan, inputs_, batch_, options_);
  }

  void infer() {
    const at::NoGradGuard no_grad;
    const Autocast autocast(options_.precision);
    patches_of(state_.model, data_.scan, seen_,
               input_channels(state_.model, data_.scan, seen_, options_.engine));
  }

  const GridData& data_;
  TrainOptions options_;
  Groups groups_;
  TrainingState state_;
  InputCache inputs_;
  at::Tensor seen_;
  GroupBatch batch_;
  std::deque<GroupBatch> batches_;
  std::int64_t epoch_ = 0;
  NetworkSpeed speed_;
  std::vector<double> steps_, inferences_;
};

/// What the machine can do: products of large matrices.
class Product {
 public:
  void time() {
    seconds_.push_back(seconds_of([&] { at::mm(a_, b_); }));
  }
  double gflops() const { return 2e-9 * std::pow(kSide, 3) / median(seconds_); }

 private:
  static constexpr std::int64_t kSide = 2048;
  at::Tensor a_ = at::rand({kSide, kSide}), b_ = at::rand({kSide, kSide});
  std::vector<double> seconds_;
};

/// Each of the runners in turn, then the product, until all runners together have had their time.
void in_turn(std::deque<Runner>& runners, Product& product, double seconds,
             void (Runner::*work)()) {
  const double budget = seconds * static_cast<double>(runners.size());
  double passed = 0;
  for (int rounds = 0; rounds < 3 || passed < budget; ++rounds) {
    passed += seconds_of([&] {
      for (Runner& runner : runners) (runner.*work)();
    });
    product.time();
  }
}

}  // namespace

double convolution_flops(const std::function<void()>& work) {
  counter() = 0;
  const Counting counting;
  work();
  return counter();
}

std::vector<Field> fields(SpeedOptions& options) {
  return {{.name = "N",
           .target = &options.pattern_size,
           .unit = "px",
           .help = "side of a pattern",
           .range = {16, 256}},
          {.name = "gridsize",
           .target = &options.gridsize,
           .help = "side of a group: PtychoPINN's network takes gridsize^2 patterns at once",
           .range = {1, 3}},
          {.name = "groups-per-batch",
           .target = &options.batch,
           .unit = "groups",
           .help = "groups in a training step of PtychoPINN's network",
           .range = {1, 1024},
           .aliases = {"batch-size"}},
          {.name = "seconds",
           .target = &options.seconds,
           .unit = "s",
           .help = "time for which each case trains, and again infers, about",
           .range = {0, 3600}},
          {.name = "seed", .target = &options.seed, .help = "seed of the networks' weights"}};
}

SpeedTable measure_speed(const std::vector<SpeedCase>& cases, const SpeedOptions& options) {
  require_in_range(options);
  const GridData data = data_of(options);
  std::deque<Runner> runners;
  for (const SpeedCase& what : cases) runners.emplace_back(what, data, options);
  for (Runner& runner : runners) runner.count_work();
  Product product;
  in_turn(runners, product, options.seconds, &Runner::time_step);
  in_turn(runners, product, options.seconds, &Runner::time_inference);
  SpeedTable table{.lines = {}, .peak_gflops = product.gflops()};
  for (const Runner& runner : runners) table.lines.push_back(runner.speed());
  return table;
}

}  // namespace ptyche
