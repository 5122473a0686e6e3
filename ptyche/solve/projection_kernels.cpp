#include "ptyche/solve/projection_kernels.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/memory.h"
#include "ptyche/physics/canvas.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPatternsAtOnce = 64;  // while counts become amplitudes
constexpr std::int64_t kMaxThreads = 64;
constexpr std::size_t kBatchesAhead = 64;  // of patterns that are read while others are computed

template <class T = float>
T* numbers(const at::Tensor& tensor) {
  return static_cast<T*>(tensor.data_ptr());
}

/// Whole-pixel corner of each patch, which lies on the canvas, and the rest of the position.
std::vector<cpu::PatchPosition> positions_of(const SolverProblem& problem,
                                             const SolverState& state) {
  const bool between = problem.options.interpolation == Interpolation::bilinear;
  const at::Tensor all = all_patterns(problem);
  const at::Tensor corners = corners_of(problem, state, all);
  const SplitPositions split = split_positions(corners, problem.options.interpolation);
  const at::Tensor rests = split.rest.contiguous();
  const at::Tensor first = split.whole.to(at::kLong).contiguous();
  const at::Tensor neighbours = between ? rests.gt(0).to(at::kLong) : at::zeros_like(first);
  require_on_canvas(problem, state, all, first, first + (problem.pattern_size() - 1) + neighbours);
  const auto* pixel = numbers<std::int64_t>(first);
  const auto* rest = numbers<double>(rests);
  const double* factor =
      state.intensities.defined() ? state.intensities.const_data_ptr<double>() : nullptr;
  std::vector<cpu::PatchPosition> positions;
  for (std::int64_t i = 0; i < 2 * problem.patterns(); i += 2) {
    cpu::PatchPosition position{pixel[i], pixel[i + 1]};
    (between ? position.row_fraction : position.row_shift) = rest[i];
    (between ? position.col_fraction : position.col_shift) = rest[i + 1];
    if (factor) position.intensity = factor[i / 2];
    positions.push_back(position);
  }
  return positions;
}

/// Whether the roots of the scan's counts are taken anew in each pass: where all of them would be
/// much memory. A pass is some percent slower then.
bool takes_roots_anew(const SolverProblem& problem) {
  constexpr double kMuchMemory = 64e6;
  const at::Tensor& counts = problem.scan.counts();
  const at::ScalarType type = counts.scalar_type();
  const double bytes = static_cast<double>(problem.patterns()) * sizeof(float) *
                       static_cast<double>(problem.pattern_size() * problem.pattern_size());
  return (type == at::kByte || type == at::kShort) && counts.is_contiguous() && bytes > kMuchMemory;
}

cpu::CountsOfScan counts_of_scan(const at::Tensor& counts, const at::Tensor& rows) {
  cpu::CountsOfScan scan{.rows = rows.const_data_ptr<std::int64_t>()};
  if (counts.scalar_type() == at::kByte)
    scan.bytes = counts.const_data_ptr<std::uint8_t>();
  else
    scan.shorts = counts.const_data_ptr<std::int16_t>();
  return scan;
}

cpu::Geometry<float> geometry_of(const SolverProblem& problem, const at::Tensor& object,
                                 const at::Tensor& probe, const at::Tensor& transfer) {
  cpu::Geometry<float> geometry;
  geometry.size = problem.pattern_size();
  geometry.modes = probe.size(1);
  geometry.patterns = problem.patterns();
  geometry.rows = object.size(1);
  geometry.cols = object.size(2);
  geometry.moved_probe = problem.options.interpolation == Interpolation::probe_fourier;
  geometry.probe = numbers(probe);
  geometry.mask = numbers<bool>(problem.mask);
  geometry.transfer = transfer.defined() ? numbers(transfer) : nullptr;
  return geometry;
}

bool fits(const cpu::ProjectionMemory<float>& memory, const SolverState& state) {
  return memory.context.modes == state.modes() && memory.object.rows == state.rows() &&
         memory.object.cols == state.cols();
}

}  // namespace

void require_projection_memory(std::int64_t patterns, std::int64_t size, std::int64_t modes,
                               bool keep_waves, bool keep_amplitudes) {
  const double bytes_of_pixel =
      (keep_amplitudes ? 4 : 0) + (keep_waves ? 8 * static_cast<double>(modes) : 0);
  const double needed =
      static_cast<double>(patterns) * static_cast<double>(size * size) * bytes_of_pixel;
  require_room(needed,
               fmt::format("{} of {} patterns of {} x {} pixels with {} probe modes",
                           keep_waves ? "exit waves and amplitudes" : "the amplitudes", patterns,
                           size, size, modes),
               keep_waves ? "a solver that keeps no exit waves needs less"
                          : "a solver that reads the counts in batches needs less");
}

