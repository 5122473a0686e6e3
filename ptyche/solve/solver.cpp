#include "ptyche/solve/solver.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/engine/cpu/kernels.h"
#include "ptyche/engine/engine.h"

// Every solver's name, which is that of its entry: `SolverEntry NAME_solver()` in the solver's
// file.
#define PTYCHE_SOLVERS(ENTRY) \
  ENTRY(ml) ENTRY(lbfgs) ENTRY(lsqml) ENTRY(epie) ENTRY(rpie) ENTRY(dm) ENTRY(raar)

namespace ptyche {

#define PTYCHE_DECLARE(name) SolverEntry name##_solver();
PTYCHE_SOLVERS(PTYCHE_DECLARE)
#undef PTYCHE_DECLARE

const std::vector<SolverEntry>& solvers() {
#define PTYCHE_CALL(name) name##_solver(),
  static const std::vector<SolverEntry> all{PTYCHE_SOLVERS(PTYCHE_CALL)};
#undef PTYCHE_CALL
  return all;
}

namespace {

ChainLink link_from(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string number = colon == std::string::npos ? "" : text.substr(colon + 1);
  const char* last = number.data() + number.size();
  std::int64_t epochs = 0;
  const auto [end, error] = std::from_chars(number.data(), last, epochs);
  require(error == std::errc() && end == last && epochs >= 1 && epochs <= 1'000'000,
          "solver chain: expected SOLVER:EPOCHS, e.g. {0}:40 or {1}:20,{0}:40, found \"{2}\"",
          solvers()[0].name, solvers()[1].name, text);
  return {text.substr(0, colon), epochs};
}

/// "ml (what it is), ..."
std::string solver_list() {
  std::vector<std::string> all;
  for (const SolverEntry& entry : solvers())
    all.push_back(fmt::format("{} ({})", entry.name, entry.summary));
  return fmt::format("{}", fmt::join(all, ", "));
}

/// Common options with which every solver looks at all of its own.
SolverOptions that_refine_everything() {
  return {.background = true, .positions = PositionFreedom::affine};
}

/// Names of the solvers that have the option, whatever else is chosen.
std::vector<std::string> solvers_with(const std::string& option) {
  std::vector<std::string> names;
  for (const SolverEntry& entry : solvers()) {
    std::any options = entry.options;
    if (find_field(entry.fields(options, that_refine_everything()), option))
      names.push_back(entry.name);
  }
  return names;
}

/// Whether any solver of the chain does.
bool set_where_looked_at(SolverOptions& options, const std::string& name,
                         const std::string& value) {
  bool found = false;
  for (ChainLink& link : options.chain)
    if (const std::vector<Field> own = fields(link, options);
        const Field* field = find_field(own, name)) {
      assign(*field, value);
      found = true;
    }
  return found;
}

[[noreturn]] void refuse_option(const SolverOptions& options, const std::string& name) {
  SolverOptions refining = options;
  refining.background = true;
  refining.positions = PositionFreedom::affine;
  const bool would_do = std::ranges::any_of(refining.chain, [&](ChainLink& link) {
    return find_field(fields(link, refining), name) != nullptr;
  });
  const std::vector<std::string> others = solvers_with(name);
  throw InvalidInput(
      fmt::format("--{}: no solver of {} looks at it{}; {}", name, to_string(options.chain),
                  would_do ? " unless positions or a background are refined" : "",
                  others.empty() ? "it is no solver's option"
                                 : fmt::format("it is an option of {}", fmt::join(others, ", "))));
}

/// "lsqml 0.5, rpie 0", or "0.5" where all are alike.
std::string joined_values(const std::vector<std::pair<std::string, std::string>>& values) {
  std::vector<std::string> all;
  bool alike = true;
  for (const auto& [solver, value] : values) {
    alike = alike && value == values[0].second;
    all.push_back(solver + " " + value);
  }
  return alike ? values[0].second : fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

double Pass::step_factor(double last) const {
  const double progress =
      static_cast<double>(epoch) / static_cast<double>(std::max<std::int64_t>(epochs - 1, 1));
  return last + (1 - last) * 0.5 * (1 + std::cos(M_PI * progress));
}

const SolverEntry& solver_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const SolverEntry& entry : solvers()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw InvalidInput(
      fmt::format("solver: expected one of {}, found \"{}\"", fmt::join(names, ", "), name));
}

ChainLink::ChainLink(const std::string& solver_name, std::int64_t passes)
    : solver(solver_name), epochs(passes), options(solver_entry(solver_name).options) {}

Chain chain_from(const std::string& text) {
  Chain chain;
  if (text == "auto") return chain;
  for (const std::string& link : split(text, ',')) chain.push_back(link_from(link));
  return chain;
}

std::string to_string(const Chain& chain) {
  if (chain.empty()) return "auto";
  std::vector<std::string> links;
  for (const ChainLink& link : chain)
    links.push_back(fmt::format("{}:{}", link.solver, link.epochs));
  return fmt::format("{}", fmt::join(links, ","));
}

std::int64_t passes_of(const Chain& chain) {
  std::int64_t passes = 0;
  for (const ChainLink& link : chain) passes += link.epochs;
  return passes;
}

Field positions_field(PositionFreedom& freedom) {
  return {.name = "refine-positions",
          .target = choice(freedom, {{"none", PositionFreedom::none},
                                     {"jitter", PositionFreedom::jitter},
                                     {"affine", PositionFreedom::affine}}),
          .help =
              "none, jitter (each pattern's own error; what the bare option means) or affine "
              "(scale, rotation, shear too)",
          .implied = "jitter"};
}

Field intensities_field(IntensityFreedom& freedom) {
  return {.name = "intensities",
          .target = choice(freedom, {{"auto", IntensityFreedom::automatic},
                                     {"on", IntensityFreedom::on},
                                     {"off", IntensityFreedom::off}}),
          .help =
              "fitted intensity of the beam in each pattern: on, off, or auto: where the image "
              "tells that the beam changes"};
}

std::vector<Field> fields(SolverOptions& options) {
  const auto chain = [&options] { return to_string(options.chain); };
  const auto set_chain = [&options](const std::string& text) { options.chain = chain_from(text); };
  std::vector<Field> all{
      {.name = "solver",
       .target = TextTarget{.get = chain, .set = set_chain},
       .help = "SOLVER:PASSES, several joined by commas, or auto: what fits the scan; solvers: " +
               solver_list()},
      {.name = "probe-modes",
       .target = &options.modes,
       .help = "number of incoherent probe modes",
       .range = {1, 32}},
      {.name = "mode-power",
       .target = &options.mode_power,
       .help = "power of a new probe mode, in shares of the first mode's",
       .range = {1e-9, 1e6},
       .internal = true},
      {.name = "fixed-probe",
       .target = &options.fixed_probe,
       .help = "no change of the probe that the chain starts from"},
      {.name = "background",
       .target = &options.background,
       .help = "fitted background per detector pixel"},
      {.name = "background-step",
       .target = &options.background_step,
       .unit = "sqrt(counts)",
       .help = "step size of the background's square root",
       .range = {0, 1e6},
       .internal = true},
      positions_field(options.positions),
      intensities_field(options.intensities),
      {.name = "interpolation",
       .target = choice(options.interpolation, {{"probe_fourier", Interpolation::probe_fourier},
                                                {"bilinear", Interpolation::bilinear}}),
       .help = "treatment of patches between pixels: move the probe (does not blur) or interpolate "
               "the object"},
      {.name = "max-amplitude",
       .target = &options.max_amplitude,
       .help = "largest amplitude of the object; 0 = not limited",
       .range = {0, 1e6}},
      {.name = "probe-support",
       .target = &options.probe_support,
       .unit = "N/2",
       .help = "radius outside which the probe is set to zero; 0 = not limited",
       .range = {0, 2}},
      {.name = "last-step",
       .target = &options.last_step,
       .help = "step size in the last pass of a link, in shares of the first pass's",
       .range = {0, 1},
       .internal = true},
      device_field(options.device),
      {.name = "every",
       .target = &options.every,
       .unit = "passes",
       .help = "interval of the evaluations: held-out R-factor, pictures, a line of progress.csv",
       .range = {1, 1e6},
       .affects_result = false},
      {.name = "seed",
       .target = &options.seed,
       .help = "seed of the order of patterns and of the hold-out"},
  };
  return remembering(std::move(all), options.typed,
                     {"probe-modes", "mode-power", "background", "background-step",
                      "refine-positions", "last-step"});
}

Field plateau_field(double& share, bool skips_passes) {
  return {.name = "plateau",
          .target = &share,
          .help = skips_passes
                      ? "least gain of ten passes, as a share of the loss, below which half of the "
                        "passes left are skipped, so that the steps become short sooner; 0 = never"
                      : "least gain of ten passes, as a share of the loss, below which the solver "
                        "ends; 0 = never",
          .range = {0, 1}};
}

Field momentum_field(double& momentum) {
  return {.name = "momentum",
          .target = &momentum,
          .help = "momentum coefficient: share of the last update that is added to the next one",
          .range = {0, 0.99}};
}

Field object_slope_field(double& slope) {
  return {.name = "object-slope",
          .target = &slope,
          .unit = "|object|/px",
          .help =
              "expected change of the object from pixel to pixel, root mean square; smooths where "
              "photons are few; 0 = no such prior",
          .range = {0, 1e6}};
}

std::vector<Field> fields(ChainLink& link, const SolverOptions& common) {
  return solver_entry(link.solver).fields(link.options, common);
}

void check(const SolverOptions& options) {
  require(!options.chain.empty(), "solver chain: expected at least one solver, found none");
  SolverOptions copy = options;
  for (ChainLink& link : copy.chain) require_in_range(fields(link, options));
  require_in_range(fields(copy));
}

void set_option(SolverOptions& options, const std::string& name, const std::string& value) {
  if (!set_where_looked_at(options, name, value)) refuse_option(options, name);
}

void set_if_looked_at(SolverOptions& options, const std::string& name, double value) {
  set_where_looked_at(options, name, fmt::format("{}", value));
}

void take_engine_for(std::int64_t size, SolverOptions& options) {
  if (!cpu::has_cheap_fft(size)) set_where_looked_at(options, "engine", "reference");
}

Key key_of(const SolverOptions& options) {
  SolverOptions copy = options;
  Key key = key_of(fields(copy));
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> values;
  for (ChainLink& link : copy.chain)
    for (const auto& [name, value] : key_of(fields(link, options))) {
      if (values[name].empty()) names.push_back(name);
      values[name].emplace_back(link.solver, value);
    }
  for (const std::string& name : names) key.emplace_back(name, joined_values(values[name]));
  return key;
}

}  // namespace ptyche
