#include "ptyche/solve/solver_problem.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/engine/group_loss.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBatchPatterns = 64;
constexpr std::int64_t kOwnRoom = 8;    // px
constexpr double kFarthestStart = 256;  // px; beyond it a start is of another scan

/// Sum of the unmasked counts, a batch of patterns at a time.
double counted_photons(const Scan& scan, const at::Tensor& frames, const at::Tensor& mask) {
  double photons = 0;
  for (const at::Tensor& batch : frames.split(kBatchPatterns))
    photons += (counts_in_fft_order(scan, batch) * mask).sum(at::kDouble).item<double>();
  return photons;
}

/// Each pattern's own error, and what a twentieth of scale, rotation and shear does at the rim.
std::int64_t room_for(const Scan& scan, PositionFreedom freedom) {
  if (freedom == PositionFreedom::none) return 0;
  if (freedom == PositionFreedom::jitter) return kOwnRoom;
  const at::Tensor extent = scan.positions().amax(0) - scan.positions().amin(0);
  return kOwnRoom + static_cast<std::int64_t>(std::ceil(extent.max().item<double>() / 20));
}

/// What the start has moved already is not held against it.
std::int64_t room_of_start(const Scan& scan, const at::Tensor& frames, PositionFreedom freedom,
                           const std::optional<Reconstruction>& start) {
  if (freedom == PositionFreedom::none || !start) return 0;
  const at::Tensor moves = moves_between(scan, frames, *start);
  const double largest = moves.defined() ? moves.abs().max().item<double>() : 0;
  return largest <= kFarthestStart ? static_cast<std::int64_t>(std::ceil(largest)) : 0;
}

at::Tensor leaf(const at::Tensor& value, bool wanted = true) {
  return value.detach().requires_grad_(wanted);
}

}  // namespace

at::Tensor moves_between(const Scan& scan, const at::Tensor& frames, const Reconstruction& start) {
  if (start.positions.size(0) != scan.frames()) return {};
  return (start.positions - scan.positions()).index_select(0, frames).contiguous();
}

SolverProblem make_problem(const Scan& scan, const SolverOptions& options,
                           const std::optional<Reconstruction>& start) {
  check(options);
  const at::Tensor frames = scan.frames_with(FrameUse::used), mask = mask_in_fft_order(scan);
  require(frames.size(0) >= 1, "solver: expected at least one used pattern, found none");
  const double photons = counted_photons(scan, frames, mask);
  require(photons > 0, "solver: the mask hides every photon of the {} used patterns",
          frames.size(0));
  return {.scan = scan,
          .frames = frames,
          .positions = scan.positions().index_select(0, frames),
          .mask = mask,
          .photons = photons,
          .options = options,
          .propagation = propagation_of(scan.geometry()),
          .room_px = room_for(scan, options.positions) +
                     room_of_start(scan, frames, options.positions, start)};
}

double SolverProblem::mean_counts() const {
  return photons / static_cast<double>(patterns() * mask.sum().item<std::int64_t>());
}

SolverState SolverState::clone() const {
  SolverState copy = *this;
  for (at::Tensor* tensor : {&copy.object, &copy.probe, &copy.background_root, &copy.moves})
    if (tensor->defined()) *tensor = tensor->clone();
  return copy;
}

SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                        const at::Tensor& batch, LossKind own) {
  const SolverOptions& options = problem.options;
  const at::AutoGradMode with_gradients(true);
  const at::Tensor object = leaf(state.object), probe = leaf(state.probe);
  const at::Tensor root =
      state.background_root.defined() ? leaf(state.background_root) : at::Tensor();
  const at::Tensor corners = corners_of(problem, state, batch), whole = corners.round();
  const bool moved_probe = options.interpolation == Interpolation::probe_fourier;
  const at::Tensor place =
      leaf(moved_probe ? corners - whole : corners, options.positions != PositionFreedom::none);
  const at::Tensor loss = object_loss(
      object, probe, moved_probe ? whole : place, moved_probe ? place : at::Tensor(),
      {.counts = counts_in_fft_order(problem.scan, problem.frames.index_select(0, batch)),
       .mask = problem.mask,
       .background = root.defined() ? root.square() : at::Tensor()},
      {.engine = options.engine,
       .kind = options.likelihood.value_or(own),
       .propagation = problem.propagation});
  loss.backward();
  return {.loss = loss.item<double>(),
          .object = object.grad().contiguous(),
          .probe = probe.grad(),
          .background_root = root.defined() ? root.grad() : at::Tensor(),
          .moves = place.grad().defined() ? place.grad() : at::zeros_like(place)};
}

at::Tensor corners_of(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& batch) {
  const at::Tensor origin =
      at::tensor({state.origin_row, state.origin_col}, at::kLong).to(at::kDouble);
  return (problem.positions + state.moves).index_select(0, batch) - origin -
         static_cast<double>(problem.pattern_size() / 2);
}

void require_on_canvas(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& batch, const at::Tensor& first, const at::Tensor& last) {
  const at::Tensor length = at::tensor({state.object.size(0), state.object.size(1)}, at::kLong);
  const at::Tensor outside = (first.lt(0) + last.ge(length)).any(1).nonzero();
  if (outside.numel() == 0) return;
  const auto k = outside[0][0].item<std::int64_t>();
  const auto pixel = [&](const at::Tensor& of, std::int64_t axis) {
    return of[k][axis].item<std::int64_t>();
  };
  throw InvalidInput(fmt::format(
      "pattern {}: its patch, rows {}..{} and columns {}..{}, leaves the object of {} x {} px; its "
      "position is too far from the given one",
      problem.frames[batch[k]].item<std::int64_t>(), pixel(first, 0), pixel(last, 0),
      pixel(first, 1), pixel(last, 1), state.object.size(0), state.object.size(1)));
}

at::Tensor whole_corners(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& batch) {
  const at::Tensor corners = corners_of(problem, state, batch).round().to(at::kLong).contiguous();
  require_on_canvas(problem, state, batch, corners, corners + (problem.pattern_size() - 1));
  return corners;
}

}  // namespace ptyche
