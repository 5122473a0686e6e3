// ePIE, rPIE, difference map and RAAR: the fused kernels against the same algorithms written with
// LibTorch in double precision, and what a user expects of each.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ptyche/core/random.h"
#include "ptyche/engine/projections.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/solve.h"
#include "ptyche/stitch/stitch.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace ptyche {
namespace {

/// A problem with two modes, a background and a masked pixel, from a flat object.
struct Case {
  SolverProblem problem;
  SolverState state;
};

Scan two_mode_scan() {
  ScanFields fields = small_scan().fields();
  fields.mask = at::ones({16, 16}, at::kBool);
  fields.mask[5][9] = false;
  const at::Tensor probe = fields.probe[0];
  fields.probe = at::stack({probe, 0.3 * probe.roll({1, 2}, {0, 1})});
  return Scan(fields);
}

Case two_modes(Interpolation interpolation) {
  const Scan scan = two_mode_scan();
  const Reconstruction flat = empty_reconstruction(scan, interpolation);
  Case made{make_problem(scan, {.interpolation = interpolation}), {}};
  made.state.object = flat.object;
  made.state.probe = flat.probe;
  made.state.background_root = at::full({16, 16}, 0.5, at::kFloat);
  made.state.position_corrections = at::zeros_like(made.problem.positions);
  made.state.origin_row = flat.origin_row;
  made.state.origin_col = flat.origin_col;
  return made;
}

/// The algorithms in complex128, one pattern after the other, nothing fused.
class Reference {
 public:
  explicit Reference(const Case& from)
      : object_(from.state.plane().to(at::kComplexDouble)),
        probe_(from.state.main_probe().to(at::kComplexDouble)),
        background_(from.state.background_root.to(at::kDouble).square()),
        mask_(from.problem.mask.to(at::kDouble)),
        amplitudes_(
            counts_in_fft_order(from.problem.scan, from.problem.frames).to(at::kDouble).sqrt()),
        moved_(from.problem.options.interpolation == Interpolation::probe_fourier) {
    const at::Tensor origin = at::tensor({from.state.origin_row, from.state.origin_col}, at::kLong);
    const at::Tensor corners = from.problem.positions - origin.to(at::kDouble) - 8;
    corners_ = moved_ ? corners.round() : corners;
    shifts_ = corners - corners_;
  }

  void pie_pass(const cpu::PieOptions& options, const std::vector<std::int64_t>& order,
                std::size_t batch) {
    for (std::size_t first = 0; first < order.size(); first += batch)
      pie_batch(options, {order.begin() + static_cast<std::ptrdiff_t>(first),
                          order.begin() +
                              static_cast<std::ptrdiff_t>(std::min(first + batch, order.size()))});
  }

  void reflect_pass(double keep, double reflected, double product, bool refine_probe) {
    std::vector<at::Tensor> old = waves_;
    waves_.clear();
    at::Tensor sum = at::zeros_like(object_), weight = at::zeros_like(object_);
    for (std::int64_t k = 0; k < corners_.size(0); ++k) {
      const at::Tensor seen = probe_at(k) * patch(k);
      const at::Tensor wave = old.empty() ? seen : old[static_cast<std::size_t>(k)];
      waves_.push_back(keep * wave + reflected * projected(2 * seen - wave, k, true) +
                       product * seen);
      sum = sum + placed((probe_at(k).conj() * (waves_.back() - seen)).sum(0), k);
      weight = weight + placed(power(probe_at(k)), k);
    }
    object_ = object_ + sum / denominator(weight);
    if (refine_probe) probe_step();
  }

  at::Tensor object_, probe_;

 private:
  static at::Tensor power(const at::Tensor& modes) { return (modes * modes.conj()).sum(0); }
  static at::Tensor denominator(const at::Tensor& weight) {
    return 0.999 * weight + 0.001 * at::real(weight).max();
  }

  at::Tensor shift(std::int64_t k) const { return shifts_.slice(0, k, k + 1); }
  at::Tensor corner(std::int64_t k) const { return corners_.slice(0, k, k + 1); }
  at::Tensor probe_at(std::int64_t k) const {
    return moved_ ? fourier_shift(probe_, shift(k))[0] : probe_;
  }
  at::Tensor unmoved(const at::Tensor& change, std::int64_t k) const {
    return moved_ ? fourier_shift(change, -shift(k))[0] : change;
  }
  at::Tensor patch(std::int64_t k) const { return extract_patches(object_, corner(k), 16)[0]; }
  at::Tensor placed(const at::Tensor& patch, std::int64_t k) const {
    return add_patches(patch.unsqueeze(0),
                       lay_on_object(corner(k), 16, {object_.size(0), object_.size(1)},
                                     Interpolation::bilinear))[0];
  }

