#include "ptyche/solve/slow_phase.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/tilts.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/solve/shares.h"
#include "ptyche/solve/slow_waves.h"

namespace ptyche {
namespace {

// Between nodes, in root mean square radii of the probe: at 1.5 noise and what the object lacks in
// short waves leak in (leaves, error .38 for .36), at 6 waves of 50 to 100 px are missed (.39).
constexpr double kApart = 3, kLeastApart_px = 4;
// Of the mean information of a node, and the rad^-2 of what is expected of neighbours.
constexpr double kSmoothness = 0.1, kExpected = 4;
constexpr int kMostSteps = 200;
constexpr double kSolved = 1e-3;  // of the first residual

PhaseNodes nodes_for(const SolverState& state) {
  const double apart =
      std::max(kApart * rms_radius(mode_power(state.main_probe())), kLeastApart_px);
  const auto over = [&](std::int64_t pixels) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(pixels) / apart)) + 2;
  };
  // A pattern at the last corner of the canvas touches no node beyond these.
  const std::int64_t across = over(state.probe.size(-1));
  return {.apart = apart,
          .rows = over(state.rows()) + across,
          .cols = over(state.cols()) + across,
          .across = across};
}

/// For pixels at `places` (b, N), in node distances from a pattern's first node: the share
/// (b, N, across) of each node in each pixel, and its derivative by the pixel.
std::pair<at::Tensor, at::Tensor> hats(const at::Tensor& places, const PhaseNodes& nodes) {
  const at::Tensor away = places.unsqueeze(2) - at::arange(nodes.across, places.options());
  const at::Tensor share = (1 - away.abs()).clamp_min(0);
  return {share.to(at::kFloat), (-away.sign() * share.gt(0) / nodes.apart).to(at::kFloat)};
}

/// The nodes that patterns at whole `corners` (b, 2) touch, and the slopes that their exit waves
/// see, weighed by `light` (b, N, N).
void look(const at::Tensor& corners, const at::Tensor& light, const PhaseNodes& nodes,
          Sight& sight) {
  const at::Tensor from_first = at::stack(
      {corners.select(1, 0) + nodes.first_row, corners.select(1, 1) + nodes.first_col}, 1);
  const at::Tensor corner = from_first / nodes.apart, first = corner.floor();
  const at::Tensor pixels = at::arange(light.size(-1), from_first.options()) / nodes.apart;
  const at::Tensor places = (corner - first).unsqueeze(2) + pixels;
  const auto [row_share, row_slope] = hats(places.select(1, 0), nodes);
  const auto [col_share, col_slope] = hats(places.select(1, 1), nodes);
  const at::Tensor over = light.sum({1, 2}, true).clamp_min(1e-30);
  const auto down = row_slope.transpose(1, 2).bmm(light).bmm(col_share) / over;
  const auto right = row_share.transpose(1, 2).bmm(light).bmm(col_slope) / over;
  sight.slope = at::stack({down.flatten(1), right.flatten(1)}, 1);
  const at::Tensor node = at::arange(nodes.across, first.options().dtype(at::kLong));
  const at::Tensor from = first.to(at::kLong).unsqueeze(2) + node;  // (b, 2, across)
  sight.index = (from.select(1, 0).unsqueeze(2) * nodes.cols + from.select(1, 1).unsqueeze(1))
                    .flatten(1)
                    .to(at::kInt);
}

Sight sight_of(const SolverProblem& problem, const SolverState& state, const PhaseNodes& nodes,
               const BatchPiece& piece, Engine engine) {
  require(!is_near_field(problem.propagation),
          "slow phase: expected the far field, found the near");
  const at::Tensor& batch = piece.patterns;
  Measured measured{
      .counts = counts_in_fft_order(problem.measured, problem.frames.index_select(0, batch)),
      .mask = problem.mask,
      .background = {}};
  if (state.background_root.defined()) measured.background = state.background_root.square();
  if (state.intensities.defined()) measured.intensities = state.intensities.index_select(0, batch);
  const Tilts tilts = exit_tilts(piece.seen.plane(), state.main_probe(),
                                 corners_of(problem, piece.seen, batch), measured, engine);
  Sight sight{.tilt = tilts.asked / tilts.power.clamp_min(1e-30), .information = 4 * tilts.power};
  const at::Tensor corners = corners_of(problem, state, batch);
  look(split_positions(corners, Interpolation::probe_fourier).whole, tilts.light, nodes, sight);
  return sight;
}

Sight room_for(std::int64_t patterns, const Sight& some) {
  const std::int64_t touched = some.index.size(1);
  return {at::empty({patterns, touched}, at::kInt), at::empty({patterns, 2, touched}, at::kFloat),
          at::empty({patterns, 2}, at::kDouble), at::empty({patterns, 2}, at::kDouble)};
}

}  // namespace

Sight sight_of(const SolverProblem& problem, const SolverState& state, const PhaseNodes& nodes,
               const GradientOptions& options) {
  Sight all;  // on the host, where the few nodes are solved for
  for_pieces(problem, state, all_patterns(problem), [&](const BatchPiece& piece) {
    const Sight part = sight_of(problem, state, nodes, piece, options.engine);
    if (!all.index.defined()) all = room_for(problem.patterns(), part);
    const at::Tensor where = piece.where.cpu();
    all.index.index_copy_(0, where, part.index.cpu());
    all.slope.index_copy_(0, where, part.slope.cpu());
    all.tilt.index_copy_(0, where, part.tilt.cpu());
    all.information.index_copy_(0, where, part.information.cpu());
  });
  return all;
}

