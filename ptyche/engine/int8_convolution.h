// Convolutions of bytes, which processors multiply several times as fast as floats: for the layers
// of a network that is not trained any more.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/engine/norm_gelu.h"

namespace ptyche {

/// True if the processor adds up products of bytes without overflow (AVX-512 or AVX VNNI), and
/// LibTorch was built with such convolutions.
bool processor_multiplies_bytes();

/// A 3 x 3 convolution with a border of zeros whose weights are whole multiples, -127..127, of one
/// number for each feature that comes out (Krishnamoorthi, arXiv 1806.08342, section 3.1). For
/// processors that multiply bytes.
class Int8Convolution {
 public:
  ///   weight  (out, in, 3, 3) float32, finite
  ///   bias    (out) float32
  ///   units   of the bytes that go in
  Int8Convolution(const at::Tensor& weight, const at::Tensor& bias, const ByteUnits& units);

  const ByteUnits& units() const { return units_; }

  /// Of bytes (k, in, rows, cols) uint8 the values (k, out, rows, cols) of `type`, float32 or
  /// bfloat16; features innermost in both. The same for any number of images at a time.
  at::Tensor operator()(const at::Tensor& bytes, at::ScalarType type) const;

 private:
  ByteUnits units_;
  at::Tensor weight_, scale_, zero_, bias_;  // weights in the library's own order
};

}  // namespace ptyche