  /// within_noise: by the share of the way that the misfit of the pass before leaves.
  at::Tensor projected(const at::Tensor& exit_waves, std::int64_t k, bool within_noise = false) {
    const at::Tensor waves = propagate_far_field(exit_waves);
    const at::Tensor modelled = (at::real(power(waves)) + background_).sqrt();
    double trust = 1;
    if (within_noise) {
      const double noise = 0.25 * (mask_ * amplitudes_[k].gt(0)).sum().item<double>();
      const double before = std::exchange(
          misfit_[k], ((modelled - amplitudes_[k]).square() * mask_).sum().item<double>());
      if (before > 0) trust = 1 - std::min(1.0, std::sqrt(noise / before));
    }
    return propagate_far_field_adjoint(waves *
                                       (1 + trust * mask_ * (amplitudes_[k] / modelled - 1)));
  }

  void pie_batch(const cpu::PieOptions& options, const std::vector<std::int64_t>& batch) {
    at::Tensor sum = at::zeros_like(object_), weight = at::zeros_like(object_);
    at::Tensor change_of_probe = at::zeros_like(probe_);
    double strongest = 0;
    for (const std::int64_t k : batch) {
      const at::Tensor probe = probe_at(k), seen = patch(k);
      const at::Tensor change = projected(probe * seen, k) - probe * seen;
      sum = sum + placed((probe.conj() * change).sum(0), k);
      weight = weight + placed(power(probe), k);
      strongest = std::max(strongest, at::real(power(probe)).max().item<double>());
      const at::Tensor bright = at::real(seen * seen.conj());
      const double alpha = options.probe_regularisation;
      change_of_probe =
          change_of_probe +
          unmoved(seen.conj() * change / ((1 - alpha) * bright + alpha * bright.max()), k);
    }
    const double alpha = options.object_regularisation;
    object_ = object_ + options.object_step * sum /
                            ((1 - alpha) * weight + alpha * at::real(weight).clamp_min(strongest));
    probe_ = probe_ + std::min(options.probe_step, 1.0 / static_cast<double>(batch.size())) *
                          change_of_probe;
  }

  void probe_step() {
    at::Tensor sum = at::zeros_like(probe_), weight = at::zeros({16, 16}, at::kComplexDouble);
    for (std::int64_t k = 0; k < corners_.size(0); ++k) {
      const at::Tensor seen = patch(k);
      const at::Tensor rest = waves_[static_cast<std::size_t>(k)] - probe_at(k) * seen;
      sum = sum + unmoved(seen.conj() * rest, k);
      weight = weight + seen * seen.conj();
    }
    probe_ = probe_ + sum / denominator(weight);
  }

  at::Tensor background_, mask_, amplitudes_, corners_, shifts_;
  bool moved_;
  std::vector<at::Tensor> waves_;
  std::map<std::int64_t, double> misfit_;
};

double difference(const at::Tensor& found, const at::Tensor& expected) {
  return (found.to(at::kComplexDouble) - expected).abs().max().item<double>() /
         expected.abs().max().item<double>();
}

/// rPIE with other steps and denominators than its own.
std::unique_ptr<Solver> pie_solver(const cpu::PieOptions& steps) {
  ChainLink link("rpie", 1);
  const std::vector<Field> own = fields(link, {});
  for (const auto& [name, value] : {std::pair{"object-beta", steps.object_step},
                                    {"object-alpha", steps.object_regularisation},
                                    {"probe-beta", steps.probe_step},
                                    {"probe-alpha", steps.probe_regularisation}})
    assign(*find_field(own, name), fmt::format("{}", value));
  return link.make();
}

class Projections : public testing::TestWithParam<Interpolation> {};

TEST_P(Projections, PieKernelsDoWhatTheAlgorithmSays) {
  Case made = two_modes(GetParam());
  Reference reference(made);
  const cpu::PieOptions options{.object_step = 0.9,
                                .object_regularisation = 0.3,
                                .probe_step = 0.2,
                                .probe_regularisation = 0.6};
  pie_solver(options)->pass(made.problem, made.state, {});
  reference.pie_pass(options, permutation(36, RandomStream(1, Purpose::solver_order)),
                     cpu::kPieBatch);
  EXPECT_LT(difference(made.state.plane(), reference.object_), 2e-4);
  EXPECT_LT(difference(made.state.main_probe(), reference.probe_), 2e-4);
}

TEST_P(Projections, DifferenceMapKernelsDoWhatTheAlgorithmSays) {
  Case made = two_modes(GetParam());
  Reference reference(made);
  const auto solver = ChainLink("dm", 4).make();
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) {
    solver->pass(made.problem, made.state, {epoch, 4, epoch});
    reference.reflect_pass(1, 0.8F, -0.8F, epoch >= 2);
  }
  EXPECT_LT(difference(made.state.plane(), reference.object_), 2e-4);
  EXPECT_LT(difference(made.state.main_probe(), reference.probe_), 2e-4);
}

