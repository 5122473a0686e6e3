// How fast this machine trains and infers: engines, or networks, side by side.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/ptychopinn/network_speed.h"
#include "ptyche/ptychopinn/study.h"

namespace ptyche {
namespace {

struct BenchVerbOptions {
  std::string topic, network = kOurNetwork;
  SpeedOptions speed;
  Engine engine = Engine::fused;  ///< of bench networks
  Precision precision = Precision::automatic;
  std::int64_t threads = 0;
  std::filesystem::path json;
};

/// A measured case beside what the machine could do.
struct Line {
  NetworkSpeed speed;
  double peak_gflops = 0;

  double train_gflops() const { return 1e-9 * speed.step_flops / speed.step_seconds; }
  double infer_gflops() const { return 1e-9 * speed.infer_flops * speed.infer_rate; }
};

std::string label_of(const SpeedCase& what) {
  return fmt::format("{} {} {}", what.network, to_string(what.engine), to_string(what.precision));
}

void print_line(const Line& line) {
  show("{:<30} {:>9.2f} {:>10.0f} {:>8.0f} {:>5.0f}% {:>10.0f} {:>8.0f} {:>5.0f}%\n",
       label_of(line.speed.what), 1e3 * line.speed.step_seconds, line.speed.train_rate(),
       line.train_gflops(), 100 * line.train_gflops() / line.peak_gflops, line.speed.infer_rate,
       line.infer_gflops(), 100 * line.infer_gflops() / line.peak_gflops);
}

void print_table(const std::vector<Line>& lines) {
  show("{:<30} {:>42} {:>26}\n", "", "---------------- training", "------------ inference");
  show("{:<30} {:>9} {:>10} {:>8} {:>6} {:>10} {:>8} {:>6}\n", "", "ms/step", "patterns/s",
       "GFLOP/s", "peak", "patterns/s", "GFLOP/s", "peak");
  for (const Line& line : lines) print_line(line);
  const NetworkSpeed &first = lines.front().speed, &second = lines[1].speed;
  show("{:<30} {:>9.2f} {:>10.2f} {:>26.2f}\n", "first over second",
       first.step_seconds / second.step_seconds, first.train_rate() / second.train_rate(),
       first.infer_rate / second.infer_rate);
  show("peak: {:.0f} GFLOP/s of float32, matrix products between the steps, their median\n",
       lines.front().peak_gflops);
}

nlohmann::json as_json(const Line& line) {
  return {{"network", line.speed.what.network},
          {"engine", to_string(line.speed.what.engine)},
          {"precision", to_string(line.speed.what.precision)},
          {"parameters", line.speed.parameters},
          {"train_seconds_per_step", line.speed.step_seconds},
          {"train_patterns_per_second", line.speed.train_rate()},
          {"train_share_of_peak", line.train_gflops() / line.peak_gflops},
          {"infer_patterns_per_second", line.speed.infer_rate},
          {"infer_share_of_peak", line.infer_gflops() / line.peak_gflops},
          {"peak_gflops", line.peak_gflops}};
}

/// Both engines under one network; or our network and PtychoPINN's, in bfloat16 too where the
/// processor is faster with it.
std::vector<SpeedCase> cases_of(const BenchVerbOptions& options) {
  const Precision precision = options.precision;
  if (options.topic == "engines")
    return {{options.network, Engine::fused, precision},
            {options.network, Engine::reference, precision}};
  if (options.topic != "networks")
    throw UsageError(fmt::format("bench: expected engines or networks, found '{}'", options.topic));
  std::vector<SpeedCase> cases;
  const Engine engine = options.engine;
  for (const char* network : {kOurNetwork, kPtychoPinnNetwork})
    cases.push_back({network, engine, Precision::float32});
  if (processor_has_fast_bfloat16())
    for (const char* network : {kOurNetwork, kPtychoPinnNetwork})
      cases.push_back({network, engine, Precision::bfloat16});
  return cases;
}

void run(const BenchVerbOptions& options) {
  const std::vector<SpeedCase> cases = cases_of(options);
  if (!options.json.empty())
    require_writable_folder(std::filesystem::absolute(options.json).parent_path());
  use_threads(options.threads);
  const SpeedTable table = measure_speed(cases, options.speed);
  std::vector<Line> lines;
  for (const NetworkSpeed& speed : table.lines) lines.push_back({speed, table.peak_gflops});
  print_table(lines);
  if (options.json.empty()) return;
  nlohmann::json all = nlohmann::json::array();
  for (const Line& line : lines) all.push_back(as_json(line));
  write_text(options.json, all.dump(2) + "\n");
}

std::vector<Field> verb_fields(BenchVerbOptions& options) {
  return {{.name = "network",
           .target = &options.network,
           .help = "bench engines: our network, or PtychoPINN's",
           .choices = {kOurNetwork, kPtychoPinnNetwork}},
          {.name = "json", .target = &options.json, .help = "file that the lines are written to"}};
}

}  // namespace

Command bench_command() {
  const auto options = std::make_shared<BenchVerbOptions>();
  return {
      .name = "bench",
      .summary = "how fast this machine trains and infers",
      .description =
          "engines: times one network with the fused engine and with the reference engine, in the "
          "number type of --precision. networks: times our network and PtychoPINN's with --engine, "
          "in float32, and in bfloat16 where this processor is fast at it. The cases take turns, "
          "step by step. A line gives the median of its steps, and what share of the float32 peak "
          "of this machine that is.",
      .arguments = {{"TOPIC", &options->topic, "engines or networks"}},
      .options = joined({fields(options->speed),
                         verb_fields(*options),
                         {engine_field(options->engine), precision_field(options->precision),
                          threads_option(options->threads)}}),
      .references = {},
      .run = [options] { run(*options); }};
}

}  // namespace ptyche
