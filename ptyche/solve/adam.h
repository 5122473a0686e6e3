// How arrays, which may be complex, move along noisy directions: Adam and momentum.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>

#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// Running means of one array's gradient and of its squared magnitude; empty before the first step.
struct ComplexAdam {
  at::Tensor mean, square;
  std::int64_t steps = 0;
};

struct ComplexAdamOptions {
  double keep_mean = 0.9, keep_square = 0.99;  ///< shares of the old means that a step keeps
  double floor = 0.001;    ///< share of the largest root mean square: damps what no pattern lights
  double epsilon = 1e-12;  ///< least value of that floor, in units of the gradient
};

/// One step of Adam (Kingma & Ba, ICLR 2015, algorithm 1) with one second moment |g|^2 per complex
/// number, so that a change of phase changes nothing: value -= rate mean / (sqrt(square) + floor).
/// `value` float32, float64 or complex64, dense in any order of its axes, written in place; the
/// gradient of the same shape. Where one axis has grown, the new entries begin with the
/// squares of the first one; a value of any other shape than before starts anew.
void adam_step(at::Tensor& value, const at::Tensor& gradient, ComplexAdam& moments, double rate,
               const ComplexAdamOptions& options = {});

/// Under `path` in a checkpoint. Nothing is written, and empty moments are read, before the first
/// step. Throws InvalidInput unless they are finite and, read, of the shape of `value`.
void write_adam(Hdf5File& file, const std::string& path, const ComplexAdam& moments);
ComplexAdam read_adam(const Hdf5File& file, const std::string& path, const at::Tensor& value);

/// What is added to a value whose velocity <- momentum velocity + step along.
enum class Momentum {
  heavy_ball,  ///< the velocity
  nesterov,    ///< step along + momentum velocity (Maiden, Johnson & Li, Optica 4, 736 (2017), 2C)
};

/// All complex64, of one shape and dense; value and velocity are written in place.
void momentum_step(at::Tensor& value, at::Tensor& velocity, const at::Tensor& along, double step,
                   double momentum, Momentum rule);

}  // namespace ptyche
