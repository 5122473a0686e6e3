#include "ptyche/report/scan_figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/data/probe.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/evaluate/pattern_fit.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/report/canvas.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPatternsLookedAt = 128;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// At most `most` of the list, spread evenly over it.
at::Tensor thinned(const at::Tensor& list, std::int64_t most) {
  if (list.size(0) <= most) return list;
  return list.index_select(0,
                           at::linspace(0, static_cast<double>(list.size(0) - 1), most, at::kDouble)
                               .round()
                               .to(at::kLong));
}

at::Tensor usable(const Scan& scan) {
  return std::get<0>(
      at::cat({scan.frames_with(FrameUse::used), scan.frames_with(FrameUse::held_out)}).sort());
}

/// Three patterns, their numbers and how much of their photons is not explained.
struct ShownPatterns {
  std::array<std::int64_t, 3> frames{};
  std::array<double, 3> misfit{};
  at::Tensor measured, modelled;  ///< (3, N, N) float64, zero frequency in the middle
};

/// Poisson deviance per photon of each of the patterns (k), masked pixels left out.
at::Tensor misfits(const ExpectedPatterns& expected, const Scan& scan, const at::Tensor& frames) {
  const at::Tensor mask = mask_in_fft_order(scan);
  std::vector<double> all;
  for (const at::Tensor& batch : in_batches(frames, scan.pattern_size()))
    for (const PatternFit& fit :
         pattern_fits(counts_in_fft_order(scan, batch), expected.of(batch), mask, false))
      all.push_back(fit.measured.deviance / std::max(fit.measured.photons, 1.0));
  return at::tensor(all, at::kDouble);
}

ShownPatterns shown_patterns(const Reconstruction& image, const Scan& scan) {
  const at::Tensor frames = thinned(usable(scan), kPatternsLookedAt);
  require(frames.numel() > 0, "no pattern is used");
  require(image.pattern_size() == scan.pattern_size(),
          "expected a probe of {0} x {0} pixels, found {1} x {1}", scan.pattern_size(),
          image.pattern_size());
  const ExpectedPatterns expected(image, scan);
  const at::Tensor misfit = misfits(expected, scan, frames);
  const at::Tensor totals = counts_of(scan, frames).to(at::kDouble).sum({1, 2});
  const std::array<std::int64_t, 3> at{
      misfit.argsort()[(misfit.numel() - 1) / 2].item<std::int64_t>(),
      misfit.argmax().item<std::int64_t>(), totals.argmax().item<std::int64_t>()};
  ShownPatterns shown;
  for (std::size_t i = 0; i < at.size(); ++i) {
    shown.frames[i] = frames[at[i]].item<std::int64_t>();
    shown.misfit[i] = misfit[at[i]].item<double>();
  }
  const at::Tensor chosen =
      at::tensor(at::ArrayRef<std::int64_t>(shown.frames.data(), 3), at::kLong);
  const at::Tensor hidden = scan.mask().logical_not();
  const std::int64_t half = scan.pattern_size() / 2;
  shown.measured = counts_of(scan, chosen).to(at::kDouble).masked_fill(hidden, kNone);
  shown.modelled =
      expected.of(chosen).to(at::kDouble).roll({half, half}, {1, 2}).masked_fill(hidden, kNone);
  return shown;
}

Figure row_of(const std::string& title, const at::Tensor& pictures,
              const std::vector<std::string>& titles, const ColourBar& bar) {
  Figure figure{.title = title, .key = bar};
  figure.axis_unit = "detector pixel";
  for (std::int64_t i = 0; i < pictures.size(0); ++i)
    figure.panels.push_back(
        {titles[static_cast<std::size_t>(i)], colours(bar.map, pictures[i], bar.low, bar.high)});
  return figure;
}

}  // namespace

