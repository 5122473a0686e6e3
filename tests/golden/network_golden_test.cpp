// Family n: PtychoPINN's whole network with weights that a formula gives.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/physics/losses.h"
#include "ptyche/train/adam.h"
#include "ptyche/train/ptychopinn_recipe.h"
#include "ptyche/train/train_step.h"
#include "tests/support/golden_canvases.h"

namespace ptyche {
namespace {

constexpr double kRounding = 4e-5;  // PtychoPINN in float32 is 2.6e-5 from its network in float64

/// Number i of tensor k of the golden weights, in [-1, 1): splitmix64.
double golden_uniform(std::uint64_t i, std::uint64_t k) {
  std::uint64_t z = (1 + i + (k << 32)) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  z ^= z >> 31;
  return 2 * static_cast<double>(z >> 11) * 0x1p-53 - 1;
}

/// A kernel (out, in, rows, cols) in PtychoPINN's order (rows, cols, in, out); a bias as it is.
at::Tensor in_golden_order(const at::Tensor& parameter) {
  return parameter.dim() == 4 ? parameter.permute({2, 3, 1, 0}) : parameter;
}

void fill_with_golden_weights(PatchNetwork& network) {
  const at::NoGradGuard no_grad;
  std::uint64_t k = 0;
  for (at::Tensor& parameter : network.parameters()) {
    const bool kernel = parameter.dim() == 4;
    const double bound = kernel ? std::sqrt(6.0 / double(parameter[0].numel())) : 0.05;
    const at::Tensor ordered = in_golden_order(parameter);
    at::Tensor values = at::empty(ordered.sizes(), at::kFloat);
    for (std::int64_t i = 0; i < values.numel(); ++i)
      values.data_ptr<float>()[i] =
          static_cast<float>(bound * golden_uniform(static_cast<std::uint64_t>(i), k));
    ordered.copy_(values);
    ++k;
  }
}

/// The network of one file, its batch, and PtychoPINN's way from patches to a loss.
class GoldenNetwork {
 public:
  explicit GoldenNetwork(const GoldenFile& golden)
      : golden_(golden),
        object_big_(golden.integer("object_big") != 0),
        scale_(golden.number("intensity_scale")),
        network_(make_network(options_of(golden), 1)),
        amplitudes_(golden.array("X").permute({0, 3, 1, 2}).contiguous()),
        offsets_(golden.offsets("offsets_xy")),
        // A lone patch is padded where it is.
        merging_(golden,
                 object_big_ ? centred(offsets_) : at::zeros_like(offsets_.narrow(1, 0, 1))),
        seeing_(golden, offsets_) {
    fill_with_golden_weights(*network_);
  }

  PatchNetwork& network() { return *network_; }
  at::Tensor patches() { return network_->forward(amplitudes_); }

  /// (B, N, N, C) of (B * C, N, N), and only as many pixels as the file holds.
  at::Tensor like(const at::Tensor& images, const at::Tensor& golden) const {
    const std::int64_t batch = amplitudes_.size(0), size = images.size(-1);
    const std::int64_t step = size / golden.size(1);
    const at::Tensor last = images.view({batch, -1, size, size}).permute({0, 2, 3, 1});
    return last.slice(1, 0, size, step).slice(2, 0, size, step);
  }

  /// One canvas per group. PtychoPINN divides patches by the sum of central squares, whatever is
  /// outside those: there, by its floor alone.
  at::Tensor canvases(const at::Tensor& patches) const {
    const at::Tensor sum = add_patches(patches, merging_.layout);
    if (!object_big_) return merging_.cropped(sum);
    const at::Tensor squares = central_mask(merging_.size).expand_as(patches).contiguous();
    return merging_.cropped(sum / (add_patches(squares, merging_.layout) + kGoldenFloor));
  }

  /// The same as ours is: one weight above and below the fraction bar.
  at::Tensor canvases_under_mask(const at::Tensor& patches) const {
    return merging_.cropped(merge_patches(patches, central_mask(merging_.size), merging_.layout,
                                          {.floor = kGoldenFloor}));
  }

  at::Tensor trimmed(const at::Tensor& canvases) const { return merging_.trimmed(canvases); }

  /// (B * C, N, N) expected counts.
  at::Tensor intensity(const at::Tensor& canvases) const {
    const at::Tensor seen = extract_patches(seeing_.widened(canvases), seeing_.layout);
    const at::Tensor probe = golden_.array("probe").unsqueeze(0);
    return to_centred(expected_counts(propagate_far_field(exit_wave(probe, seen)))) *
           (scale_ * scale_);
  }

  at::Tensor loss(const at::Tensor& intensity) const {
    const at::Tensor counts = (scale_ * amplitudes_).square().flatten(0, 1);
    const at::Tensor mask = at::ones(intensity.sizes().slice(1), at::kBool);
    if (golden_.number("nll_weight") == 0)
      return pixel_losses(LossKind::amplitude_absolute, intensity, counts, mask, kNoFloor).mean();
    // PtychoPINN does not subtract the value at a perfect fit.
    return (pixel_losses(LossKind::poisson, intensity, counts, mask, kNoFloor) + counts -
            at::xlogy(counts, counts))
        .mean();
  }
  at::Tensor loss() { return loss(intensity(canvases(patches()))); }