namespace {

constexpr std::int64_t kSightsAtOnce = 512;  // patterns: what is computed of them stays small

/// Those of patterns first.. of all.
Sight rows_of(const Sight& all, std::int64_t first, std::int64_t count) {
  return {all.index.narrow(0, first, count), all.slope.narrow(0, first, count),
          all.tilt.narrow(0, first, count), all.information.narrow(0, first, count)};
}

/// Calls `visit(sight)` with the sights of consecutive patterns, slopes in float64.
template <typename Visit>
void for_sights(const Sight& all, const Visit& visit) {
  for (std::int64_t first = 0; first < all.index.size(0); first += kSightsAtOnce) {
    Sight some = rows_of(all, first, std::min(kSightsAtOnce, all.index.size(0) - first));
    some.slope = some.slope.to(at::kDouble);
    visit(some);
  }
}

/// Adds `values` (n, k) at the nodes to `sum` (nodes).
void add_at_nodes(const Sight& sight, const at::Tensor& values, at::Tensor& sum) {
  sum.index_add_(0, sight.index.flatten(), values.flatten());
}

/// sum_j K_j^T F_j (K_j c or theta_j) of some patterns, added to `sum` (nodes).
void add_asked(const Sight& sight, const at::Tensor& tilt, at::Tensor& sum) {
  add_at_nodes(sight, (sight.slope * (tilt * sight.information).unsqueeze(2)).sum(1), sum);
}

/// K c, (n, 2), of some patterns.
at::Tensor seen(const Sight& sight, const at::Tensor& phases) {
  const at::Tensor each = phases.index_select(0, sight.index.flatten()).view_as(sight.index);
  return (sight.slope * each.unsqueeze(1)).sum(2);
}

/// sum_j K_j^T F_j theta_j and sum_j K_j^T F_j K_j c: (nodes).
at::Tensor asked_by_tilts(const Sight& all, const PhaseNodes& nodes) {
  at::Tensor sum = at::zeros({nodes.count()}, at::kDouble);
  for_sights(all, [&](const Sight& some) { add_asked(some, some.tilt, sum); });
  return sum;
}

at::Tensor asked_by_phases(const Sight& all, const at::Tensor& phases, const PhaseNodes& nodes) {
  at::Tensor sum = at::zeros({nodes.count()}, at::kDouble);
  for_sights(all, [&](const Sight& some) { add_asked(some, seen(some, phases), sum); });
  return sum;
}

/// The diagonal of sum_j K_j^T F_j K_j: (nodes).
at::Tensor stiffness_of(const Sight& all, const PhaseNodes& nodes) {
  at::Tensor sum = at::zeros({nodes.count()}, at::kDouble);
  for_sights(all, [&](const Sight& some) {
    add_at_nodes(some, (some.slope.square() * some.information.unsqueeze(2)).sum(1), sum);
  });
  return sum;
}

/// Half the gradient of the sum of squared differences of neighbours: (nodes).
at::Tensor roughness(const at::Tensor& phases, const PhaseNodes& nodes) {
  const at::Tensor grid = phases.view({nodes.rows, nodes.cols});
  at::Tensor result = at::zeros_like(grid);
  for (const std::int64_t axis : {0, 1}) {
    const at::Tensor step = grid.diff(1, axis);
    result.narrow(axis, 1, step.size(axis)).add_(step);
    result.narrow(axis, 0, step.size(axis)).sub_(step);
  }
  return result.flatten();
}

/// The phases (nodes) that the patterns ask for.
at::Tensor node_phases(const Sight& sight, const PhaseNodes& nodes) {
  const at::Tensor stiffness = stiffness_of(sight, nodes);
  const double mean = (stiffness.sum() / stiffness.gt(0).sum()).item<double>();
  const double smoothness = kSmoothness * mean + kExpected;
  const at::Tensor unit = (stiffness + 4 * smoothness).reciprocal();
  at::Tensor phases = at::zeros_like(stiffness), left = asked_by_tilts(sight, nodes);
  at::Tensor scaled = left * unit, along = scaled;
  double now = left.dot(scaled).item<double>();
  const double enough = kSolved * kSolved * now;
  for (int step = 0; step < kMostSteps && now > enough; ++step) {
    const at::Tensor curvature =
        asked_by_phases(sight, along, nodes) + smoothness * roughness(along, nodes);
    const double length = now / along.dot(curvature).item<double>();
    phases.add_(along, length);
    left.sub_(curvature, length);
    scaled = left * unit;
    const double before = std::exchange(now, left.dot(scaled).item<double>());
    along = scaled + (now / before) * along;
  }
  return phases;
}

/// The share (pixels, count) of each node of a line in each pixel.
at::Tensor shares(std::int64_t pixels, std::int64_t count, const PhaseNodes& nodes) {
  const at::Tensor places = at::arange(pixels, at::kDouble) / nodes.apart;
  return (1 - (places.unsqueeze(1) - at::arange(count, at::kDouble)).abs()).clamp_min(0);
}

}  // namespace

at::Tensor slow_phase(const SolverProblem& problem, const SolverState& state,
                      const GradientOptions& options) {
  const PhaseNodes nodes = nodes_for(state);
  const Sight sight = problem.shares ? problem.shares->sights(problem, state, nodes, options)
                                     : sight_of(problem, state, nodes, options);
  const at::Tensor phases = node_phases(sight, nodes);
  return shares(state.rows(), nodes.rows, nodes)
      .matmul(phases.view({nodes.rows, nodes.cols}))
      .matmul(shares(state.cols(), nodes.cols, nodes).t())
      .to(at::TensorOptions(at::kFloat).device(state.object.device()));
}

}  // namespace ptyche
