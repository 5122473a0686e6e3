// What an image foretells of a scan's patterns.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/physics/forward_model.h"

namespace ptyche {

/// The image's own positions where they are of this scan (its SHA-256, or all within 32 px of the
/// given ones), else the scan's: (n, 2) float64.
const at::Tensor& refined_positions(const Reconstruction& image, const Scan& scan);

/// Frames (k) in pieces of at most 2^21 pixels, or of one pattern.
std::vector<at::Tensor> in_batches(const at::Tensor& frames, std::int64_t pattern_size);

/// The counts that an image's object, probe, positions, background and intensities foretell for
/// patterns of a scan, in the object's precision. Beyond the object there is empty space (1 + 0i).
/// Where an image with intensities has none of a pattern, as of those held out, the pattern's own
/// total is its measure.
class ExpectedPatterns {
 public:
  ExpectedPatterns(const Reconstruction& image, const Scan& scan);
  /// frames (k) int64 of the scan: (k, N, N) real counts in FFT order.
  at::Tensor of(const at::Tensor& frames) const;

 private:
  at::ScalarType real_type() const { return c10::toRealValueType(probe_.scalar_type()); }
  at::Tensor indices_of(const at::Tensor& frames) const;
  at::Tensor factors_of(const at::Tensor& frames, const at::Tensor& expected) const;

  Scan scan_;
  at::Tensor padded_, probe_, background_, positions_, intensities_;
  at::Tensor origin_, size_;  ///< of the object: (2) float64
  Interpolation interpolation_;
  Propagation propagation_;
};

}  // namespace ptyche
