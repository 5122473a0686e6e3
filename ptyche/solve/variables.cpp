#include "ptyche/solve/variables.h"

#include <algorithm>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/solve/auxiliary_updates.h"
#include "ptyche/solve/illumination.h"
#include "ptyche/solve/intensities.h"
#include "ptyche/solve/problem.h"
#include "ptyche/solve/shares.h"

namespace ptyche {
namespace {

// Of the largest curvature of an array, added to all of it: what hardly any light reaches is no
// softer than that.
constexpr double kCurvatureDamping = 0.02;
constexpr double kRootFloor = 0.002;  // counts
// Of the mean counts: keeps the background's curvature above zero where there is no background,
// else its unit would be huge and every step as short as the background asks.
constexpr double kRootShare = 0.3;
constexpr double kMostLogarithm = 5;  // of an intensity

at::Tensor damped(const at::Tensor& curvature) {
  return 2 * (curvature + kCurvatureDamping * curvature.max());
}

/// Of both parts of complex numbers.
at::Tensor of_both_parts(const at::Tensor& curvature) {
  return at::complex(curvature, curvature).contiguous();
}

at::Tensor object_curvature(const SolverProblem& problem, const SolverState& state, double prior) {
  return of_both_parts(damped(light_on_object(problem, state)) + prior)
      .expand(state.object.sizes());
}

at::Tensor probe_curvature(const SolverProblem& problem, const SolverState& state, double) {
  const at::Tensor corners = whole_corners(problem, state, all_patterns(problem));
  return of_both_parts(damped(gathered_power(state.plane(), corners, problem.pattern_size()))
                           .expand(state.probe.sizes()));
}

at::Tensor probe_slope(const SolverProblem& problem, const SolverState& state,
                       const at::Tensor& gradient) {
  return problem.options.fixed_probe ? at::zeros_like(gradient)
                                     : at_equal_power(gradient, state.probe);
}

at::Tensor corrections_curvature(const SolverProblem&, const SolverState& state, double) {
  return at::full_like(state.position_corrections, position_curvature(state.main_probe()));
}

at::Tensor corrections_slope(const SolverProblem& problem, const SolverState&,
                             const at::Tensor& gradient) {
  return allowed_corrections(gradient.to(at::kDouble), problem.positions,
                             problem.options.positions);
}

/// From the mean pattern.
at::Tensor root_curvature(const SolverProblem& problem, const SolverState& state, double) {
  const at::Tensor background =
      state.background_root.square() + (kRootFloor + kRootShare * problem.mean_counts());
  at::Tensor mean = at::zeros_like(background);
  if (problem.shares) {
    mean = to_fft_order(mean_pattern(problem.scan, problem.frames)).to(at::kFloat);
  } else {
    for (const at::Tensor& batch : problem.frames.split(64))
      mean += counts_in_fft_order(problem.measured, batch).sum(0);
    mean /= problem.patterns();
  }
  return 4 * problem.patterns() * background / (mean + background);
}

at::Tensor intensities_of(const at::Tensor& logarithms) {
  const at::Tensor factors = logarithms.clamp(-kMostLogarithm, kMostLogarithm).exp();
  return factors / factors.mean();
}

/// By the logarithms, whose mean is kept: without the part along it.
at::Tensor intensities_slope(const SolverProblem&, const SolverState& state,
                             const at::Tensor& gradient) {
  const at::Tensor by_each = gradient * state.intensities;
  return by_each - by_each.sum() * state.intensities / state.intensities.sum();
}

at::Tensor intensities_curvature(const SolverProblem& problem, const SolverState&, double) {
  return problem.totals.clamp_min(1);
}

}  // namespace

const std::vector<Variable>& variables() {
  static const std::vector<Variable> all{
      {.name = "object",
       .array = &FittedArrays::object,
       .axes = Axes::canvas,
       .curvature = object_curvature},
      {.name = "probe",
       .array = &FittedArrays::probe,
       .axes = Axes::common,
       .slope = probe_slope,
       .curvature = probe_curvature},
      {.name = "position_corrections",
       .array = &FittedArrays::position_corrections,
       .axes = Axes::patterns,
       .within_room = true,
       .slope = corrections_slope,
       .curvature = corrections_curvature},
      {.name = "background_root",
       .array = &FittedArrays::background_root,
       .axes = Axes::common,
       .shape =
           [](const SolverState& state) {
             return std::vector<std::int64_t>{state.probe.size(-1), state.probe.size(-1)};
           },
       .curvature = root_curvature},
      {.name = "intensities",
       .array = &FittedArrays::intensities,
       .axes = Axes::patterns,
       .shape =
           [](const SolverState& state) {
             return std::vector<std::int64_t>{state.position_corrections.size(0)};
           },
       .type = at::kDouble,
       .least = 0,
       .freed_later = true,
       .free = [](const at::Tensor& factors) { return factors.log(); },
       .from_free = intensities_of,
       .slope = intensities_slope,
       .curvature = intensities_curvature}};
  return all;
}

namespace {

/// The state with change(array) in the place of each array that it has.
template <typename Change>
SolverState with_each(SolverState state, const Change& change) {
  for_fitted(state, [&](const Variable& variable) {
    at::Tensor& array = state.*variable.array;
    array = change(array);
  });
  return state;
}

}  // namespace

SolverState SolverState::clone() const {
  return with_each(*this, [](const at::Tensor& array) { return array.clone(); });
}

SolverState SolverState::to(at::Device device) const {
  return with_each(*this, [&](const at::Tensor& array) { return array.to(device); });
}

FittedArrays of_patterns(const FittedArrays& arrays, const at::Tensor& patterns) {
  FittedArrays some = arrays;
  for_fitted(arrays, [&](const Variable& variable) {
    at::Tensor& array = some.*variable.array;
    if (variable.axes == Axes::patterns) array = array.index_select(0, patterns);
  });
  return some;
}

namespace {

DatasetLayout origin_layout(const std::string& group) {
  return {group + "/origin", at::kLong, {2}};
}

/// Of a state like `state`, with any number of probe modes.
DatasetLayout layout_of(const Variable& variable, const std::string& group,
                        const SolverState& state, double room_px) {
  const at::Tensor& array = state.*variable.array;
  DatasetLayout layout = variable.shape
                             ? DatasetLayout{.type = variable.type, .shape = variable.shape(state)}
                             : like(array, "");
  layout.path = group + "/" + variable.name;
  layout.device = state.object.device();
  layout.least = variable.within_room ? -room_px : variable.least;
  if (variable.within_room) layout.most = room_px;
  if (variable.array == &FittedArrays::probe) layout.shape[1] = kAnyLength;
  return layout;
}

void require_probe(const at::Tensor& probe, const std::string& path, std::int64_t modes) {
  require(probe.size(1) >= 1 && probe.size(1) <= modes, "{}: expected 1 to {} modes, found {}",
          path, modes, probe.size(1));
  require(probe_power(probe) > 0, "{}: expected light, found {}", path, "all values zero");
}

}  // namespace

void write_state(Hdf5File& file, const std::string& group, const SolverState& state,
                 double room_px) {
  for_fitted(state, [&](const Variable& variable) {
    write(file, layout_of(variable, group, state, room_px), state.*variable.array);
  });
  write(file, origin_layout(group), at::tensor({state.origin_row, state.origin_col}, at::kLong));
}

SolverState read_state(const Hdf5File& file, const std::string& group, const SolverState& first,
                       double room_px, std::int64_t modes) {
  SolverState state = first;
  for (const Variable& variable : variables()) {
    const DatasetLayout layout = layout_of(variable, group, first, room_px);
    at::Tensor& array = state.*variable.array;
    const bool expected = array.defined();
    array = variable.shape ? read_if_there(file, layout) : read(file, layout);
    require(variable.freed_later || array.defined() == expected, "{}: expected {}, found {}",
            layout.path, expected ? "one" : "none", expected ? "none" : "one");
  }
  require_probe(state.probe, group + "/probe", modes);
  const DatasetLayout layout = origin_layout(group);
  const at::Tensor origin = read(file, layout);
  const auto row = origin[0].item<std::int64_t>(), col = origin[1].item<std::int64_t>();
  require(row == first.origin_row && col == first.origin_col, "{}: expected {}, {}, found {}, {}",
          layout.path, first.origin_row, first.origin_col, row, col);
  return state;
}

namespace {

/// Numbers of all arrays that a state has, `numbers(variable)` of each.
template <typename Numbers>
at::Tensor in_one(const SolverState& state, const Numbers& numbers) {
  std::vector<at::Tensor> parts;
  for_fitted(state, [&](const Variable& variable) {
    const at::Tensor part = numbers(variable);
    parts.push_back((part.is_complex() ? at::view_as_real(part) : part).flatten().to(at::kFloat));
  });
  return at::cat(parts);
}

}  // namespace

at::Tensor packed(const SolverState& state) {
  return in_one(state, [&](const Variable& variable) {
    const at::Tensor& array = state.*variable.array;
    return variable.free ? variable.free(array) : array;
  });
}

at::Tensor packed_slope(const SolverProblem& problem, const SolverState& state,
                        const SolverGradient& gradient) {
  return in_one(state, [&](const Variable& variable) {
    const at::Tensor& array = gradient.*variable.array;
    return variable.slope ? variable.slope(problem, state, array) : array;
  });
}

at::Tensor packed_curvature(const SolverProblem& problem, const SolverState& state, double prior) {
  return in_one(
      state, [&](const Variable& variable) { return variable.curvature(problem, state, prior); });
}

std::int64_t packed_numbers(const SolverState& state) {
  std::int64_t count = 0;
  for_fitted(state, [&](const Variable& variable) {
    const at::Tensor& array = state.*variable.array;
    count += (array.is_complex() ? 2 : 1) * array.numel();
  });
  return count;
}

SolverState unpacked(const at::Tensor& coordinates, const SolverState& like) {
  SolverState state = like;
  std::int64_t from = 0;
  for_fitted(like, [&](const Variable& variable) {
    at::Tensor& array = state.*variable.array;
    const at::Tensor shape = array.is_complex() ? at::view_as_real(array) : array;
    const at::Tensor numbers = coordinates.narrow(0, from, shape.numel()).view(shape.sizes());
    from += shape.numel();
    array = array.is_complex() ? at::view_as_complex(numbers) : numbers.to(array.scalar_type());
    if (variable.from_free) array = variable.from_free(array);
  });
  return state;
}

}  // namespace ptyche
