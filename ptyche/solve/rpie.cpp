#include "ptyche/solve/rpie.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/solve/pie.h"
#include "ptyche/solve/projection_kernels.h"

namespace ptyche {
namespace {

void check(const RpieOptions& options) {
  require(options.epochs >= 1, "rPIE epochs: expected at least 1, found {}", options.epochs);
  require(options.batch >= 1, "rPIE batch: expected at least 1, found {}", options.batch);
  for (const double alpha : {options.object_regularisation, options.probe_regularisation})
    require(alpha > 0 && alpha <= 1, "rPIE regularisation: expected 0 < alpha <= 1, found {}",
            alpha);
  for (const double beta : {options.object_step, options.probe_step})
    require(beta >= 0 && beta <= 1, "rPIE step: expected 0..1, found {}", beta);
}

cpu::PieOptions steps_of_epoch(const RpieOptions& options, std::int64_t epoch) {
  const double progress = static_cast<double>(epoch) /
                          static_cast<double>(std::max<std::int64_t>(options.epochs - 1, 1));
  const double decay = std::pow(options.step_decay, progress);
  return {.object_step = options.object_step * decay,
          .object_regularisation = options.object_regularisation,
          .probe_step = epoch < options.probe_start ? 0.0 : options.probe_step * decay,
          .probe_regularisation = options.probe_regularisation};
}

SolverState state_of(const SolverProblem& problem, const Reconstruction& start) {
  SolverState state;
  state.object = start.object;
  state.probe = start.probe;
  if (start.background.defined()) state.background_root = to_fft_order(start.background).sqrt();
  state.position_corrections = start.positions.index_select(0, problem.frames) - problem.positions;
  state.origin_row = start.origin_row;
  state.origin_col = start.origin_col;
  return state;
}

void require_finite(const at::Tensor& values) {
  require(at::isfinite(at::view_as_real(values)).all().item<bool>(),
          "rPIE: the numbers stopped being finite; a smaller probe step may help");
}

}  // namespace

Reconstruction rpie(const Scan& scan, const Reconstruction& start, const RpieOptions& options) {
  check(options);
  const at::NoGradGuard no_grad;
  SolverOptions solver;
  solver.seed = options.seed;
  const SolverProblem problem = make_problem(scan, solver);
  SolverState state = state_of(problem, start);
  ProjectionKernels projection(false, options.batch);
  cpu::ProjectionMemory<float>& memory = projection.load(problem, state);
  Progress progress("rPIE", options.epochs, "patterns");
  for (std::int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    if (interrupted()) throw Interrupted("stopped during rPIE, before there was anything to keep");
    const double misfit = pie_pass(memory, steps_of_epoch(options, epoch), options.seed, epoch);
    require(std::isfinite(misfit),
            "rPIE: the numbers stopped being finite in epoch {}; a smaller probe step may help",
            epoch + 1);
    progress.step(epoch + 1, (epoch + 1) * problem.patterns(),
                  fmt::format("misfit {:.4f}", misfit / problem.photons));
  }
  projection.store(state);
  require_finite(state.object);
  require_finite(state.probe);
  Reconstruction image = start;
  image.object = state.object;
  image.probe = state.probe;
  return image;
}

}  // namespace ptyche
