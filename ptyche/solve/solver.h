// What an iterative solver is, what a user chooses about a chain of them, and the list of them all.
// One file per solver; docs/extend.md shows how to add one.
#pragma once

#include <ATen/ATen.h>

#include <any>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

struct GradientOptions;
struct SolverOptions;
struct SolverProblem;
struct SolverState;

/// Where a pass stands in its link of the chain.
struct Pass {
  std::int64_t epoch = 0, epochs = 1;  ///< 0..epochs-1 of this link
  std::int64_t total = 0;              ///< passes made by the whole chain before this one

  /// From 1 in the link's first epoch to `last` in its final one, along half a cosine.
  double step_factor(double last) const;
};

/// What a solver does where its loss hardly falls any more.
struct Plateau {
  double share = 0;           ///< of the loss, that ten passes gain at least; 0 = go on in any case
  bool skips_passes = false;  ///< half of the passes that are left, so that a schedule of falling
                              ///< steps ends sooner; otherwise the link ends
  double still = 0;           ///< the link ends where five passes move the image by less than this
                              ///< share of its contrast (image_movement); 0 = go on in any case
};

class Solver {
 public:
  virtual ~Solver() = default;
  /// One pass over all used patterns, changing `state`; arrays of the state may have got another
  /// shape since the last one (probe modes). Returns the loss summed over patterns, each taken
  /// when the pass came to it.
  virtual double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) = 0;

  virtual Plateau plateau() const { return {}; }
  /// Whether a pass changes the arrays of the state themselves; else it puts others in their place.
  virtual bool writes_in_place() const { return true; }
  /// Something else than a pass has given the state other variables: what is remembered of the old
  /// ones may be of no use.
  virtual void variables_changed() {}
  /// How the loss is computed by which the link's start is judged; the defaults unless overridden.
  virtual GradientOptions gradient_options() const;

  /// What the next pass needs beside the state, under `group` of a checkpoint. `state` is that of
  /// the checkpoint: what is kept beside an array of it has its shape, or is refused (layout.h).
  virtual void save(Hdf5File& file, const std::string& group) const = 0;
  virtual void load(const Hdf5File& file, const std::string& group, const SolverState& state) = 0;
};

/// A solver that exists. Its options are a struct of its own, held as std::any.
struct SolverEntry {
  std::string name, summary;
  std::any options;  ///< the defaults
  /// The options that the solver looks at in a chain with these common ones.
  std::vector<Field> (*fields)(std::any& options, const SolverOptions& common) = nullptr;
  std::unique_ptr<Solver> (*make)(const std::any& options) = nullptr;
};

/// The entry of a class S that is made from an S::Options, which declares its fields in
/// `std::vector<Field> fields(S::Options&, const SolverOptions&)`.
template <class S>
SolverEntry describe_solver(const char* name, const char* summary,
                            const typename S::Options& defaults = {}) {
  using Options = typename S::Options;
  return {.name = name,
          .summary = summary,
          .options = defaults,
          .fields = [](std::any& options, const SolverOptions& common) -> std::vector<Field> {
            return fields(std::any_cast<Options&>(options), common);
          },
          .make = [](const std::any& options) -> std::unique_ptr<Solver> {
            return std::make_unique<S>(std::any_cast<const Options&>(options));
          }};
}

const std::vector<SolverEntry>& solvers();
/// Throws InvalidInput listing the solvers that exist.
const SolverEntry& solver_entry(const std::string& name);

/// One solver of a chain, how many passes over the used patterns it makes, and its own options: the
/// defaults, or an Options of the solver. Throws InvalidInput for a solver that does not exist.
struct ChainLink {
  ChainLink(const std::string& solver, std::int64_t epochs);

  std::unique_ptr<Solver> make() const { return solver_entry(solver).make(options); }

  std::string solver;
  std::int64_t epochs = 0;
  std::any options;
};

using Chain = std::vector<ChainLink>;

/// "dm:50,lsqml:100" -> links with default options; "auto" (solve_automatically) -> none. Throws
/// InvalidInput for another form, a count below 1 or a solver that does not exist.
Chain chain_from(const std::string& text);
std::string to_string(const Chain& chain);
/// Passes of all links.
std::int64_t passes_of(const Chain& chain);

/// Which corrections of the positions are looked for.
enum class PositionFreedom {
  none,    ///< the given ones are kept
  jitter,  ///< each pattern's own; the grid as a whole keeps its place, scale, rotation and shear
  affine,  ///< these too; only the common shift, which no pattern can tell, is kept
};

/// Whether the beam's intensity is fitted for each pattern.
enum class IntensityFreedom {
  automatic,  ///< once the image tells that the beam changes (intensity_spread)
  on,
  off,
};

/// The option --intensities of all that fits them.
Field intensities_field(IntensityFreedom& freedom);

/// The option --refine-positions of all that corrects positions.
Field positions_field(PositionFreedom& freedom);

/// What a user chooses for a chain as a whole; what only some solvers look at is in their links.
struct SolverOptions {
  Chain chain = {{"ml", 40}};
  std::int64_t modes = 1;    ///< incoherent probe modes, 1..32
  double mode_power = 0.1;   ///< share of the first mode that each new one starts with
  bool fixed_probe = false;  ///< keep the probe that the chain starts from
  bool background = false;   ///< fit a background per detector pixel, in counts
  PositionFreedom positions = PositionFreedom::none;
  IntensityFreedom intensities = IntensityFreedom::automatic;
  Interpolation interpolation = Interpolation::probe_fourier;

  double background_step = 0.1;  ///< per step, of the background's square root, sqrt(counts)
  double last_step = 0.02;       ///< what is left of all steps in a link's last epoch, 0..1
  double max_amplitude = 0;      ///< of the object, > 0; 0 = free
  double probe_support = 0;  ///< radius in shares of N / 2 outside which the probe is 0; 0 = free

  at::Device device = at::kCPU;      ///< where all but the evaluations is computed
  std::int64_t every = 10;           ///< passes between two evaluations on the held-out patterns
  std::uint64_t seed = 1;            ///< of the order of the patterns
  std::set<std::string> typed = {};  ///< names of the options that the user typed, see Field

  /// Whether anything beside object and probe is refined.
  bool refines_more() const { return background || positions != PositionFreedom::none; }
};
std::vector<Field> fields(SolverOptions& options);

/// Options that several solvers have.
Field plateau_field(double& share, bool skips_passes);
Field momentum_field(double& momentum);
Field object_slope_field(double& slope);

/// The options of one link that its solver looks at.
std::vector<Field> fields(ChainLink& link, const SolverOptions& common);

/// Throws InvalidInput naming the first option that is out of range.
void check(const SolverOptions& options);

/// Sets the option `name` ("batch") in every solver of the chain that looks at it. Throws
/// InvalidInput, naming the solvers that have the option, where none of the chain does, and for a
/// value out of range.
void set_option(SolverOptions& options, const std::string& name, const std::string& value);

/// The same where a solver of the chain looks at it, else nothing.
void set_if_looked_at(SolverOptions& options, const std::string& name, double value);

/// The reference engine where the fused one has no fast transform of N x N patterns.
void take_engine_for(std::int64_t size, SolverOptions& options);

/// All that the result depends on. An option of several links is one entry: "0.5", or, where they
/// differ, "lsqml 0.5, rpie 0".
Key key_of(const SolverOptions& options);

}  // namespace ptyche
