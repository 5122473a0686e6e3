#include "ptyche/prepare/phase_energy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/prepare/shadow_defocus.h"

namespace ptyche {
namespace {

constexpr std::int64_t kMostInEnergy = std::int64_t{1} << 22, kFewestInEnergy = 144;
constexpr double kBeyondRim = 2.1;  // of the bright disk: products of two waves reach twice as far
constexpr double kFarthestPair = 0.45;  // of the window: farther ones see nothing together
constexpr std::size_t kMostSteps = 180;
constexpr double kBrightDisk = 0.25;   // of its level: below it light is scattered
constexpr double kRimOfProbe = 1.2;    // q^2: what lies beyond is scattered light
constexpr double kWidestProbe = 0.35;  // radius over the window
constexpr std::array<std::uint32_t, 2> kKeyOfSigns = {0x7369676e, 0x73};

/// Numbers of the patterns in the raster's middle, as many as are enough; its new shape.
std::pair<at::Tensor, RasterShape> middle(const RasterShape& shape, std::int64_t size) {
  const auto enough = static_cast<std::int64_t>(
      std::sqrt(static_cast<double>(std::max(kFewestInEnergy, kMostInEnergy / (size * size)))));
  const RasterShape part{std::min(shape.rows, enough), std::min(shape.cols, enough)};
  const at::Tensor all = at::arange(shape.rows * shape.cols).view({shape.rows, shape.cols});
  return {all.narrow(0, (shape.rows - part.rows) / 2, part.rows)
              .narrow(1, (shape.cols - part.cols) / 2, part.cols)
              .reshape(-1),
          part};
}

/// The even size around the zero frequency that holds the bright disk and what is around it.
std::int64_t enough_of_detector(const Aperture& aperture, std::int64_t size) {
  const double half = static_cast<double>(size) / 2;
  const double off = std::max(std::abs(aperture.row - half), std::abs(aperture.col - half));
  const auto reach = static_cast<std::int64_t>(std::ceil(kBeyondRim * aperture.radius_px + off));
  return std::min(size, 2 * reach);
}

/// The aperture without the dim light around it.
Aperture bright_disk(const at::Tensor& mean, const at::Tensor& mask) {
  Aperture found = aperture_of(mean, mask);
  const double level = at::quantile(mean.masked_select(found.lit), 0.95).item<double>();
  found.lit = found.lit.logical_and(mean.gt(kBrightDisk * level));
  found.radius_px =
      std::sqrt(static_cast<double>(found.lit.sum().item<std::int64_t>()) / std::numbers::pi);
  return found;
}

/// Steps of half a plane, the nearest ones.
std::vector<std::pair<std::int64_t, std::int64_t>> nearest_steps(const RasterShape& shape,
                                                                 double most) {
  std::vector<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t i = 0; i < shape.rows; ++i)
    for (std::int64_t j = 1 - shape.cols; j < shape.cols; ++j)
      if ((i > 0 || j > 0) && std::hypot(i, j) <= most) all.emplace_back(i, j);
  std::ranges::stable_sort(all, {}, [](const auto& step) {
    return step.first * step.first + step.second * step.second;
  });
  all.resize(std::min(all.size(), kMostSteps));
  return all;
}

/// Rad, of q^2 at each pixel.
at::Tensor rad(const Aberrations& aberrations, const at::Tensor& square) {
  return (aberrations.defocus * square + aberrations.spherical * square.square()).to(at::kFloat);
}

/// sum conj(a) b of n values.
void add_product(const c10::complex<float>* a, const c10::complex<float>* b, std::int64_t n,
                 c10::complex<float>* sum) {
  for (std::int64_t k = 0; k < n; ++k) {
    const float re = a[k].real() * b[k].real() + a[k].imag() * b[k].imag();
    const float im = a[k].real() * b[k].imag() - a[k].imag() * b[k].real();
    sum[k] = {sum[k].real() + re, sum[k].imag() + im};
  }
}

}  // namespace