INSTANTIATE_TEST_SUITE_P(Both, Projections,
                         testing::Values(Interpolation::bilinear, Interpolation::probe_fourier),
                         [](const auto& info) { return to_string(info.param); });

class ProjectionSolvers : public testing::TestWithParam<const char*> {};

SolverOptions options_of(const std::string& solver, std::int64_t epochs) {
  return {.chain = {{solver, epochs}}, .background = false};
}

/// The difference map stops where photon noise could explain the rest, although these counts have
/// none: an R-factor of 0.09 at 40 photons per pixel.
bool as_far_as_noise(const std::string& solver) { return solver == "dm"; }

TEST_P(ProjectionSolvers, BringASimulatedScanBackFromAFlatObjectAndAWrongProbe) {
  const Scan scan = small_scan();
  const at::Tensor axis = at::arange(16, at::kFloat) - 8;
  const at::Tensor defocus = 0.02 * (axis.square().unsqueeze(1) + axis.square());
  const Scan wrong = scan.with_probe(scan.probe() * at::polar(at::ones_like(defocus), defocus));
  const Reconstruction image = solve(wrong, {}, options_of(GetParam(), 100)).image;
  EXPECT_LT(r_factor(image, scan), as_far_as_noise(GetParam()) ? 0.1 : 0.03);  // flat: 0.44
}

TEST_P(ProjectionSolvers, FindTheObjectUnderTheTrueProbeUpToAPhase) {
  const Scan scan = small_scan();
  SolverOptions options = options_of(GetParam(), 100);
  options.fixed_probe = true;
  const Reconstruction image = solve(scan, {}, options).image;
  const auto middle = [&](const at::Tensor& object, std::int64_t row, std::int64_t col) {
    return object.slice(0, 12 - row, 24 - row).slice(1, 12 - col, 24 - col);
  };
  const at::Tensor found = middle(image.projection(), image.origin_row, image.origin_col);
  const at::Tensor truth = middle(scan.truth(), 0, 0);
  const at::Tensor phase = (truth * found.conj()).sum().sgn();
  EXPECT_LT((found * phase - truth).abs().mean().item<double>(),
            as_far_as_noise(GetParam()) ? 0.05 : 0.01);
}

TEST_P(ProjectionSolvers, AreTheSameForTheSameSeedOnAnyNumberOfThreads) {
  const Scan scan = small_scan();
  const int threads = at::get_num_threads();
  const auto run = [&](int count) {
    at::set_num_threads(count);
    return solve(scan, {}, options_of(GetParam(), 4)).image;
  };
  const Reconstruction one = run(1), many = run(3);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(one.object, many.object));
  EXPECT_TRUE(at::equal(one.probe, many.probe));
}

TEST_P(ProjectionSolvers, DoNotLookAtMaskedPixels) {
  const Scan scan = small_scan();
  at::Tensor mask = at::ones({16, 16}, at::kBool);
  mask[8][8] = false;
  const auto run = [&](double at_masked) {
    at::Tensor counts = scan.counts().clone();
    counts.select(1, 8).select(1, 8).fill_(at_masked);
    ScanFields fields = scan.fields();
    fields.counts = counts;
    fields.mask = mask;
    return solve(Scan(fields), {}, options_of(GetParam(), 4)).image.object;
  };
  EXPECT_TRUE(at::equal(run(0), run(5000)));
}

INSTANTIATE_TEST_SUITE_P(All, ProjectionSolvers, testing::Values("epie", "rpie", "dm", "raar"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace ptyche
