// What a device does in a second: the network for any scan (its input, its layers, stitching, all
// of it), training and the solvers, with the memory that they take there.
//
//   device_bench [device = cuda] [N = 64] [patterns = 16000]
//
// Rates are of data that is there already: of all but reading and writing files. Of training and
// solvers the time that more passes take.
#include <ATen/core/grad_mode.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/machine_speed.h"
#include "ptyche/core/progress.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/infer/infer.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/simulate/simulate.h"
#include "ptyche/solve/solve.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/train/train.h"

namespace ptyche {
namespace {

struct Setting {
  at::Device device = at::kCPU;
  std::int64_t size = 64, patterns = 16000;
};

/// What is queued there has been done.
void wait(at::Device device) {
  if (!device.is_cpu()) at::zeros({}, at::TensorOptions(device)).item();
}

double seconds_there(at::Device device, const std::function<void()>& work) {
  wait(device);
  return seconds_of([&] {
    work();
    wait(device);
  });
}

/// The fastest of three, after one that makes plans and fills the allocator.
double steady_seconds(at::Device device, const std::function<void()>& work) {
  work();
  double best = std::numeric_limits<double>::infinity();
  for (int call = 0; call < 3; ++call) best = std::min(best, seconds_there(device, work));
  return best;
}

/// Largest memory of tensors there since the last question, MB.
double peak_megabytes(at::Device device) {
  if (device.is_cpu()) return 0;
  c10::DeviceAllocator* const allocator = c10::getDeviceAllocator(device.type());
  const double peak =
      1e-6 * static_cast<double>(allocator->getDeviceStats(device.index()).allocated_bytes[0].peak);
  allocator->resetPeakStats(device.index());
  return peak;
}

void print(const Setting& setting, const std::string& what, double seconds, double patterns) {
  std::printf("%-44s %10.0f patterns/s %9.2f us a pattern %8.0f MB\n", what.c_str(),
              patterns / seconds, 1e6 * seconds / patterns, peak_megabytes(setting.device));
  std::fflush(stdout);
}

Scan scan_of(const Setting& setting) {
  SimulateOptions options;
  options.pattern_size = setting.size;
  options.frames = setting.patterns;
  return simulate(options);
}

void time_inference(const Setting& setting, const Scan& scan, Precision precision, Engine engine) {
  const at::NoGradGuard no_grad;
  const Model model = on_device(
      at_dose_of(scan, model_for(scan, shipped_model(), ProbeSource::scan)), setting.device);
  const Scan there = scan.to(setting.device);
  const at::Tensor frames = there.frames_with(FrameUse::used);
  const std::int64_t count =
      std::min(patterns_at_once(setting.size, setting.device), frames.size(0));
  const at::Tensor some = frames.slice(0, 0, count);
  const std::string how = " " + to_string(engine) + " " + to_string(precision);
  at::Tensor channels;
  const double input = steady_seconds(
      setting.device, [&] { channels = input_channels(model, there, some, engine); });
  print(setting, "network's input" + how, input, static_cast<double>(count));
  const double layers = steady_seconds(setting.device, [&] {
    const Autocast autocast(precision, setting.device);
    patches_of(model, there, some, channels);
  });
  print(setting, "network's layers" + how, layers, static_cast<double>(count));
  const InferOptions options{.precision = precision, .engine = engine, .device = setting.device};
  Patches patches;
  const double all =
      steady_seconds(setting.device, [&] { patches = infer(model, there, options); });
  print(setting, "patches of all" + how, all, static_cast<double>(frames.size(0)));
  const double stitching = steady_seconds(setting.device, [&] { stitch(patches, scan); });
  print(setting, "stitching", stitching, static_cast<double>(frames.size(0)));
  print(setting, "inference, stitched" + how, all + stitching, static_cast<double>(frames.size(0)));
}

void time_training(const Setting& setting, const Scan& scan, std::int64_t groups_per_batch,
                   Precision precision) {
  const Groups groups = make_groups(scan, {});
  TrainOptions options;
  options.device = setting.device;
  options.precision = precision;
  options.probe_start = "guess";
  if (groups_per_batch > 0) options.groups_per_batch = groups_per_batch;
  const auto seconds = [&](std::int64_t epochs) {
    options.epochs = epochs;
    return seconds_there(setting.device, [&] { train(scan, groups, options); });
  };
  seconds(1);
  const double more = seconds(4) - seconds(1);
  print(setting,
        "training, " + std::to_string(options.groups_per_batch) + " groups a step " +
            to_string(precision),
        more / 3, static_cast<double>(scan.frames()));
}

void time_solver(const Setting& setting, const Scan& scan, const std::string& name,
                 std::int64_t passes, std::int64_t modes) {
  SolverOptions options;
  options.device = setting.device;
  options.modes = modes;
  options.every = 1000;
  const auto seconds = [&](std::int64_t epochs) {
    options.chain = chain_from(name + ":" + std::to_string(epochs));
    for (ChainLink& link : options.chain) {
      const std::vector<Field> own = fields(link, options);
      if (const Field* field = find_field(own, "plateau")) assign(*field, "0");
    }
    return seconds_there(setting.device, [&] { solve(scan, {}, options); });
  };
  seconds(1);
  const double more = seconds(1 + passes) - seconds(1);
  print(setting, "solver " + name + ", a pass, modes " + std::to_string(modes),
        more / static_cast<double>(passes), static_cast<double>(scan.frames()));
}

void run(const Setting& setting) {
  const Silence silence;
  const Scan scan = scan_of(setting);
  for (const Precision precision : {Precision::float32, Precision::bfloat16})
    for (const Engine engine : {Engine::reference, Engine::fused})
      time_inference(setting, scan, precision, engine);
  Setting few = setting;
  few.patterns = std::min<std::int64_t>(setting.patterns, 4000);
  const Scan part = scan_of(few);
  for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{8}, std::int64_t{64}})
    time_training(setting, part, groups, Precision::bfloat16);
  for (const std::int64_t modes : {1, 3})
    for (const char* solver : {"lbfgs", "ml", "lsqml", "rpie", "dm"})
      time_solver(setting, scan, solver, setting.device.is_cpu() ? 2 : 10, modes);
}

}  // namespace
}  // namespace ptyche

int main(int count, char** words) {
  ptyche::Setting setting;
  if (count < 2 || std::string(words[1]) != "cpu") setting.device = at::Device(at::kCUDA, 0);
  if (count > 2) setting.size = std::atoll(words[2]);
  if (count > 3) setting.patterns = std::atoll(words[3]);
  try {
    ptyche::run(setting);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
