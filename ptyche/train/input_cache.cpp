#include "ptyche/train/input_cache.h"

namespace ptyche {

InputCache::InputCache(const Model& model, const Scan& scan, Engine engine)
    : model_(model), scan_(scan), engine_(engine) {
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const auto floats =
      static_cast<double>(used.size(0) * scan.pattern_size() * scan.pattern_size()) *
      static_cast<double>(model.network_options.channels + 1);
  if (4 * floats > kCacheBytes) return;
  row_of_frame_ = at::full({scan.frames()}, -1, at::kLong);
  row_of_frame_.index_put_({used}, at::arange(used.size(0), at::kLong));
  channels_ = input_channels(model, scan, used, engine);
  counts_ = counts_in_fft_order(scan, used);
}

at::Tensor InputCache::channels(const at::Tensor& frames) const {
  if (!channels_.defined()) return input_channels(model_, scan_, frames, engine_);
  return channels_.index_select(0, row_of_frame_.index_select(0, frames))
      .contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor InputCache::counts(const at::Tensor& frames) const {
  if (!counts_.defined()) return counts_in_fft_order(scan_, frames);
  return counts_.index_select(0, row_of_frame_.index_select(0, frames));
}

}  // namespace ptyche