PatternFigures pattern_figures(const Reconstruction& image, const Scan& scan) {
  const ShownPatterns shown = shown_patterns(image, scan);
  const at::Tensor measured = (shown.measured + 1).log10(), modelled = (shown.modelled + 1).log10();
  const at::Tensor residual =
      (shown.measured - shown.modelled) / shown.modelled.clamp_min(1).sqrt();
  const double most = std::max(measured.nan_to_num(0).max().item<double>(), 0.1);
  std::vector<std::string> titles;
  const char* const names[] = {"typical", "worst", "brightest"};
  for (std::size_t i = 0; i < 3; ++i)
    titles.push_back(fmt::format("{}: pattern {}", names[i], shown.frames[i]));
  const std::vector<std::string> untitled(3);
  const ColourBar counts{ColourMap::sequential, 0, most, "log10 (counts + 1)"};
  const ColourBar deviations{ColourMap::grey, -5, 5, "standard deviations"};
  return {
      {row_of("Measured", measured, titles, counts), row_of("Modelled", modelled, untitled, counts),
       row_of("Measured less modelled", residual, untitled, deviations)},
      fmt::format("Of {} patterns spread over the scan: the one with the median misfit ({:.3g} "
                  "of its photons unexplained, by deviance), the worst one ({:.3g}) and the "
                  "brightest one ({:.3g}). The residual is in standard deviations of the photon "
                  "noise; structure in it is what the model lacks. Masked pixels are grey.",
                  std::min(usable(scan).size(0), kPatternsLookedAt), shown.misfit[0],
                  shown.misfit[1], shown.misfit[2]),
      fmt::format("Patterns {}, {} and {}: measured, modelled, and the difference", shown.frames[0],
                  shown.frames[1], shown.frames[2])};
}

namespace {

/// From where to where the used patterns have moved, (k, 2) each, without the common shift.
struct Moves {
  at::Tensor from, to;
};

Moves moves_of(const Reconstruction& image, const Scan& scan) {
  const bool same =
      image.positions.defined() && image.positions.sizes() == scan.positions().sizes();
  const at::Tensor frames = usable(scan);
  const at::Tensor given = scan.positions().index_select(0, frames).to(at::kDouble);
  if (!same) return {given, given};
  const at::Tensor to = image.positions.index_select(0, frames).to(at::kDouble);
  return {given + (to - given).mean(0), to};
}

/// How many times longer a way is drawn so that it can be seen: 1, 2, 5, 10, ...
double magnification(const at::Tensor& lengths, double step) {
  const double usual = at::quantile(lengths, 0.95).item<double>();
  if (usual <= 0 || step <= 0) return 1;
  return std::max(1.0, round_length(0.7 * step / usual));
}

}  // namespace

Movement movement(const Reconstruction& image, const Scan& scan) {
  const Moves moves = moves_of(image, scan);
  const at::Tensor squares = (moves.to - moves.from).square().sum(1);
  if (squares.numel() == 0) return {};
  return {std::sqrt(squares.mean().item<double>()), std::sqrt(squares.max().item<double>())};
}

std::string corrected_positions(const Reconstruction& image) {
  std::vector<std::string> words;
  for (const Remark& remark : image.provenance.remarks)
    if (remark.kind == Remark::Kind::correction && remark.cause.starts_with("positions: "))
      words.push_back(remark.cause.substr(11) + (remark.after.empty() ? "" : ", " + remark.after));
  return fmt::format("{}", fmt::join(words, "; "));
}

namespace {

std::string those_of_the_file(const Reconstruction& image) {
  const std::string corrected = corrected_positions(image);
  return corrected.empty() ? " They are those of the file."
                           : fmt::format(" They are those of the file, corrected: {}.", corrected);
}

}  // namespace

CaptionedFigure positions_figure(const Reconstruction& image, const Scan& scan) {
  constexpr std::int64_t kMostDrawn = 4000;
  CaptionedFigure drawn = phase_figure(image);
  drawn.figure.title = "Positions";
  const Moves all = moves_of(image, scan);
  const at::Tensor origin = at::tensor(
      {static_cast<double>(image.origin_row), static_cast<double>(image.origin_col)}, at::kDouble);
  const at::Tensor to = thinned(all.to, kMostDrawn) - origin;
  const at::Tensor way = thinned(all.to - all.from, kMostDrawn);
  const double times = magnification(way.square().sum(1).sqrt(), median_step_px(scan.positions()));
  const at::Tensor from = to - times * way;
  for (std::int64_t i = 0; i < to.size(0); ++i)
    drawn.figure.panels[0].marks.push_back({from[i][0].item<double>(), from[i][1].item<double>(),
                                            to[i][0].item<double>(), to[i][1].item<double>()});
  const Movement moved = movement(image, scan);
  drawn.caption = fmt::format("{} positions on the phase.", all.to.size(0));
  drawn.caption +=
      moved.largest_px == 0
          ? those_of_the_file(image)
          : fmt::format(
                " Lines lead from the positions before the solve, {}; they moved by {:.2g} px "
                "(root mean square), {:.2g} px at most.",
                times > 1 ? fmt::format("{:.0f} times as long as they are", times)
                          : std::string("in true length"),
                moved.rms_px, moved.largest_px);
  drawn.alt = fmt::format("Positions of the patterns on the object's phase, moved by {:.2g} px",
                          moved.rms_px);
  return drawn;
}

}  // namespace ptyche