void ProjectionKernels::renew(const SolverProblem& problem, const SolverState& state) {
  require(
      cpu::has_fft(problem.pattern_size()),
      "this solver needs the fused kernels, and patterns of {0} x {0} have a prime factor above "
      "{1}; "
      "--crop a few pixels, or take a solver that has --engine reference (training: --probe-start "
      "guess)",
      problem.pattern_size(), cpu::kLargestRadix);
  memory_.reset();
  const at::Tensor object = state.object.contiguous(), probe = state.probe.contiguous();
  at::Tensor transfer = detector_transfer(problem.pattern_size(), problem.propagation);
  if (transfer.defined()) transfer = transfer.to(at::kComplexFloat);
  cpu::Geometry<float> geometry = geometry_of(problem, object, probe, transfer);
  const bool anew = takes_roots_anew(problem);
  counts_ = anew ? problem.scan.counts() : at::Tensor();
  rows_ = problem.frames.contiguous();
  if (anew) geometry.counts = counts_of_scan(counts_, rows_);
  require_projection_memory(geometry.patterns, geometry.size, geometry.modes, keep_waves_,
                            !counts_.defined());
  const auto threads = static_cast<int>(std::min<std::int64_t>(at::get_num_threads(), kMaxThreads));
  memory_ = std::make_unique<cpu::ProjectionMemory<float>>(geometry, numbers(object), keep_waves_,
                                                           batch_, threads);
  if (anew) return;
  std::int64_t first = 0;
  for (const at::Tensor& frames : problem.frames.split(kPatternsAtOnce)) {
    const at::Tensor counts = counts_in_fft_order(problem.scan, frames).contiguous();
    memory_->load_counts(first, counts.size(0), numbers(counts));
    first += counts.size(0);
  }
}

void ProjectionKernels::load_there(const SolverProblem& problem, const SolverState& state) {
  fresh_ = !there_ || there_->object.sizes() != state.object.sizes().slice(1) ||
           there_->probe.sizes() != state.probe.sizes().slice(1);
  if (fresh_)
    there_ = std::make_unique<reference::Projections>(reference::Projections{
        .amplitudes = counts_in_fft_order(problem.measured, problem.frames).sqrt_(),
        .mask = problem.mask,
        .interpolation = problem.options.interpolation,
        .propagation = problem.propagation});
  there_->object = state.plane();
  there_->probe = state.main_probe();
  there_->background =
      state.background_root.defined() ? state.background_root.square() : at::Tensor();
  there_->corners = corners_of(problem, state, all_patterns(problem));
  there_->intensities = state.intensities;
}

void ProjectionKernels::load(const SolverProblem& problem, const SolverState& state) {
  if (!problem.device().is_cpu()) return load_there(problem, state);
  if (problem.shares) {
    if (!shared_) shared_ = std::make_unique<SharedProjections>(keep_waves_, batch_);
    fresh_ = shared_->load(problem, state);
    return;
  }
  std::vector<cpu::PatchPosition> positions = positions_of(problem, state);
  fresh_ = !memory_ || !fits(*memory_, state);
  if (fresh_) renew(problem, state);
  memory_->positions = std::move(positions);
  memory_->load_object(numbers(state.object.contiguous()));
  memory_->load_probe(numbers(state.probe.contiguous()));
  const at::Tensor background =
      state.background_root.defined() ? state.background_root.square().contiguous() : at::Tensor();
  memory_->load_background(background.defined() ? numbers(background) : nullptr);
}

double ProjectionKernels::sweep_here(std::span<const std::int64_t> order,
                                     const cpu::PieOptions& options) {
  if (!counts_.defined() || !lies_in_file(counts_)) return cpu::pie_sweep(*memory_, order, options);
  // Whole batches, so that the sweep is the same; the next patterns come from the disk meanwhile.
  const auto at_once = static_cast<std::size_t>(batch_) * kBatchesAhead;
  const auto rows_from = [&](std::size_t first) {
    const auto next = order.subspan(std::min(first, order.size()));
    const auto some = next.first(std::min(at_once, next.size()));
    return rows_.index_select(0, at::tensor(at::IntArrayRef(some.data(), some.size()), at::kLong));
  };
  double misfit = 0;
  read_ahead(counts_, rows_from(0));
  for (std::size_t first = 0; first < order.size(); first += at_once) {
    read_ahead(counts_, rows_from(first + at_once));
    const auto rest = order.subspan(first);
    misfit += cpu::pie_sweep(*memory_, rest.first(std::min(at_once, rest.size())), options);
  }
  return misfit;
}

