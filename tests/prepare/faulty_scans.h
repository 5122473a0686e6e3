// Simulated scans and what can be wrong with them.
#pragma once

#include <string>
#include <utility>

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
