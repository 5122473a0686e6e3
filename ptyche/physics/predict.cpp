#include "ptyche/physics/predict.h"

#include "ptyche/physics/exit_wave.h"
#include "ptyche/physics/fourier_shift.h"
#include "ptyche/physics/measure.h"
#include "ptyche/physics/patches.h"
#include "ptyche/physics/to_detector.h"

namespace ptyche {

at::Tensor predict_intensity(const at::Tensor& object, const at::Tensor& probe,
                             const at::Tensor& positions, Interpolation interpolation,
                             const at::Tensor& background, const NearFieldOptions& near) {
  const std::int64_t size = probe.size(-1);
  const at::Tensor corners = positions - static_cast<double>(size / 2);
  if (interpolation == Interpolation::bilinear)
    return measure(to_detector(exit_wave(probe, extract_patches(object, corners, size)), near),
                   background);
  const at::Tensor whole = corners.round();
  const at::Tensor moved_probe = fourier_shift(probe, corners - whole);
  const at::Tensor waves = exit_wave(moved_probe, extract_patches(object, whole, size));
  return measure(to_detector(waves, near, corners - whole), background);
}

}  // namespace ptyche