PhaseEnergy::PhaseEnergy(const Scan& scan, const Chosen& chosen) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const at::Tensor whole = mean_pattern(scan, used).to(at::kDouble);
  const Aperture aperture = bright_disk(whole, scan.mask());
  radius_px_ = aperture.radius_px;
  const std::int64_t full = scan.pattern_size();
  size_ = enough_of_detector(aperture, full);
  const std::int64_t first = (full - size_) / 2;
  const Window window = window_ = {first, first + size_, first, first + size_};
  const at::Tensor numbers = chosen(size_);
  positions_ = scan.positions().index_select(0, numbers) *
               (static_cast<double>(size_) / static_cast<double>(full));
  const at::Tensor lit = cut(aperture.lit, window), mean = cut(whole, window) + 1e-30;
  const at::Tensor counts = cut(counts_of(scan, numbers), window).to(at::kFloat);
  const at::Tensor is_used =
      scan.frame_use().index_select(0, numbers).eq(0).to(at::kFloat).view({-1, 1, 1});
  const at::Tensor root = (mean.sqrt() * lit).to(at::kFloat);
  const at::Tensor over = (lit / mean.sqrt()).to(at::kFloat);
  residual_ = to_fft_order(((counts - mean.to(at::kFloat)) * over * is_used)).contiguous();
  amplitude_ = to_fft_order(root).contiguous();
  const at::Tensor axis = at::arange(full, at::kDouble);
  const at::Tensor square =
      ((axis - aperture.row).square().unsqueeze(1) + (axis - aperture.col).square().unsqueeze(0)) /
      (radius_px_ * radius_px_);
  square_ = to_fft_order(cut(square, window)).contiguous();
  whole_square_ = to_fft_order(square).to(at::kFloat).contiguous();
  whole_amplitude_ =
      to_fft_order(whole.sqrt() * scan.mask() * square.lt(kRimOfProbe)).to(at::kFloat).contiguous();
  const at::Tensor row = at::fft_fftfreq(size_, 1.0, at::kDouble).unsqueeze(1),
                   col = at::fft_rfftfreq(size_, 1.0, at::kDouble).unsqueeze(0);
  const double outermost = 2 * radius_px_ / static_cast<double>(size_);
  const at::Tensor ring =
      (at::hypot(row, col) / outermost * static_cast<double>(kRings)).floor().to(at::kLong);
  const at::Tensor alone = col.eq(0).logical_or(col.eq(0.5)).expand_as(ring);
  kept_ = ring.lt(kRings).reshape(-1).nonzero().reshape(-1);
  const auto pick = [&](const at::Tensor& all) {
    return all.expand_as(ring).reshape(-1).index_select(0, kept_).contiguous();
  };
  ring_ = pick(ring);
  weight_ = 2 - pick(alone).to(at::kDouble);
  row_ = pick(row * (2 * std::numbers::pi)).to(at::kFloat);
  col_ = pick(col * (2 * std::numbers::pi)).to(at::kFloat);
}

at::Tensor PhaseEnergy::probe(const Aberrations& aberrations) const {
  const at::Tensor wave = at::polar(whole_amplitude_, rad(aberrations, whole_square_));
  return to_centred(at::fft_ifft2(wave, c10::nullopt, {-2, -1}, "ortho")).unsqueeze(0);
}

double PhaseEnergy::most_defocus() const { return std::numbers::pi * kWidestProbe * radius_px_; }

PhaseGradients PhaseEnergy::gradients(const Aberrations& aberrations) const {
  return gradients(rad(aberrations, square_));
}

at::Tensor PhaseEnergy::phase_of(const at::Tensor& probe) const {
  const at::Tensor wave = at::fft_fft2(to_fft_order(probe[0]), c10::nullopt, {-2, -1}, "ortho");
  return to_fft_order(cut(to_centred(wave).angle(), window_)).contiguous();
}

PhaseGradients PhaseEnergy::gradients(const at::Tensor& phase) const {
  const at::Tensor turn = at::polar(at::ones_like(phase), phase);
  const at::Tensor probe = at::fft_ifft2(amplitude_ * turn, c10::nullopt, {-2, -1}, "ortho");
  at::Tensor gradients =
      at::imag(at::fft_ifft2(residual_ * turn, c10::nullopt, {-2, -1}, "ortho") * probe.conj());
  const at::Tensor spectra = at::fft_rfft2(gradients, c10::nullopt, {-2, -1}, "ortho")
                                 .flatten(1)
                                 .index_select(1, kept_)
                                 .contiguous();
  return {spectra,
          at::view_as_real(spectra).square().sum(at::IntArrayRef{0, 2}).to(at::kDouble) * weight_};
}

