#include "ptyche/solve/problem.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/memory.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/random.h"
#include "ptyche/data/probe.h"
#include "ptyche/engine/loss.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/intensities.h"
#include "ptyche/solve/shares.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {
namespace {

constexpr std::int64_t kBatchPatterns = 64;
constexpr std::int64_t kPiecePixels = std::int64_t{1} << 22;  // of counts that are float at once
constexpr std::int64_t kOwnRoom = 8;                          // px
constexpr double kFarthestStart = 256;  // px; beyond it a start is of another scan

/// Unmasked counts of each frame, (k) float64, a batch of patterns at a time.
at::Tensor counted_totals(const Scan& scan, const at::Tensor& frames, const at::Tensor& mask) {
  std::vector<at::Tensor> totals;
  for (const at::Tensor& batch : frames.split(kBatchPatterns))
    totals.push_back((counts_in_fft_order(scan, batch) * mask).sum({1, 2}, false, at::kDouble));
  return at::cat(totals);
}

/// Each pattern's own error, and what a twentieth of scale, rotation and shear does at the rim.
std::int64_t room_for(const Scan& scan, PositionFreedom freedom) {
  if (freedom == PositionFreedom::none) return 0;
  if (freedom == PositionFreedom::jitter) return kOwnRoom;
  const PositionBox box = position_box(scan);
  const at::Tensor extent = box.high - box.low;
  return kOwnRoom + static_cast<std::int64_t>(std::ceil(extent.max().item<double>() / 20));
}

/// What the start's positions add to the used patterns', (n, 2) float64; undefined where it has
/// another number of patterns.
at::Tensor corrections_of(const Scan& scan, const at::Tensor& frames, const Reconstruction& start) {
  if (start.positions.size(0) != scan.frames()) return {};
  return (start.positions - scan.positions()).index_select(0, frames).contiguous();
}

/// What the start has moved already is not held against it.
std::int64_t room_of_start(const Scan& scan, const at::Tensor& frames, PositionFreedom freedom,
                           const std::optional<Reconstruction>& start) {
  if (freedom == PositionFreedom::none || !start) return 0;
  const at::Tensor corrections = corrections_of(scan, frames, *start);
  const double largest = corrections.defined() ? corrections.abs().max().item<double>() : 0;
  return largest <= kFarthestStart ? static_cast<std::int64_t>(std::ceil(largest)) : 0;
}

void make_leaf(at::Tensor& array) { array = array.detach().requires_grad_(true); }

// Of the mean counts, what a new background starts with (at 0 its slope would be 0 for ever), and
// what one that is taken over has at least.
constexpr double kFirstBackground = 0.05, kLeastBackground = 0.0005;
constexpr double kSamePosition = 1e-3;  // px
constexpr std::int64_t kGrid = 16;      // canvases are rounded up to it

at::Tensor rounded_up(const at::Tensor& object) {
  const auto up = [](std::int64_t length) { return (length + kGrid - 1) / kGrid * kGrid; };
  const std::int64_t rows = object.size(1), cols = object.size(2);
  at::Tensor canvas = at::ones({object.size(0), up(rows), up(cols)}, object.options());
  canvas.narrow(1, 0, rows).narrow(2, 0, cols).copy_(object);
  return canvas;
}

/// Copies the part of `from` (its pixel (0, 0) at `row`, `col` of the canvas) that lies on it.
void paste(at::Tensor& canvas, const at::Tensor& from, std::int64_t row, std::int64_t col) {
  const std::int64_t top = std::max<std::int64_t>(row, 0), left = std::max<std::int64_t>(col, 0);
  const std::int64_t rows = std::min(canvas.size(1), row + from.size(1)) - top;
  const std::int64_t cols = std::min(canvas.size(2), col + from.size(2)) - left;
  if (rows <= 0 || cols <= 0) return;
  canvas.narrow(1, top, rows)
      .narrow(2, left, cols)
      .copy_(from.narrow(1, top - row, rows).narrow(2, left - col, cols));
}

/// Position corrections that the start brings along; none where its positions are not those of this
/// scan.
at::Tensor start_corrections(const SolverProblem& problem, const Reconstruction& start) {
  const at::Tensor none = at::zeros_like(problem.positions);
  const at::Tensor corrections = corrections_of(problem.scan, problem.frames, start);
  if (!corrections.defined()) return none;
  const double largest = corrections.abs().max().item<double>();
  const bool kept = problem.options.positions == PositionFreedom::none;
  if (!kept && largest <= static_cast<double>(problem.room_px)) return corrections;
  if (largest > kSamePosition)
    warn("the start's positions are up to {:.3g} px from this scan's, which are taken{}", largest,
         kept ? "; --refine-positions goes on with the start's" : "");
  return none;
}

void take_over(const SolverProblem& problem, const Reconstruction& start, SolverState& state) {
  require(start.pattern_size() == problem.pattern_size(),
          "solver: the scan's patterns are {0} x {0}, the start's probe is {1} x {1}",
          problem.pattern_size(), start.pattern_size());
  require(at::isfinite(start.object).all().item<bool>() &&
              std::isfinite(probe_power(start.main_probe())),
          "solver: expected a start of finite numbers, found {}", "others");
  require(probe_power(start.main_probe()) > 0,
          "solver: expected a start whose probe has light, found {}", "none");
  paste(state.object, start.projection().unsqueeze(0), start.origin_row - state.origin_row,
        start.origin_col - state.origin_col);
  state.probe = start.main_probe().unsqueeze(0).clone().contiguous();
  state.position_corrections = start_corrections(problem, start);
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

SolverProblem with_arrays_on(at::Device device, SolverProblem problem) {
  for (at::Tensor* array : {&problem.frames, &problem.positions, &problem.mask, &problem.totals})
    *array = array->to(device);
  return problem;
}

}  // namespace

SolverProblem make_problem(const Scan& scan, const SolverOptions& options,
                           const std::optional<Reconstruction>& start) {
  check(options);
  require_device(options.device);
  require(options.device.is_cpu() || !scan.shared(),
          "--device {}: a scan that several ranks share is solved on CPUs; start one process",
          options.device.str());
  const at::Tensor frames = scan.frames_with(FrameUse::used), mask = mask_in_fft_order(scan);
  require(frames.size(0) >= 1, "solver: expected at least one used pattern, found none");
  const std::shared_ptr<const Shares> shares = shares_of(scan);
  const at::Tensor totals =
      shares ? shares->totals(frames, mask) : counted_totals(scan, frames, mask);
  const auto photons = totals.sum().item<double>();
  require(photons > 0, "solver: the mask hides every photon of the {} used patterns",
          frames.size(0));
  SolverProblem problem{
      .scan = scan,
      .measured = scan.device() == options.device ? scan : scan.to(options.device),
      .frames = frames,
      .positions = scan.positions().index_select(0, frames),
      .mask = mask,
      .totals = totals,
      .photons = photons,
      .options = options,
      .propagation = propagation_of(scan.geometry()),
      .room_px =
          room_for(scan, options.positions) + room_of_start(scan, frames, options.positions, start),
      .shares = shares};
  return with_arrays_on(options.device, std::move(problem));
}

SolverProblem on_host(const SolverProblem& problem) {
  SolverProblem here = with_arrays_on(at::kCPU, problem);
  here.measured = here.scan;
  return here;
}

at::Tensor all_patterns(const SolverProblem& problem) {
  return at::arange(problem.patterns(), problem.frames.options());
}

double SolverProblem::mean_counts() const {
  return photons / static_cast<double>(patterns() * mask.sum().item<std::int64_t>());
}

namespace {

/// `gradient` of so few patterns that their counts are made float at once.
SolverGradient piece_gradient(const SolverProblem& problem, const SolverState& state,
                              const at::Tensor& batch, const GradientOptions& options) {
  const at::AutoGradMode with_gradients(true);
  const at::Tensor corners = corners_of(problem, state, batch);
  const auto [whole, rest] = split_positions(corners, Interpolation::probe_fourier);
  const bool moved_probe = problem.options.interpolation == Interpolation::probe_fourier;
  FittedArrays leaves = of_patterns(state, batch);
  const at::Tensor& place = leaves.position_corrections = moved_probe ? rest : corners;
  for_fitted(leaves, [&](const Variable& variable) { make_leaf(leaves.*variable.array); });
  leaves.position_corrections.requires_grad_(problem.options.positions != PositionFreedom::none);
  const at::Tensor loss = object_loss(
      leaves.plane(), leaves.main_probe(), moved_probe ? whole : place,
      moved_probe ? place : at::Tensor(),
      {.counts = counts_in_fft_order(problem.measured, problem.frames.index_select(0, batch)),
       .mask = problem.mask,
       .background =
           leaves.background_root.defined() ? leaves.background_root.square() : at::Tensor(),
       .intensities = leaves.intensities},
      {.engine = options.engine, .kind = options.likelihood, .propagation = problem.propagation});
  loss.backward();
  SolverGradient found;
  found.loss = loss.item<double>();
  for_fitted(leaves, [&](const Variable& variable) {
    const at::Tensor& array = leaves.*variable.array;
    found.*variable.array =
        array.grad().defined() ? array.grad().contiguous() : at::zeros_like(array);
  });
  return found;
}

/// Counts that lie on disk are read while others are computed.
void read_meanwhile(const SolverProblem& problem, const at::Tensor& batch) {
  if (problem.device().is_cpu())
    read_ahead(problem.measured.counts(), problem.frames.index_select(0, batch));
}

/// All patterns of a batch, who see all of the canvas: mini-batches are from everywhere, and small.
BatchPiece whole_piece(const SolverState& state, const at::Tensor& batch) {
  return {
      at::arange(batch.size(0), batch.options()), batch, {0, 0, state.rows(), state.cols()}, state};
}

/// The order in which tiles that hold about `together` of the places (k, 2) float64 come one after
/// the other, to and fro; places of a tile in the order that they have.
at::Tensor compact_order(const at::Tensor& places, std::int64_t together) {
  const at::Tensor low = places.amin(0), extent = places.amax(0) - low + 1;
  const double tiles_in_all = static_cast<double>(places.size(0)) / static_cast<double>(together);
  const at::Tensor side = (extent.prod() / tiles_in_all).sqrt();
  const at::Tensor tiles = (extent / side).round().clamp_min(1);
  const at::Tensor tile = ((places - low) * (tiles / extent)).floor().to(at::kLong);
  const at::Tensor row = tile.select(1, 0), col = tile.select(1, 1), last = col.max();
  const at::Tensor along = at::where(row.remainder(2).eq(0), col, last - col);
  return (row * (last + 1) + along).argsort(/*stable=*/true, 0, /*descending=*/false);
}

/// The whole canvas where a window is no less than half of it: nothing is gained by a copy.
ObjectWindow worthwhile_window(const SolverProblem& problem, const SolverState& state,
                               const at::Tensor& batch) {
  const std::int64_t rows = state.rows(), cols = state.cols();
  const ObjectWindow window = window_of(problem, state, batch);
  return 2 * window.rows * window.cols < rows * cols ? window : ObjectWindow{0, 0, rows, cols};
}

}  // namespace

void put_in(at::Tensor& all, std::int64_t count, const at::Tensor& where, const at::Tensor& some) {
  if (!some.defined()) return;
  std::vector<std::int64_t> shape = some.sizes().vec();
  shape.front() = count;
  if (!all.defined() || all.size(0) != count) all = at::zeros(shape, some.options());
  all.index_copy_(0, where, some);
}

SolverGradient zero_gradient(const SolverState& state) {
  SolverGradient none;
  for_fitted(state, [&](const Variable& variable) {
    const at::Tensor& array = state.*variable.array;
    const at::Tensor some = variable.axes == Axes::patterns ? array.narrow(0, 0, 0) : array;
    none.*variable.array = at::zeros_like(some, at::MemoryFormat::Contiguous);
  });
  return none;
}

void add_part(SolverGradient& sum, const SolverGradient& part, const ObjectWindow& window,
              const at::Tensor& where, std::int64_t count) {
  sum.loss += part.loss;
  for_fitted(part, [&](const Variable& variable) {
    at::Tensor& all = sum.*variable.array;
    const at::Tensor& some = part.*variable.array;
    switch (variable.axes) {
      case Axes::canvas:
        window.of(all).add_(some);
        break;
      case Axes::common:
        all = all + some;
        break;
      case Axes::patterns:
        put_in(all, count, where, some);
        break;
    }
  });
}

void for_pieces(const SolverProblem& problem, const SolverState& state, const at::Tensor& batch,
                const std::function<void(const BatchPiece&)>& visit) {
  const std::int64_t pixels = problem.pattern_size() * problem.pattern_size();
  const std::int64_t together = std::max(kPiecePixels / pixels, kBatchPatterns);
  if (batch.size(0) <= together) return visit(whole_piece(state, batch));
  whole_corners(problem, state, batch);  // it names the pattern as the user knows it
  const at::Tensor order = compact_order(corners_of(problem, state, batch), together);
  const std::vector<at::Tensor> pieces = order.split(together);
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    if (piece + 1 < pieces.size())
      read_meanwhile(problem, batch.index_select(0, pieces[piece + 1]));
    const at::Tensor patterns = batch.index_select(0, pieces[piece]);
    const ObjectWindow window = worthwhile_window(problem, state, patterns);
    visit({pieces[piece], patterns, window, state_in(window, state)});
  }
}

