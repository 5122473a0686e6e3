// Projections between what was measured and what overlaps, with memory: every pass brings the exit
// waves of all patterns, which are kept, to the next ones, then object and probe to what fits them
// best. The difference map and RAAR differ in three numbers.
#include "ptyche/engine/projections.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/projection_kernels.h"
#include "ptyche/storage/layout.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBatch = 16;           // patterns between two sums into the object
constexpr std::int64_t kKeptProbePasses = 2;  // from a flat object nothing can be said of the probe

// Numbers in a checkpoint. It is put together in memory every half minute; a resumed run without
// exit waves begins anew from object and probe.
constexpr std::int64_t kLargestSaved = 500'000'000;

constexpr float kBeta = 0.8F;

struct OverlapOptions {
  cpu::DifferenceMapCoefficients<float> how;
  bool within_noise = false;  ///< see cpu::DifferenceMapOptions
  BatchOptions batches = {};
};

std::vector<Field> fields(OverlapOptions& o, const SolverOptions& common) {
  return auxiliary_fields(o.batches, common);
}

/// The misfit is that of the waves, which rises and falls on the way: no plateau.
class OverlapProjection : public Solver {
 public:
  using Options = OverlapOptions;
  explicit OverlapProjection(const Options& options)
      : options_(options), auxiliary_(options.batches) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    kernels_.load(problem, state);
    if (kernels_.fresh()) set_ = false;
    take_loaded();
    cpu::DifferenceMapOptions options{
        .how = options_.how,
        .refine_probe = !problem.options.fixed_probe && pass.epoch >= kKeptProbePasses,
        .within_noise = options_.within_noise};
    options.how.fresh = !set_;
    const double misfit = kernels_.difference_map_sweep(options);
    set_ = true;
    kernels_.store(state);
    constrain(problem, state);
    auxiliary_.after_projections(problem, state, pass);
    return misfit;
  }

  GradientOptions gradient_options() const override { return options_.batches.gradient; }

  void save(Hdf5File& file, const std::string& group) const override {
    auxiliary_.save(file, group);
    if (!set_ || kernels_.wave_numbers() > kLargestSaved) return;
    const at::Tensor kept = kernels_.waves();
    const auto [waves, misfit] = layouts(group, kept);
    write(file, waves, kept);
    write(file, misfit, kernels_.misfit());
  }
  void load(const Hdf5File& file, const std::string& group, const SolverState& state) override {
    auxiliary_.load(file, group, state);
    const auto [waves, misfit] = layouts(group, state.position_corrections);
    if (!file.has(waves.path)) return;
    loaded_ = read(file, waves);
    loaded_misfit_ = read(file, misfit);
  }

 private:
  /// Exit waves, their misfit, for an array of as many patterns on the same device; how many
  /// numbers a pattern has is checked where they are loaded. The engines keep them in layouts of
  /// their own, and a run that goes on elsewhere begins anew from object and probe.
  static std::array<DatasetLayout, 2> layouts(const std::string& group, const at::Tensor& like) {
    const char* name = like.is_cpu() ? "/exit_waves" : "/exit_waves_of_reference";
    return {DatasetLayout{.path = group + name,
                          .type = at::kFloat,
                          .shape = {like.size(0), kAnyLength},
                          .device = like.device()},
            DatasetLayout{.path = group + "/misfit",
                          .type = at::kDouble,
                          .shape = {like.size(0)},
                          .device = like.device()}};
  }

  /// Exit waves of a checkpoint, once.
  void take_loaded() {
    if (!loaded_.defined()) return;
    kernels_.load_waves(loaded_, loaded_misfit_);
    loaded_ = loaded_misfit_ = at::Tensor();
    set_ = true;
  }

  Options options_;
  ProjectionKernels kernels_{true, kBatch};
  AuxiliaryUpdates auxiliary_;
  at::Tensor loaded_, loaded_misfit_;
  bool set_ = false;
};

}  // namespace

/// Thibault, Dierolf, Bunk, Menzel & Pfeiffer, Ultramicroscopy 109, 338 (2009), eq. 10:
/// wave <- wave + beta (F(2 P O - wave) - P O).
SolverEntry dm_solver() {
  return describe_solver<OverlapProjection>(
      "dm", "difference map: the surest far from the solution, never at rest",
      {.how = {.keep = 1, .reflected = kBeta, .product = -kBeta}, .within_noise = true});
}

/// Relaxed averaged alternating reflections: Luke, Inverse Problems 21, 37 (2005), eq. 13, the
/// overlap first: wave <- beta (wave + F(2 P O - wave)) + (1 - 2 beta) P O.
SolverEntry raar_solver() {
  return describe_solver<OverlapProjection>(
      "raar", "relaxed averaged alternating reflections: calmer than the difference map",
      {.how = {.keep = kBeta, .reflected = kBeta, .product = 1 - 2 * kBeta}});
}

}  // namespace ptyche