  /// Whether this file shows the fault of a border that is divided by the floor alone.
  bool has_thousandfold_border() const { return object_big_ && golden_.integer("probe_big") != 0; }
  bool object_big() const { return object_big_; }

  /// What PtychoPINN's loss has beside ours, which is 0 at a perfect fit.
  double loss_of_perfect_fit() const {
    const at::Tensor counts = (scale_ * amplitudes_).square();
    return (counts - at::xlogy(counts, counts)).mean(at::kDouble).item<double>();
  }

  /// The batch as a scan: its groups far apart, counts, the probe in sqrt(photon).
  Scan scan() const {
    ScanFields fields;
    fields.counts = (scale_ * amplitudes_).square().flatten(0, 1).contiguous();
    at::Tensor centres = 200 * at::arange(offsets_.size(0), at::kDouble).view({-1, 1, 1}) + 100;
    fields.positions = (centres - offsets_.to(at::kDouble)).flatten(0, 1).contiguous();
    fields.probe = (scale_ * golden_.array("probe")).unsqueeze(0).contiguous();
    fields.source = "golden batch";
    return Scan(std::move(fields));
  }

  /// A training of this network on that scan by the preset, before its first step.
  TrainingState training(const Scan& scan, const TrainOptions& options) {
    Model model = new_model(scan, scan.probe(), options_of(golden_), {}, 1);
    model.network = network_;
    model.input_scale = 1 / scale_;
    model.recipe = options.recipe;
    TrainingState state = state_around(model, scan.frames());
    state.total_steps = 4;
    require_gradients(state, options);
    return state;
  }

  GroupBatch whole_batch() const {
    const std::int64_t groups = offsets_.size(0), each = offsets_.size(1);
    const at::Tensor frames = at::arange(groups * each, at::kLong);
    return {.frames = frames,
            .group = at::arange(groups, at::kLong).repeat_interleave(each),
            .merged = frames,
            .count = groups};
  }

 private:
  static NetworkOptions options_of(const GoldenFile& golden) {
    const std::int64_t grid = golden.integer("gridsize");
    return {.name = "ptychopinn",
            .channels = grid * grid,
            .pattern_size = golden.integer("N"),
            .gridsize = grid,
            .object_big = golden.integer("object_big") != 0,
            .probe_big = golden.integer("probe_big") != 0};
  }

  const GoldenFile& golden_;
  bool object_big_;
  double scale_;
  std::shared_ptr<PatchNetwork> network_;
  at::Tensor amplitudes_, offsets_;
  Canvases merging_, seeing_;
};

/// Runs `check` on every file of the family.
void for_each_network(const std::function<void(const GoldenFile&, GoldenNetwork&)>& check) {
  for_each_golden("n_network", [&](const GoldenFile& golden) {
    GoldenNetwork network(golden);
    check(golden, network);
  });
}

std::vector<double> values_of(const GoldenFile& golden, const std::string& name) {
  const at::Tensor array = golden.array(name).to(at::kDouble);
  return {array.data_ptr<double>(), array.data_ptr<double>() + array.numel()};
}

TEST(GoldenNetwork, HasPtychoPinnsParameters) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    std::int64_t count = 0;
    for (const at::Tensor& parameter : network.network().parameters()) count += parameter.numel();
    EXPECT_EQ(count, golden.integer("n_params"));
    EXPECT_EQ(network.network().parameters().size(), golden.array("grad_norms").size(0));
  });
}

TEST(GoldenNetwork, GivesPtychoPinnsPatches) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    const at::NoGradGuard no_grad;
    const at::Tensor expected = golden.array("decoder_object"), patches = network.patches();
    EXPECT_EQ(patches.size(0) / expected.size(0), network.network().patches_per_input());
    EXPECT_TRUE(agrees(network.like(patches, expected), expected, 0, kRounding));
  });
}

// With object_big and probe_big, out_trimmed_obj has PtychoPINN's fault: its border is a
// thousandfold, and out_pred_amp, loss0 and the gradients follow from that. The same formula gives
// the same numbers here.
TEST(GoldenNetwork, GivesPtychoPinnsAmplitudesAndLoss) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    const at::NoGradGuard no_grad;
    const at::Tensor canvases = network.canvases(network.patches());
    const at::Tensor object = golden.array("out_trimmed_obj").unsqueeze(-1);
    EXPECT_TRUE(agrees(network.like(network.trimmed(canvases), object), object, 0, kRounding));
    const at::Tensor intensity = network.intensity(canvases);
    const at::Tensor expected = golden.array("out_pred_amp");
    EXPECT_TRUE(agrees(network.like(intensity.sqrt(), expected), expected, 0, kRounding));
    EXPECT_NEAR(network.loss(intensity).item<double>() / golden.number("loss0"), 1, 1e-5);
  });
}

