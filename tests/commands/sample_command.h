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
  command.options = {{"output-dir", &sample.output_dir, "", "folder of the results", {}, {}, "o"},
                     {"epochs", &sample.epochs, "", "passes over the scan", {}, {1, 1000}},
                     {"seed", &sample.seed, "", "of the random streams"},
                     {"learning-rate", &sample.learning_rate, "px", "step of Adam", {}, {.low = 0}},
                     {"centre", &sample.centre, "px", "row,col of the zero frequency"},
                     {"device", &sample.device, "", "where to compute", {"auto", "cpu", "cuda"}},
                     {"flip-x", &sample.flip_x, "", "mirror the columns"}};
  command.references = {"Author, Journal 1, 1 (2026)"};
  return command;
}

}  // namespace ptyche
