#include "ptyche/solve/solver_options.h"

#include <charconv>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/text.h"
#include "ptyche/solve/solver.h"

namespace ptyche {
namespace {

ChainLink link_from(const std::string& text) {
  const std::size_t colon = text.find(':');
  ChainLink link{text.substr(0, colon), 0};
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const char* last = number.data() + number.size();
  const auto [end, error] = std::from_chars(number.data(), last, link.epochs);
  require(error == std::errc() && end == last && link.epochs >= 1 && link.epochs <= 1'000'000,
          "solver chain: expected SOLVER:EPOCHS, e.g. ml:40 or lsqml:20,ml:40, found \"{}\"", text);
  require_solver(link.solver);
  return link;
}

void require_positive(const char* name, double value) {
  require(value > 0 && std::isfinite(value), "{}: expected a number above 0, found {}", name,
          value);
}

void require_within(const char* name, double value, double low, double high) {
  require(value >= low && value <= high, "{}: expected {}..{}, found {}", name, low, high, value);
}

}  // namespace

std::vector<ChainLink> chain_from(const std::string& text) {
  std::vector<ChainLink> chain;
  for (const std::string& link : split(text, ',')) chain.push_back(link_from(link));
  return chain;
}

std::string to_string(const std::vector<ChainLink>& chain) {
  std::string text;
  for (const ChainLink& link : chain)
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", link.solver, link.epochs);
  return text;
}

PositionFreedom position_freedom_from(const std::string& name) {
  if (name == "none") return PositionFreedom::none;
  if (name == "jitter") return PositionFreedom::jitter;
  if (name == "affine") return PositionFreedom::affine;
  throw InvalidInput(
      fmt::format("refined positions: expected none, jitter or affine, found {}", name));
}

void check(const SolverOptions& options) {
  require(!options.chain.empty(), "solver chain: expected at least one solver, found none");
  require(options.modes >= 1 && options.modes <= 32, "modes: expected 1..32, found {}",
          options.modes);
  require(options.batch >= 1, "batch: expected at least 1, found {}", options.batch);
  require(options.every >= 1, "passes between two looks: expected at least 1, found {}",
          options.every);
  require_positive("object step", options.object_step);
  require_positive("probe step", options.probe_step);
  require_positive("mode power", options.mode_power);
  require_within("background step", options.background_step, 0, 1e6);
  require_within("position step", options.position_step, 0, 10);
  require_within("last step", options.last_step, 0, 1);
  require_within("momentum", options.momentum.value_or(0), 0, 0.99);
  require_within("object slope", options.object_slope, 0, 1e6);
  require_within("largest amplitude", options.max_amplitude, 0, 1e6);
  require_within("probe support", options.probe_support, 0, 2);
  require_within("plateau", options.plateau, 0, 1);
}

}  // namespace ptyche