at::Tensor PhaseEnergy::random_signs(std::int64_t n, std::uint32_t draw) {
  std::vector<float> signs;
  for (std::int64_t i = 0; i < n; ++i)
    signs.push_back(philox({static_cast<std::uint32_t>(i), draw, 0, 0}, kKeyOfSigns)[0] % 2 == 0
                        ? -1.0F
                        : 1.0F);
  return at::tensor(signs);
}

PhaseGradients PhaseEnergy::with_random_signs(const PhaseGradients& gradients) const {
  const at::Tensor signs = random_signs(gradients.spectra.size(0));
  return {(gradients.spectra * signs.unsqueeze(1)).contiguous(), gradients.powers};
}

at::Tensor PhaseEnergy::maps(const PhaseGradients& gradients,
                             const std::vector<double>& factors) const {
  const at::Tensor factor = at::tensor(factors).to(at::kFloat).index_select(0, ring_);
  const std::int64_t n = gradients.spectra.size(0), columns = size_ / 2 + 1;
  const at::Tensor spectra = at::zeros({n, size_ * columns}, at::kComplexFloat)
                                 .index_copy(1, kept_, gradients.spectra * factor);
  return at::fft_fftshift(at::fft_irfft2(spectra.view({n, size_, columns}),
                                         at::IntArrayRef{size_, size_}, {-2, -1}, "ortho"),
                          at::IntArrayRef{-2, -1})
      .contiguous();
}

std::vector<double> PhaseEnergy::in_rings(const at::Tensor& values) const {
  return to_vector(at::zeros({kRings}, at::kDouble).index_add(0, ring_, values));
}

RasterEnergy::RasterEnergy(const Scan& scan, const RasterShape& shape)
    : PhaseEnergy(scan, [&](std::int64_t size) { return middle(shape, size).first; }),
      shape_(middle(shape, size_).second) {
  const at::Tensor places = scan.positions();
  step_ = (places[1] - places[0]).norm().item<double>() * static_cast<double>(size_) /
          static_cast<double>(scan.pattern_size());
  steps_ = nearest_steps(shape_, kFarthestPair * static_cast<double>(size_) / step_);
}

at::Tensor RasterEnergy::pairs(const PhaseGradients& gradients) const {
  const std::int64_t values = row_.size(0);
  at::Tensor sums =
      at::zeros({static_cast<std::int64_t>(steps_.size()), values}, at::kComplexFloat);
  const auto* all = gradients.spectra.const_data_ptr<c10::complex<float>>();
  auto* sum = sums.data_ptr<c10::complex<float>>();
  for (const auto& [down, right] : steps_) {
    for (std::int64_t i = 0; i + down < shape_.rows; ++i)
      for (std::int64_t j = std::max<std::int64_t>(0, -right);
           j < std::min(shape_.cols, shape_.cols - right); ++j) {
        const std::int64_t at = i * shape_.cols + j;
        add_product(all + at * values, all + (at + down * shape_.cols + right) * values, values,
                    sum);
      }
    sum += values;
  }
  return sums;
}

at::Tensor RasterEnergy::energy(const at::Tensor& pairs, double degrees, bool transposed) const {
  const double angle = degrees * std::numbers::pi / 180;
  std::vector<float> rows, cols;
  for (const auto& [down, right] : steps_) {
    const auto i = static_cast<double>(down) * step_, j = static_cast<double>(right) * step_;
    rows.push_back(static_cast<float>(i * std::cos(angle) + j * std::sin(angle)));
    cols.push_back(static_cast<float>(j * std::cos(angle) - i * std::sin(angle)));
  }
  if (transposed) std::swap(rows, cols);
  const at::Tensor phase =
      at::tensor(rows).unsqueeze(1) * row_ + at::tensor(cols).unsqueeze(1) * col_;
  const at::Tensor sum = (at::real(pairs) * phase.cos() + at::imag(pairs) * phase.sin()).sum(0);
  return 2 * sum.to(at::kDouble) * weight_;
}

}  // namespace ptyche
