#include "ptyche/physics/fourier.h"

namespace ptyche {

at::Tensor propagate(const at::Tensor& exit_waves) {
  return at::fft_fft2(exit_waves, c10::nullopt, {-2, -1}, "ortho");
}

at::Tensor back_propagate(const at::Tensor& waves) {
  return at::fft_ifft2(waves, c10::nullopt, {-2, -1}, "ortho");
}

at::Tensor to_fft_order(const at::Tensor& centred) {
  return at::fft_ifftshift(centred, at::IntArrayRef{-2, -1});
}

at::Tensor to_centred(const at::Tensor& fft_ordered) {
  return at::fft_fftshift(fft_ordered, at::IntArrayRef{-2, -1});
}

}  // namespace ptyche