SolverGradient gradient(const SolverProblem& problem, const SolverState& state,
                        const at::Tensor& batch, const GradientOptions& options) {
  if (problem.shares) return problem.shares->gradient(problem, state, batch, options);
  SolverGradient sum;
  for_pieces(problem, state, batch, [&](const BatchPiece& piece) {
    SolverGradient part = piece_gradient(problem, piece.seen, piece.patterns, options);
    if (piece.patterns.size(0) == batch.size(0)) return std::swap(sum, part);
    if (!sum.object.defined()) sum = zero_gradient(state);
    add_part(sum, part, piece.window, piece.where, batch.size(0));
  });
  return sum;
}

GradientOptions Solver::gradient_options() const { return {}; }

std::vector<Field> fields(GradientOptions& options) {
  return {
      {.name = "engine",
       .target =
           choice(options.engine, {{"fused", Engine::fused}, {"reference", Engine::reference}}),
       .help = "implementation of the gradient (ptyche info --engines)"},
      {.name = "likelihood",
       .target = choice(options.likelihood, {{"poisson", LossKind::poisson},
                                             {"amplitude", LossKind::amplitude_square}}),
       .help = "distribution of the noise: Poisson of the counts, or Gaussian of the amplitudes"}};
}

ObjectWindow window_of(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& batch, std::int64_t margin) {
  const at::Tensor corners = corners_of(problem, state, batch).floor();
  const at::Tensor ends = at::stack({corners.amin(0), corners.amax(0)}).to(at::kLong).cpu();
  const auto end = ends.accessor<std::int64_t, 2>();
  const auto begin = [&](std::int64_t axis) {
    return std::max<std::int64_t>(end[0][axis] - (1 + margin), 0);
  };
  const auto length = [&](std::int64_t axis) {
    const std::int64_t behind = end[1][axis] + problem.pattern_size() + 2 + margin;
    return std::min(behind, state.object.size(axis + 1)) - begin(axis);
  };
  return {begin(0), begin(1), length(0), length(1)};
}

