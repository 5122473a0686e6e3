#include "ptyche/solve/solver_state.h"

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/log.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/propagation.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/probe_modes.h"
#include "ptyche/solve/side_steps.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

// Of the mean counts, what a new background starts with (at 0 its slope would be 0 for ever), and
// what one that is taken over has at least.
constexpr double kFirstBackground = 0.05, kLeastBackground = 0.0005;
constexpr double kSamePosition = 1e-3;  // px
constexpr std::int64_t kGrid = 16;      // canvases are rounded up to it

at::Tensor rounded_up(const at::Tensor& object) {
  const auto up = [](std::int64_t length) { return (length + kGrid - 1) / kGrid * kGrid; };
  at::Tensor canvas = at::ones({up(object.size(0)), up(object.size(1))}, object.options());
  canvas.narrow(0, 0, object.size(0)).narrow(1, 0, object.size(1)).copy_(object);
  return canvas;
}

/// Copies the part of `from` (its pixel (0, 0) at `row`, `col` of the canvas) that lies on it.
void paste(at::Tensor& canvas, const at::Tensor& from, std::int64_t row, std::int64_t col) {
  const std::int64_t top = std::max<std::int64_t>(row, 0), left = std::max<std::int64_t>(col, 0);
  const std::int64_t rows = std::min(canvas.size(0), row + from.size(0)) - top;
  const std::int64_t cols = std::min(canvas.size(1), col + from.size(1)) - left;
  if (rows <= 0 || cols <= 0) return;
  canvas.narrow(0, top, rows)
      .narrow(1, left, cols)
      .copy_(from.narrow(0, top - row, rows).narrow(1, left - col, cols));
}

/// Moves that the start brings along; none where its positions are not those of this scan.
at::Tensor moves_of(const SolverProblem& problem, const Reconstruction& start) {
  const at::Tensor none = at::zeros_like(problem.positions);
  const at::Tensor moves = moves_between(problem.scan, problem.frames, start);
  if (!moves.defined()) return none;
  const double largest = moves.abs().max().item<double>();
  const bool kept = problem.options.positions == PositionFreedom::none;
  if (!kept && largest <= static_cast<double>(problem.room_px)) return moves;
  if (largest > kSamePosition)
    warn("the start's positions are up to {:.3g} px from this scan's, which are taken{}", largest,
         kept ? "; --refine-positions goes on with the start's" : "");
  return none;
}

void take_over(const SolverProblem& problem, const Reconstruction& start, SolverState& state) {
  require(start.probe.size(-1) == problem.pattern_size(),
          "solver: the scan's patterns are {0} x {0}, the start's probe is {1} x {1}",
          problem.pattern_size(), start.probe.size(-1));
  require(at::isfinite(start.object).all().item<bool>() && std::isfinite(photons(start.probe)),
          "solver: expected a start of finite numbers, found {}", "others");
  require(photons(start.probe) > 0, "solver: expected a start whose probe has light, found {}",
          "none");
  paste(state.object, start.object, start.origin_row - state.origin_row,
        start.origin_col - state.origin_col);
  state.probe = start.probe.clone().contiguous();
  state.moves = moves_of(problem, start);
  if (state.background_root.defined() && start.background.defined())
    state.background_root = to_fft_order(start.background)
                                .clamp_min(kLeastBackground * problem.mean_counts())
                                .sqrt()
                                .contiguous();
}

/// Everything that the canvas must hold: the patches of all patterns, wherever they may move to.
Reconstruction canvas_of(const SolverProblem& problem) {
  Reconstruction canvas = empty_reconstruction(problem.scan, problem.options.interpolation);
  const std::int64_t room = problem.room_px;
  canvas.object = at::constant_pad_nd(canvas.object, {room, room, room, room}, 1);
  canvas.origin_row -= room;
  canvas.origin_col -= room;
  return canvas;
}

}  // namespace

SolverState start_state(const SolverProblem& problem, const std::optional<Reconstruction>& start) {
  const Reconstruction canvas = canvas_of(problem);
  const std::int64_t size = problem.pattern_size();
  SolverState state{.object = rounded_up(canvas.object),
                    .probe = canvas.probe.clone().contiguous(),
                    .background_root = {},
                    .moves = at::zeros_like(problem.positions),
                    .origin_row = canvas.origin_row,
                    .origin_col = canvas.origin_col};
  if (problem.options.background)
    state.background_root =
        at::full({size, size}, std::sqrt(kFirstBackground * problem.mean_counts()));
  if (start) take_over(problem, *start, state);
  return state;
}

Reconstruction finished(const SolverProblem& problem, const SolverState& state,
                        const std::vector<double>& losses) {
  Reconstruction image = canvas_of(problem);
  const at::Tensor all = at::arange(problem.patterns(), at::kLong);
  const at::Tensor light = spread_at(summed_power(state.probe), whole_corners(problem, state, all),
                                     state.object.size(0), state.object.size(1));
  const at::Tensor dark = light.le(kDarkWeight * light.max());
  const double scale = std::sqrt(photons(problem.scan.probe()) / photons(state.probe));
  const auto cropped = [&](const at::Tensor& canvas) {
    return canvas.narrow(0, 0, image.object.size(0))
        .narrow(1, 0, image.object.size(1))
        .contiguous();
  };
  image.object = cropped((state.object / scale).masked_fill(dark, 1));
  image.coverage = cropped((light / light.max()).masked_fill(dark, 0));
  image.probe = orthogonal_modes(state.probe * scale);
  image.positions =
      problem.scan.positions() + moves_of_all(problem.scan, problem.frames, state.moves);
  if (state.background_root.defined())
    image.background = to_centred(state.background_root.square()).contiguous();
  image.loss = losses;
  return image;
}

}  // namespace ptyche
