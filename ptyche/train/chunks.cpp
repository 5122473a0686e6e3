#include "ptyche/train/chunks.h"

#include <ATen/ThreadLocalState.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "ptyche/core/parallel.h"

namespace ptyche {

Chunks::Chunks(std::int64_t patterns, std::int64_t together, const ChunkFunction& function)
    : outputs_(static_cast<std::size_t>((patterns + together - 1) / together)) {
  const at::ThreadLocalState of_caller;  // whether gradients are wanted
  side_by_side(static_cast<std::int64_t>(outputs_.size()), [&](std::int64_t chunk) {
    const at::ThreadLocalStateGuard as_caller(of_caller);
    const std::int64_t first = chunk * together;
    outputs_[static_cast<std::size_t>(chunk)] =
        function(first, std::min(together, patterns - first));
  });
  const bool wants_gradient = outputs_.front().requires_grad();
  const at::NoGradGuard no_grad;
  whole_ = at::cat(outputs_);
  whole_.requires_grad_(wants_gradient);
}

void Chunks::backward(const std::vector<at::Tensor>& weights) {
  if (!whole_.grad().defined()) return;
  std::vector<std::vector<at::Tensor>> gradients(outputs_.size());
  std::vector<std::int64_t> rows;
  for (const at::Tensor& output : outputs_) rows.push_back(output.size(0));
  const std::vector<at::Tensor> slopes = whole_.grad().split_with_sizes(rows);
  const at::ThreadLocalState of_caller;  // who counts what is computed
  side_by_side(static_cast<std::int64_t>(outputs_.size()), [&](std::int64_t chunk) {
    const at::ThreadLocalStateGuard as_caller(of_caller);
    const auto own = static_cast<std::size_t>(chunk);
    gradients[own] = torch::autograd::grad({outputs_[own]}, weights, {slopes[own]},
                                           /*retain_graph=*/false, /*create_graph=*/false,
                                           /*allow_unused=*/true);
    outputs_[own] = at::Tensor();
  });
  for (const std::vector<at::Tensor>& own : gradients)
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!own[i].defined()) continue;
      if (weights[i].grad().defined())
        weights[i].mutable_grad().add_(own[i]);
      else
        weights[i].mutable_grad() = own[i];
    }
}

}  // namespace ptyche
