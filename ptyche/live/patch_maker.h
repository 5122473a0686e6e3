// What one pattern alone says of its piece of the object, at once: a trained network's patch, or,
// without a model, that of the network's first layer, which is physics and needs no training.
#pragma once

#include <cstdint>
#include <optional>

#include "ptyche/data/scan.h"
#include "ptyche/infer/infer.h"
#include "ptyche/live/growing_canvas.h"
#include "ptyche/model/model.h"

namespace ptyche {

class PatchMaker {
 public:
  /// model  nothing = the stem alone
  /// Throws InvalidInput for a network that needs several patterns at once.
  PatchMaker(std::optional<Model> model, const InferOptions& options);

  /// Adds the patches of a part of a scan to the canvas. The first part settles what the model
  /// needs to know: its probe (ProbeSource) and the dose.
  void add_to(GrowingCanvas& canvas, const Scan& part, const std::vector<std::int64_t>& indices);

  bool has_network() const { return model_.has_value(); }
  /// What the patches were made with, (modes, N, N); undefined before the first part.
  const at::Tensor& probe() const { return probe_; }

 private:
  at::Tensor patches_of_part(const Scan& part, const at::Tensor& frames);
  std::optional<Model> model_;
  InferOptions options_;
  at::Tensor probe_;
};

}  // namespace ptyche