SolverState state_in(const ObjectWindow& window, const SolverState& state) {
  SolverState seen = state;
  seen.object = window.of(state.object).contiguous();
  seen.origin_row += window.row;
  seen.origin_col += window.col;
  return seen;
}

std::vector<at::Tensor> shuffled_batches(const SolverProblem& problem, std::int64_t size,
                                         const Pass& pass) {
  const RandomStream stream(problem.options.seed, Purpose::solver_order,
                            static_cast<std::uint64_t>(pass.total));
  return at::tensor(permutation(problem.patterns(), stream), at::kLong)
      .to(problem.device())
      .split(size);
}

at::Tensor corners_of(const SolverProblem& problem, const SolverState& state,
                      const at::Tensor& batch) {
  const at::Tensor places = (problem.positions + state.position_corrections).index_select(0, batch);
  const auto along = [&](std::int64_t axis, std::int64_t origin) {
    return places.select(1, axis) - static_cast<double>(origin) -
           static_cast<double>(problem.pattern_size() / 2);
  };
  return at::stack({along(0, state.origin_row), along(1, state.origin_col)}, 1);
}

void require_on_canvas(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& batch, const at::Tensor& first, const at::Tensor& last) {
  const auto beyond = [&](std::int64_t axis) {
    return first.select(1, axis).lt(0).logical_or(
        last.select(1, axis).ge(state.object.size(axis + 1)));
  };
  const at::Tensor outside = beyond(0).logical_or(beyond(1)).nonzero();
  if (outside.numel() == 0) return;
  const auto k = outside[0][0].item<std::int64_t>();
  const auto pixel = [&](const at::Tensor& of, std::int64_t axis) {
    return of[k][axis].item<std::int64_t>();
  };
  throw InvalidInput(fmt::format(
      "pattern {}: its patch, rows {}..{} and columns {}..{}, leaves the object of {} x {} px; its "
      "position is too far from the given one",
      problem.frames[batch[k]].item<std::int64_t>(), pixel(first, 0), pixel(last, 0),
      pixel(first, 1), pixel(last, 1), state.rows(), state.cols()));
}

