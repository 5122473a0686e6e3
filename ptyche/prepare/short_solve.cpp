#include "ptyche/prepare/short_solve.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/solve/solve.h"

namespace ptyche {
namespace {

constexpr std::int64_t kHeldOutOneIn = 8, kFirstHeldOut = 3;
constexpr std::int64_t kNever = 1'000'000;

HeldOutFit held_out_fit(const Reconstruction& image, const Scan& scan) {
  const at::Tensor held = scan.frames_with(FrameUse::held_out);
  const DataFit fit = data_fit(image, scan, held, true);
  return {fit.deviance_per_photon, fit.deviance_per_photon_floor,
          trivial_fit(scan, held, true).mean_pattern_deviance_per_photon};
}

}  // namespace

at::Tensor middle_frames(const Scan& scan, std::int64_t most) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const at::Tensor positions = scan.positions().index_select(0, used);
  const at::Tensor middle = std::get<0>(positions.median(0));
  const at::Tensor order = (positions - middle).square().sum(1).argsort();
  const std::int64_t kept = 10 * used.size(0) > 13 * most ? most : used.size(0);
  return used.index_select(0, order.slice(0, 0, kept));
}

Scan middle_of(const Scan& scan, std::int64_t most) {
  const at::Tensor frames = middle_frames(scan, most);
  ScanFields fields = scan.fields();
  fields.counts = counts_of(scan, frames);
  fields.shared.reset();
  fields.positions = scan.positions().index_select(0, frames);
  fields.true_positions = fields.truth = at::Tensor();
  fields.frame_use = at::zeros({frames.size(0)}, at::kByte);
  fields.frame_use.slice(0, kFirstHeldOut, {}, kHeldOutOneIn)
      .fill_(static_cast<int>(FrameUse::held_out));
  return Scan(std::move(fields));
}

std::optional<ShortSolve> solve_shortly(const Scan& scan, const at::Tensor& probe,
                                        const Chain& chain) {
  return solve_shortly(scan, probe, SolverOptions{.chain = chain});
}

std::optional<ShortSolve> solve_shortly(const Scan& scan, const at::Tensor& probe,
                                        SolverOptions options) {
  options.every = kNever;
  const Silence silence;
  const at::NoGradGuard no_grad;
  try {
    const at::Tensor used = scan.frames_with(FrameUse::used);
    const Scan own = scan.with_probe(
        calibrate_probe(probe.to(at::kComplexFloat), scan.counts(), scan.mask(), used, 0));
    const SolveResult result = solve(own, {}, options);
    if (result.end != ChainEnd::done) return std::nullopt;
    const HeldOutFit fit = held_out_fit(result.image, own);
    if (!std::isfinite(fit.deviance)) return std::nullopt;
    return ShortSolve{fit, result.image};
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

}  // namespace ptyche
