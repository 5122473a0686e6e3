#include "ptyche/solve/overlap_projection.h"

#include "ptyche/solve/projection.h"
#include "ptyche/solve/side_steps.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBatch = 16;           // patterns between two sums into the object
constexpr std::int64_t kKeptProbePasses = 2;  // from a flat object nothing can be said of the probe

// Numbers in a checkpoint. It is put together in memory every half minute; a resumed run without
// exit waves begins anew from object and probe.
constexpr std::int64_t kLargestSaved = 500'000'000;

class OverlapProjection : public Solver {
 public:
  OverlapProjection(const cpu::Reflection<float>& how, bool within_noise)
      : how_(how), within_noise_(within_noise) {}

  double pass(const SolverProblem& problem, SolverState& state, const Pass& pass) override {
    cpu::ProjectionMemory<float>& memory = projection_.enter(problem, state);
    if (projection_.fresh()) set_ = false;
    take_loaded();
    cpu::ReflectOptions options{
        .how = how_,
        .refine_probe = !problem.options.fixed_probe && pass.epoch >= kKeptProbePasses,
        .within_noise = within_noise_};
    options.how.fresh = !set_;
    const double misfit = cpu::reflect_sweep(memory, options);
    set_ = true;
    projection_.leave(state);
    constrain(problem, state);
    side_.after_projections(problem, state, pass);
    return misfit;
  }

  /// The misfit is that of the waves, which rises and falls on the way.
  AtPlateau at_plateau() const override { return AtPlateau::goes_on; }

  void save(Hdf5File& file, const std::string& group) const override {
    side_.save(file, group);
    if (!set_ || projection_.waves().numel() > kLargestSaved) return;
    file.write(group + "/exit_waves", projection_.waves());
    file.write(group + "/misfit", projection_.misfit());
  }
  void load(const Hdf5File& file, const std::string& group) override {
    side_.load(file, group);
    if (!file.has(group + "/exit_waves")) return;
    loaded_ = file.read(group + "/exit_waves").values;
    loaded_misfit_ = file.read(group + "/misfit").values;
  }

 private:
  /// Exit waves of a checkpoint, once.
  void take_loaded() {
    if (!loaded_.defined()) return;
    projection_.take_waves(loaded_, loaded_misfit_);
    loaded_ = loaded_misfit_ = at::Tensor();
    set_ = true;
  }

  cpu::Reflection<float> how_;
  bool within_noise_;
  Projection projection_{true, kBatch};
  SideSteps side_;
  at::Tensor loaded_, loaded_misfit_;
  bool set_ = false;
};

}  // namespace

std::unique_ptr<Solver> make_overlap_projection(const cpu::Reflection<float>& how,
                                                bool within_noise) {
  return std::make_unique<OverlapProjection>(how, within_noise);
}

}  // namespace ptyche
