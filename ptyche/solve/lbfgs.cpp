// Maximum likelihood by whole passes: L-BFGS (Nocedal & Wright, Numerical Optimization, 2nd ed.,
// algorithms 7.4 and 3.1) on variables that are scaled by their curvatures. Object, probe,
// background, positions and intensities move together.
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/memory.h"
#include "ptyche/data/probe.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/secants.h"
#include "ptyche/solve/slow_phase.h"
#include "ptyche/solve/slow_waves.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

constexpr int kTrials = 8;  // shorter steps before a pass gives up
constexpr double kShorter = 0.4;
constexpr double kEnough = 1e-4;  // of the promised decrease (Armijo)

struct LbfgsOptions {
  GradientOptions gradient = {};
  SmoothnessPrior prior = {};   ///< a slope of 0 = no prior
  double plateau = 1e-5;        ///< 0..1; 0 = all passes are made
  double still = 0;             ///< see Plateau
  std::int64_t slow_phase = 1;  ///< corrections by slow_phase before the first pass
};

std::vector<Field> fields(LbfgsOptions& o, const SolverOptions& common) {
  (void)common;
  return joined(
      {fields(o.gradient),
       {object_slope_field(o.prior.slope),
        {.name = "object-edge",
         .target = &o.prior.edge,
         .unit = "|object|/px",
         .help = "change of the object from pixel to pixel above which it counts as an edge, which "
                 "the prior does not smooth; 0 = no edges",
         .range = {0, 1e6}},
        {.name = "amplitude-stiffness",
         .target = &o.prior.stiffness,
         .help = "weight of the prior on the amplitude over its weight on the phase; 3 where "
                 "photons are few",
         .range = {0, 1e3}},
        {.name = "absorption",
         .target = &o.prior.absorption,
         .unit = "1/rad",
         .help = "change of the amplitude's logarithm that goes with one of the phase by 1 rad, "
                 "against which the amplitude is stiff: beta / delta of a sample of one material",
         .range = {-10, 10}},
        plateau_field(o.plateau, /*skips_passes=*/false),
        {.name = "still",
         .target = &o.still,
         .unit = "contrast",
         .help = "least change of the image in five passes, over its contrast, below which the "
                 "solver ends; 0 = never",
         .range = {0, 1}},
        {.name = "slow-phase",
         .target = &o.slow_phase,
         .unit = "corrections",
         .help = "corrections, before the first pass, of waves of the phase longer than the probe, "
                 "by the tilt of each pattern's exit wave; kept where they lower the loss",
         .range = {0, 100}}}});
}

