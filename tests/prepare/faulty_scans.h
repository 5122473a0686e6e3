// Simulated scans and what can be wrong with them.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/data/probe.h"
#include "ptyche/prepare/findings.h"
#include "ptyche/simulate/simulate.h"

namespace ptyche {

/// A curved probe on a sample that shows its shadow, 100 patterns of 64 x 64.
inline SimulateOptions usual_scan() {
  return {.frames = 100, .step_px = 5, .photons = 1e5, .seed = 5};
}

/// It, simulated once.
inline const Scan& good_scan() {
  static const Scan scan = simulate(usual_scan());
  return scan;
}

/// The fields without what only a simulation knows.
inline ScanFields fields_of(const Scan& scan) {
  ScanFields fields = scan.fields();
  fields.truth = fields.true_positions = at::Tensor();
  return fields;
}

/// The scan as a file without a probe gives it.
inline Scan without_probe(const Scan& scan) {
  ScanFields fields = scan.fields();
  fields.probe = probe_of_mean_pattern(scan.counts(), scan.mask(), at::arange(scan.frames()),
                                       /*near_field=*/false);
  fields.probe_given = false;
  return Scan(std::move(fields));
}

inline Scan with_counts(const Scan& scan, const at::Tensor& counts) {
  ScanFields fields = fields_of(scan);
  fields.counts = counts;
  return Scan(fields);
}

/// Positions r -> M r about their mean.
inline Scan turned(const Scan& scan, double row_row, double row_col, double col_row,
                   double col_col) {
  const at::Tensor mean = scan.positions().mean(0), away = scan.positions() - mean;
  const at::Tensor row = away.select(1, 0), col = away.select(1, 1);
  ScanFields fields = fields_of(scan);
  fields.positions =
      (at::stack({row_row * row + row_col * col, col_row * row + col_col * col}, 1) + mean)
          .contiguous();
  return Scan(fields);
}

/// A lens of `radius` detector pixels whose light is `wide` object pixels wide at the sample, and
/// in focus far away: (1, 64, 64) complex64.
inline at::Tensor lens_of(double radius, double wide) {
  const at::Tensor axis = at::arange(64, at::kDouble) - 32;
  const at::Tensor square = axis.square().unsqueeze(1) + axis.square();
  const at::Tensor lens = at::polar(square.lt(radius * radius).to(at::kDouble),
                                    M_PI * wide / (2 * radius * 64) * square);
  return at::fft_fftshift(at::fft_ifft2(at::fft_ifftshift(lens)))
      .unsqueeze(0)
      .to(at::kComplexFloat);
}

/// What `probe` (1, N, N) sees of `object` at whole pixels, without noise, some 1e5 counts each, as
/// the usual scan lies.
inline Scan measured(const at::Tensor& probe, const at::Tensor& object) {
  ScanFields fields = fields_of(good_scan());
  const std::int64_t size = probe.size(-1);
  fields.positions = fields.positions.round();
  const at::Tensor first = (fields.positions - static_cast<double>(size / 2)).to(at::kLong);
  std::vector<at::Tensor> patterns;
  for (std::int64_t k = 0; k < first.size(0); ++k) {
    const auto row = first[k][0].item<std::int64_t>(), col = first[k][1].item<std::int64_t>();
    const at::Tensor exit = probe[0] * object.narrow(0, row, size).narrow(1, col, size);
    patterns.push_back(at::fft_fftshift(at::fft_fft2(exit).abs().square()));
  }
  fields.counts = (1e5 * at::stack(patterns) / patterns[0].sum()).round().to(at::kFloat);
  fields.probe = calibrate_probe(probe, fields.counts, fields.mask, at::arange(first.size(0)), 0);
  return Scan(std::move(fields));
}

inline std::string causes_above_a_note(const Diagnosis& diagnosis) {
  std::string causes;
  for (const Finding& each : diagnosis.findings)
    if (each.level != Level::note) causes += each.cause + "; ";
  return causes;
}

/// Largest distance between two lists of positions after their means were brought together.
inline double apart(const at::Tensor& one, const at::Tensor& other) {
  return ((one - one.mean(0)) - (other - other.mean(0))).abs().max().item<double>();
}

}  // namespace ptyche