// What is right instead: nothing beyond the squares that the patches are weighed by, and the same
// inside them.
TEST(GoldenNetwork, LosesTheThousandfoldBorderUnderOurMerge) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    if (!network.has_thousandfold_border()) return;
    const at::NoGradGuard no_grad;
    const at::Tensor patches = network.patches();
    const double largest = patches.abs().max().item<double>();
    EXPECT_LT(network.canvases_under_mask(patches).abs().max().item<double>(), largest);
    EXPECT_GT(golden.array("out_trimmed_obj").abs().max().item<double>(), 100 * largest);
  });
}

TEST(GoldenNetwork, HasPtychoPinnsGradients) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    network.loss().backward();
    const std::vector<double> norms = values_of(golden, "grad_norms");
    const at::Tensor first = golden.array("grad_first5");
    const std::vector<at::Tensor> parameters = network.network().parameters();
    for (std::size_t k = 0; k < parameters.size(); ++k) {
      const at::Tensor gradient = in_golden_order(parameters[k].grad()).flatten();
      EXPECT_NEAR(gradient.norm().item<double>() / norms[k], 1, 0.01) << "tensor " << k;
      const std::int64_t count = std::min<std::int64_t>(5, gradient.size(0));
      const at::Tensor expected = first[static_cast<std::int64_t>(k)].narrow(0, 0, count);
      EXPECT_TRUE(agrees(gradient.narrow(0, 0, count), expected, 0.01, 0.01)) << "tensor " << k;
    }
  });
}

// Chaotic, the mean absolute error with its kink most of all: weights changed by 1e-6 of themselves
// end 1.5 % apart there, one way or the other.
TEST(GoldenNetwork, ComesWherePtychoPinnDoesInFourStepsOfAdam) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    std::vector<double> losses = values_of(golden, "train_on_batch_returned");
    losses.push_back(golden.number("loss_after_4_adam_steps"));
    const std::vector<double> tolerances = {1e-5, 5e-4, 0.01, 0.01, 0.02};
    const std::vector<at::Tensor> parameters = network.network().parameters();
    AdamState adam = new_adam_state(parameters);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      const at::Tensor loss = network.loss();
      EXPECT_NEAR(loss.item<double>() / losses[step], 1, tolerances[step]) << "step " << step;
      if (step == 4) break;
      loss.backward();
      // PtychoPINN adds its epsilon before the variance is corrected for its start at 0.
      const double epsilon = 1e-7 / std::sqrt(1 - std::pow(0.999, step + 1));
      adam_step(parameters, adam, 1e-3, {.beta1 = 0.9, .beta2 = 0.999, .epsilon = epsilon});
    }
    const std::vector<double> norms = values_of(golden, "weight_norms_after_4");
    for (std::size_t k = 0; k < parameters.size(); ++k)
      EXPECT_NEAR(parameters[k].norm().item<double>() / norms[k], 1, 0.02) << "tensor " << k;
  });
}

/// The losses before each of four steps of --preset ptychopinn, and after them; with PtychoPINN's
/// constant.
std::vector<double> losses_of_the_preset(GoldenNetwork& network) {
  const TrainOptions options = with_ptychopinn_recipe({});
  const Scan scan = network.scan();
  TrainingState state = network.training(scan, options);
  const InputCache inputs(state.model, scan);
  std::vector<double> losses;
  for (int step = 0; step < 5; ++step)
    losses.push_back(train_step(state, scan, inputs, network.whole_batch(), options).loss +
                     network.loss_of_perfect_fit());
  return losses;
}

TEST(GoldenRecipe, TakesPtychoPinnsFourStepsOfAdam) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    if (network.has_thousandfold_border() || !network.object_big()) return;
    const std::vector<double> losses = losses_of_the_preset(network);
    const std::vector<double> expected = values_of(golden, "train_on_batch_returned");
    for (std::size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(losses[step] / expected[step], 1, 0.01) << "step " << step;
    EXPECT_NEAR(losses[4] / golden.number("loss_after_4_adam_steps"), 1, 0.01);
  });
}

// Where PtychoPINN has its fault, the steps of its formulas with our merge, made of the pieces that
// are tested above.
TEST(GoldenRecipe, TakesTheSameStepsWithoutTheThousandfoldBorder) {
  for_each_network([](const GoldenFile& golden, GoldenNetwork& network) {
    if (!network.has_thousandfold_border()) return;
    const std::vector<double> losses = losses_of_the_preset(network);
    GoldenNetwork pieces(golden);
    const std::vector<at::Tensor> parameters = pieces.network().parameters();
    AdamState adam = new_adam_state(parameters);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      const at::Tensor loss =
          pieces.loss(pieces.intensity(pieces.canvases_under_mask(pieces.patches())));
      EXPECT_NEAR(losses[step] / loss.item<double>(), 1, 0.01) << "step " << step;
      loss.backward();
      const double epsilon = 1e-7 / std::sqrt(1 - std::pow(0.999, step + 1));
      adam_step(parameters, adam, 1e-3, {.beta1 = 0.9, .beta2 = 0.999, .epsilon = epsilon});
    }
  });
}

}  // namespace
}  // namespace ptyche