class Lbfgs : public Solver {
 public:
  using Options = LbfgsOptions;
  explicit Lbfgs(const Options& options) : options_(options) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    (void)pass;
    if (!units_.defined() || point_.numel() != packed_numbers(state)) start(problem, state);
    const double likelihood = here_.likelihood;
    at::Tensor step = direction();
    double length = 1;
    for (int trial = 0; trial < kTrials; ++trial, length *= kShorter) {
      SolverState at_trial = from_point(problem, stepped(problem, step, length, state), state);
      set_aside(step);
      set_kept_aside();
      Value there = evaluate(problem, at_trial);
      // Made again after it was tried: where most memory is needed, the image alone is there.
      at::Tensor next = stepped(problem, step, length, state);
      const at::Tensor moved = next - point_;
      const double promise = -here_.slope.dot(moved).item<double>();
      if (!(there.loss <= here_.loss - kEnough * std::max(promise, 0.0))) continue;
      step = at::Tensor();
      point_ = std::move(next);
      secants_.add(moved, here_.slope.neg_().add_(there.slope));
      here_ = std::move(there);
      state = std::move(at_trial);
      return likelihood;
    }
    secants_.clear();  // they do not lead on; the next pass goes down the slope itself
    return likelihood;
  }

  Plateau plateau() const override { return {.share = options_.plateau, .still = options_.still}; }
  bool writes_in_place() const override { return false; }
  void variables_changed() override { units_ = at::Tensor(); }
  GradientOptions gradient_options() const override { return options_.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    if (!units_.defined()) return;
    const Kept kept(group, point_, slow_.direction);
    write(file, kept.units, units_);
    write(file, kept.point, point_);
    write(file, kept.slope, here_.slope);
    write(file, kept.loss, at::tensor({here_.likelihood, here_.loss, power_}, at::kDouble));
    write(file, kept.direction, slow_.direction);
    write(file, kept.gain, slow_.gain);
    for (std::size_t i = 0; i < secants_.all().size(); ++i) {
      write(file, kept.step(i), secants_.all()[i].step.to(at::kFloat));
      write(file, kept.change(i), secants_.all()[i].change.to(at::kFloat));
    }
  }

  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    if (!file.has(group + "/units")) return;
    const Kept kept(group, packed(state), state.object);
    units_ = read(file, kept.units);
    point_ = read(file, kept.point);
    const at::Tensor loss = read(file, kept.loss);
    here_ = {loss[0].item<double>(), loss[1].item<double>(), read(file, kept.slope)};
    power_ = loss[2].item<double>();
    slow_ = {read(file, kept.direction), read(file, kept.gain)};
    for (std::size_t i = 0; i < Secants::kMost && file.has(kept.step(i).path); ++i)
      secants_.restore(read(file, kept.step(i)), read(file, kept.change(i)));
  }

 private:
  /// What a checkpoint keeps of it, for a point (n) of all variables and an object.
  struct Kept {
    DatasetLayout units, point, slope, loss, direction, gain;

    Kept(const std::string& group, const at::Tensor& line, const at::Tensor& object)
        : units(like(line, group + "/units", 0)),
          point(like(line, group + "/point", -kLargest, kLargest)),
          slope(like(line, group + "/slope", -kLargest, kLargest)),
          loss{group + "/loss", at::kDouble, {3}, -kLargest, kLargest},
          direction(like(object, group + "/phase_direction")),
          gain{.path = group + "/phase_gain",
               .type = at::kFloat,
               .shape = {object.size(-2), object.size(-1) / 2 + 1},
               .device = object.device()},
          group_(group) {}

    DatasetLayout step(std::size_t i) const { return numbered("/step_", i); }
    DatasetLayout change(std::size_t i) const { return numbered("/change_", i); }

   private:
    static constexpr double kLargest = 1e37;  // in units in which squares are not taken

    DatasetLayout numbered(const char* name, std::size_t i) const {
      DatasetLayout layout = point;
      layout.path = group_ + name + std::to_string(i);
      return layout;
    }
    std::string group_;
  };

  /// What is minimised, with the prior on the object, and its slope.
  struct Value {
    double likelihood = 0, loss = 0;
    at::Tensor slope;
  };

  void start(const SolverProblem& problem, SolverState& state) {
    secants_.clear();
    const double slope = options_.prior.slope;
    units_ = packed_curvature(problem, state, slope > 0 ? smoothness_curvature(slope) : 0).rsqrt_();
    slow_ = slow_waves(state);
    power_ = probe_power(state.main_probe());
    point_ = constrained(problem, packed(state) / units_, state);
    here_ = evaluate(problem, from_point(problem, point_, state));
    for (std::int64_t i = 0; i < options_.slow_phase; ++i)
      if (is_near_field(problem.propagation) || !turns_slow_phase(problem, state)) return;
  }

  /// Whether a correction of the phase's slow waves lowers the loss; then it is kept.
  bool turns_slow_phase(const SolverProblem& problem, SolverState& state) {
    const at::Tensor turn = slow_phase(problem, state, options_.gradient);
    SolverState turned = from_point(problem, point_, state);
    turned.object = turned.object * at::polar(at::ones_like(turn), turn);
    const at::Tensor point = packed(turned) / units_;
    const Value there = evaluate(problem, from_point(problem, point, turned));
    if (!(there.loss < here_.loss)) return false;
    point_ = point;
    here_ = there;
    state = turned;
    slow_ = slow_waves(state);
    return true;
  }

  /// The point so many times the step downhill.
  at::Tensor stepped(const SolverProblem& problem, const at::Tensor& step, double length,
                     const SolverState& like) const {
    return constrained(problem, at::sub(point_, step, length), like);
  }

  /// What a pass over the patterns does not look at.
  void set_kept_aside() const {
    for (const at::Tensor& array : {units_, point_, here_.slope, slow_.direction, slow_.gain})
      set_aside(array);
    for (const Secant& secant : secants_.all()) {
      set_aside(secant.step);
      set_aside(secant.change);
    }
  }

  /// Its probe has the power that the link began with, whatever the point's.
  SolverState from_point(const SolverProblem& problem, const at::Tensor& point,
                         const SolverState& like) const {
    SolverState state = unpacked(point.mul(units_), like);
    if (!problem.options.fixed_probe)
      state.probe =
          state.probe * std::sqrt(power_ / std::max(probe_power(state.main_probe()), 1e-30));
    const auto room = static_cast<double>(problem.room_px);
    state.position_corrections.clamp_(-room, room);
    return state;
  }

  /// The nearest point that the limits of object and probe allow (projected gradient: Bertsekas,
  /// IEEE Trans. Autom. Control 21, 174 (1976)).
  at::Tensor constrained(const SolverProblem& problem, const at::Tensor& point,
                         const SolverState& like) const {
    const SolverOptions& options = problem.options;
    if (options.max_amplitude == 0 && options.probe_support == 0) return point;
    SolverState state = from_point(problem, point, like);
    constrain(problem, state);
    return packed(state) / units_;
  }

  /// Slope by the scaled variables.
  Value evaluate(const SolverProblem& problem, const SolverState& state) const {
    SolverGradient slope = gradient(problem, state, all_patterns(problem), options_.gradient);
    const double prior = options_.prior.slope > 0
                             ? add_smoothness(state.object, options_.prior, 1, slope.object)
                             : 0;
    return {slope.loss, slope.loss + prior, packed_slope(problem, state, slope).mul_(units_)};
  }

  at::Tensor direction() const {
    return secants_.direction(here_.slope, [this](at::Tensor& along) { precondition(along); });
  }

  /// Slow waves of the phase made longer, all else as it is.
  void precondition(at::Tensor& along) const {
    at::Tensor object =
        at::view_as_complex(along.narrow(0, 0, 2 * slow_.direction.numel()).view({-1, 2}))
            .view(slow_.direction.sizes());
    stretch_slow_waves(slow_, object);
  }

  Options options_;
  at::Tensor units_;  // 1 / sqrt(curvature): in these all variables are about equally stiff
  at::Tensor point_;
  SlowWaves slow_;
  double power_ = 0;  ///< of the probe, sum of its modes
  Value here_;
  Secants secants_;
};

}  // namespace

SolverEntry lbfgs_solver() {
  return describe_solver<Lbfgs>("lbfgs",
                                "maximum likelihood by whole passes of L-BFGS: a last polish");
}

}  // namespace ptyche