at::Tensor whole_corners(const SolverProblem& problem, const SolverState& state,
                         const at::Tensor& batch) {
  const at::Tensor corners =
      split_positions(corners_of(problem, state, batch), Interpolation::probe_fourier)
          .whole.to(at::kLong)
          .contiguous();
  require_on_canvas(problem, state, batch, corners, corners + (problem.pattern_size() - 1));
  return corners;
}

SolverState start_state(const SolverProblem& there, const std::optional<Reconstruction>& start) {
  const SolverProblem problem = on_host(there);
  const Reconstruction canvas = canvas_of(problem);
  const std::int64_t size = problem.pattern_size();
  SolverState state;
  state.object = rounded_up(canvas.object);
  state.probe = canvas.probe.clone().contiguous();
  state.position_corrections = at::zeros_like(problem.positions);
  state.intensities = first_intensities(problem, start);
  state.origin_row = canvas.origin_row;
  state.origin_col = canvas.origin_col;
  if (problem.options.background)
    state.background_root =
        at::full({size, size}, std::sqrt(kFirstBackground * problem.mean_counts()));
  if (start) take_over(problem, *start, state);
  return state.to(there.device());
}

Reconstruction finished(const SolverProblem& there, const SolverState& as_left,
                        const std::vector<double>& losses) {
  const SolverProblem problem = on_host(there);
  SolverState state = as_left.to(at::kCPU);
  straighten_probe(problem, state);
  Reconstruction image = canvas_of(problem);
  const at::Tensor corners = whole_corners(problem, state, all_patterns(problem));
  const at::Tensor light =
      spread_at(mode_power(state.main_probe()), corners, state.rows(), state.cols());
  const at::Tensor dark = lit_pixels(light, kLitToMerge).logical_not();
  const double scale =
      std::sqrt(probe_power(problem.scan.probe()) / probe_power(state.main_probe()));
  const auto cropped = [&](const at::Tensor& canvas) {
    return canvas.narrow(-2, 0, image.rows()).narrow(-1, 0, image.cols()).contiguous();
  };
  image.object = cropped((state.object / scale).masked_fill(dark, 1));
  image.coverage = cropped((light / light.max()).masked_fill(dark, 0));
  image.probe = orthogonal_modes(state.main_probe() * scale).unsqueeze(0);
  image.positions = problem.scan.positions() +
                    corrections_of_all(problem.scan, problem.frames, state.position_corrections);
  if (state.background_root.defined())
    image.background = to_centred(state.background_root.square()).contiguous();
  image.intensities = intensities_of_all(problem, state);
  image.loss = losses;
  return image;
}

}  // namespace ptyche