double ProjectionKernels::pie_sweep(std::span<const std::int64_t> order,
                                    const cpu::PieOptions& options) {
  if (shared_) return shared_->pie_sweep(order, options);
  if (!there_) return sweep_here(order, options);
  const at::Tensor patterns = at::tensor(at::IntArrayRef(order.data(), order.size()), at::kLong)
                                  .to(there_->object.device());
  // A step costs the same there for 8 patterns and for some hundred: 64 steps a pass, as `ml`.
  constexpr std::int64_t kSteps = 64, kMostTogether = 256;
  const std::int64_t together = std::clamp(patterns.size(0) / kSteps, batch_, kMostTogether);
  return reference::pie_sweep(*there_, patterns, together, options);
}

double ProjectionKernels::difference_map_sweep(const cpu::DifferenceMapOptions& options) {
  if (shared_) return shared_->difference_map_sweep(options);
  return there_ ? reference::difference_map_sweep(*there_, options)
                : cpu::difference_map_sweep(*memory_, options);
}

OverlapSums ProjectionKernels::overlap_waves(const cpu::DifferenceMapOptions& options) {
  OverlapSums sums{
      .change = at::empty({memory_->object.rows, memory_->object.cols}, at::kComplexFloat),
      .power = at::empty({memory_->object.rows, memory_->object.cols}, at::kFloat)};
  sums.misfit = cpu::overlap_waves(*memory_, options, numbers(sums.change), numbers(sums.power));
  return sums;
}

OverlapSums ProjectionKernels::probe_sums() {
  const std::int64_t size = memory_->context.size;
  OverlapSums sums{.change = at::empty({memory_->context.modes, size, size}, at::kComplexFloat),
                   .power = at::empty({size, size}, at::kFloat)};
  cpu::overlap_probe_sums(*memory_, numbers(sums.change), numbers(sums.power));
  return sums;
}

std::int64_t ProjectionKernels::wave_numbers() const {
  return shared_ ? shared_->wave_numbers() : waves().numel();
}

at::Tensor ProjectionKernels::waves() const {
  if (shared_) return shared_->kept_waves().waves;
  if (there_) return at::view_as_real(there_->waves).flatten(1);
  return at::from_blob(
      memory_->waves,
      {static_cast<std::int64_t>(memory_->positions.size()), memory_->mode_numbers()}, at::kFloat);
}

at::Tensor ProjectionKernels::misfit() const {
  if (shared_) return shared_->kept_waves().misfit;
  return there_ ? there_->misfit : at::tensor(memory_->misfit, at::kDouble);
}

void ProjectionKernels::load_waves(const at::Tensor& waves, const at::Tensor& misfit) {
  if (shared_) return shared_->put_waves({waves, misfit});
  if (there_) {
    require(waves.numel() == 2 * there_->probe.numel() * misfit.numel(),
            "exit waves of the checkpoint: expected {} numbers, found {}",
            2 * there_->probe.numel() * misfit.numel(), waves.numel());
    std::vector<std::int64_t> shape = at::view_as_real(there_->probe).sizes().vec();
    shape.insert(shape.begin(), misfit.size(0));
    there_->waves = at::view_as_complex(waves.view(shape));
    there_->misfit = misfit;
    return;
  }
  require(waves.sizes() == this->waves().sizes(),
          "exit waves of the checkpoint: expected {}, found {}", this->waves().sizes(),
          waves.sizes());
  this->waves().copy_(waves);
  const auto* first = numbers<double>(misfit.contiguous());
  memory_->misfit.assign(first, first + misfit.numel());
}

void ProjectionKernels::store(SolverState& state) {
  if (shared_) return shared_->store(state);
  if (there_) {
    state.object = there_->object.unsqueeze(0);
    state.probe = there_->probe.unsqueeze(0);
    return;
  }
  at::Tensor object = at::empty_like(state.object, at::MemoryFormat::Contiguous);
  at::Tensor probe = at::empty_like(state.probe, at::MemoryFormat::Contiguous);
  memory_->store_object(numbers(object));
  memory_->store_probe(numbers(probe));
  state.object = object;
  state.probe = probe;
}

}  // namespace ptyche
