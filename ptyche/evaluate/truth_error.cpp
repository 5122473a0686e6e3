#include "ptyche/evaluate/truth_error.h"

#include "ptyche/core/log.h"
#include "ptyche/evaluate/compare.h"
#include "ptyche/evaluate/image_error.h"
#include "ptyche/evaluate/lit_window.h"

namespace ptyche {

std::optional<Comparison> truth_error(const at::Tensor& truth, const Reconstruction& image) {
  const std::optional<Window> window = truth_window(truth, image);
  if (!window || is_constant(cut(truth.to(at::kComplexDouble), *window))) {
    warn("no comparison with the truth: {}", window ? "it is constant where the scan lights it"
                                                    : "the scan lights too little of its middle");
    return std::nullopt;
  }
  Reconstruction reference;
  reference.object = truth;
  return compare(image, reference, window).comparison;
}

}  // namespace ptyche
