// A verb with one option of every kind, for the tests of parsing and printing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/commands/command.h"

namespace ptyche {

struct Sample {
  std::filesystem::path scan;
  std::string note;
  std::filesystem::path output_dir = "out";
  std::int64_t epochs = 60;
  std::uint64_t seed = 1;
  double learning_rate = 1e-3;
  std::vector<double> centre;
  std::string device = "auto";
  bool flip_x = false;
};

/// The targets point into `sample`, which must outlive the command.
inline Command sample_command(Sample& sample) {
  Command command;
  command.name = "sample";
  command.summary = "do nothing with a scan";
  command.arguments = {{"SCAN", &sample.scan, "the scan file"},
                       {"NOTE", &sample.note, "a remark", false}};
  command.options = {{.name = "output-dir",
                      .target = &sample.output_dir,
                      .help = "folder of the results",
                      .short_name = "o"},
                     {.name = "epochs",
                      .target = &sample.epochs,
                      .help = "passes over the scan",
                      .range = {1, 1000}},
                     {.name = "seed", .target = &sample.seed, .help = "of the random streams"},
                     {.name = "learning-rate",
                      .target = &sample.learning_rate,
                      .unit = "px",
                      .help = "step of Adam",
                      .range = {.low = 0}},
                     {.name = "centre",
                      .target = &sample.centre,
                      .unit = "px",
                      .help = "row,col of the zero frequency"},
                     {.name = "device",
                      .target = &sample.device,
                      .help = "where to compute",
                      .choices = {"auto", "cpu", "cuda"}},
                     {.name = "flip-x", .target = &sample.flip_x, .help = "mirror the columns"}};
  command.references = {"Author, Journal 1, 1 (2026)"};
  return command;
}

}  // namespace ptyche
