// The shipped network's layers beside the same ones by LibTorch's plain operations (PyTorch's eager
// mode without its interpreter): the same weights, the same input, in turn.
//
//   layers_bench [threads = 1] [N = 64]
//
// Inference: the network's forward pass. Training: forward and backward, to every weight, of the
// sum of squares of what comes out. Neither has physics in it: no stem, no merge, no loss of ours.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/machine_speed.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/nn/patch_network.h"

namespace ptyche {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::int64_t kGroups = 8;

/// Our U-Net (ptyche/nn/unet.cpp) as one writes it down in PyTorch.
class PlainNetwork {
 public:
  PlainNetwork(const PatchNetwork& network, const NetworkOptions& options)
      : options_(options), weights_(network.named_parameters()) {}

  at::Tensor forward(const at::Tensor& channels) const {
    at::Tensor x =
        at::pixel_unshuffle(channels, options_.stride).contiguous(at::MemoryFormat::ChannelsLast);
    x = convolution("entry", x, 1, 1);
    const std::size_t levels = options_.widths.size();
    std::vector<at::Tensor> kept;
    for (std::size_t level = 0; level < levels; ++level) {
      x = blocks("encoder", level, x);
      if (level + 1 == levels) break;
      kept.push_back(x);
      x = convolution(fmt::format("down_{}", level), x, 2, 0);
    }
    for (std::size_t level = levels - 1; level-- > 0;) {
      const at::Tensor up = convolution(fmt::format("up_{}", level), x, 1, 0);
      x = blocks(
          "decoder", level,
          kept[level] + at::upsample_nearest2d(up, std::vector{2 * up.size(2), 2 * up.size(3)}));
    }
    const at::Tensor correction =
        at::pixel_shuffle(convolution("head", norm_gelu("head_norm", x), 1, 1), options_.stride);
    const at::Tensor skip = channels.slice(1, options_.skip_channel, options_.skip_channel + 2);
    const at::Tensor object = correction.to(at::kFloat) + weights_["gain"] * skip;
    return at::complex(1 + object.select(1, 0), object.select(1, 1));
  }

 private:
  at::Tensor convolution(const std::string& name, const at::Tensor& x, std::int64_t stride,
                         std::int64_t padding) const {
    return at::conv2d(x, weights_[name + ".weight"], weights_[name + ".bias"], stride, padding);
  }
  at::Tensor norm_gelu(const std::string& name, const at::Tensor& x) const {
    return at::gelu(
        at::group_norm(x, kGroups, weights_[name + ".weight"], weights_[name + ".bias"], kEpsilon));
  }
  at::Tensor blocks(const char* side, std::size_t level, at::Tensor x) const {
    for (std::int64_t i = 0; i < options_.blocks; ++i) {
      const std::string name = fmt::format("{}_{}_{}", side, level, i);
      const at::Tensor inner =
          convolution(name + ".first", norm_gelu(name + ".first_norm", x), 1, 1);
      x = x + convolution(name + ".second", norm_gelu(name + ".second_norm", inner), 1, 1);
    }
    return x;
  }

  NetworkOptions options_;
  torch::OrderedDict<std::string, at::Tensor> weights_;
};

using Forward = std::function<at::Tensor(const at::Tensor&)>;

at::Tensor shown(const Forward& forward, const at::Tensor& channels, Precision precision) {
  const at::NoGradGuard no_grad;
  const Autocast autocast(precision);
  return forward(channels);
}

void learn(const Forward& forward, const PatchNetwork& network, const at::Tensor& channels,
           Precision precision) {
  for (const at::Tensor& weight : network.parameters()) weight.mutable_grad() = at::Tensor();
  const Autocast autocast(precision);
  at::view_as_real(forward(channels)).square().sum().backward();
}

/// The fastest of `rounds` calls of each, in turn, so that both meet the same machine.
std::pair<double, double> in_turn(const std::function<void()>& one,
                                  const std::function<void()>& other, int rounds = 15) {
  one();
  other();
  std::pair best{1e9, 1e9};
  for (int round = 0; round < rounds; ++round) {
    best.first = std::min(best.first, seconds_of(one));
    best.second = std::min(best.second, seconds_of(other));
  }
  return best;
}

void row(const std::string& what, std::int64_t patterns, std::pair<double, double> seconds) {
  const auto count = static_cast<double>(patterns);
  std::printf("%-34s %8.0f %10.0f %8.2f\n", what.c_str(), count / seconds.first,
              count / seconds.second, seconds.second / seconds.first);
  std::fflush(stdout);
}

void run(int threads, std::int64_t size) {
  at::set_num_threads(threads);
  const Model model = shipped_model();
  const NetworkOptions& options = model.network_options;
  const Forward ours = [&](const at::Tensor& x) { return model.network->forward(x); };
  const PlainNetwork plain(*model.network, options);
  const Forward theirs = [&](const at::Tensor& x) { return plain.forward(x); };
  std::printf("%-34s %8s %10s %8s   (patterns/s, %d threads, N = %d)\n", "layers", "ours",
              "LibTorch", "ratio", threads, static_cast<int>(size));
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    for (const std::int64_t batch : {4, 8, 16, 64}) {
      const at::Tensor x = at::randn({batch, options.channels, size, size});
      const double apart =
          (shown(ours, x, precision) - shown(theirs, x, precision)).abs().max().item<double>();
      row(fmt::format("inference {} {} at a time", to_string(precision), batch), batch,
          in_turn([&] { shown(ours, x, precision); }, [&] { shown(theirs, x, precision); }));
      std::printf("   largest difference %.2g\n", apart);
    }
    for (const std::int64_t batch : {4, 8, 16}) {
      const at::Tensor x = at::randn({batch, options.channels, size, size});
      row(fmt::format("training {} {} a step", to_string(precision), batch), batch,
          in_turn([&] { learn(ours, *model.network, x, precision); },
                  [&] { learn(theirs, *model.network, x, precision); }));
    }
  }
}

}  // namespace
}  // namespace ptyche

int main(int argc, char** argv) {
  ptyche::run(argc > 1 ? std::atoi(argv[1]) : 1, argc > 2 ? std::atoll(argv[2]) : 64);
}
