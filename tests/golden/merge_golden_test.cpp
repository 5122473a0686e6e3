// Families b and c: cutting patches out of a canvas, and merging them on one.
#include <gtest/gtest.h>

#include "ptyche/physics/canvas.h"
#include "ptyche/physics/resample.h"
#include "tests/support/golden_canvases.h"

namespace ptyche {
namespace {

TEST(GoldenExtract, CutsPtychoPinnsPatches) {
  for_each_golden("b_extract", [](const GoldenFile& golden) {
    const Canvases on(golden, golden.offsets("offsets_xy"));
    EXPECT_TRUE(agrees(extract_patches(on.widened(golden.array("canvas")), on.layout),
                       golden.array("patches_flat")));
  });
}

TEST(GoldenExtract, IsTheCentreOfTheTranslatedCanvas) {
  for_each_golden("b_extract", [](const GoldenFile& golden) {
    const at::Tensor offsets = golden.offsets("offsets_xy"), canvas = golden.array("canvas");
    const std::int64_t size = golden.integer("N"), first = (canvas.size(1) - size) / 2;
    const at::Tensor each = canvas.repeat_interleave(offsets.size(1), 0);
    const at::Tensor moved = translate(each, offsets.reshape({-1, 2}));
    EXPECT_TRUE(
        agrees(moved.narrow(1, first, size).narrow(2, first, size), golden.array("patches_flat")));
  });
}

TEST(GoldenMerge, IsPtychoPinnsWithItsMaskAndFloor) {
  for_each_golden("c_merge", [](const GoldenFile& golden) {
    const Canvases on(golden, centred(golden.offsets("offsets_xy")));
    const at::Tensor mask = central_mask(on.size);
    const at::Tensor all = mask.expand({on.layout.corners.size(0), -1, -1});
    EXPECT_TRUE(agrees(on.cropped(add_patches(all.contiguous(), on.layout)) + kGoldenFloor,
                       golden.array("norm_canvas")));
    const at::Tensor merged = on.cropped(merge_patches(flat(golden.array("patches_full")), mask,
                                                       on.layout, {.floor = kGoldenFloor}));
    EXPECT_TRUE(agrees(merged, golden.array("merged_from_centre")));
    EXPECT_TRUE(agrees(on.trimmed(merged), golden.array("trimmed_from_centre")));
  });
}

// PtychoPINN's numerator has no mask, so its gradient is not 0 outside the mask; inside, where
// ours has one, they are the same.
TEST(GoldenMerge, HasPtychoPinnsGradient) {
  for_each_golden("c_merge", [](const GoldenFile& golden) {
    const Canvases on(golden, centred(golden.offsets("offsets_xy")));
    const at::Tensor mask = central_mask(on.size), weight = golden.array("grad_weight");
    const at::Tensor expected = flat(at::complex(golden.array("grad_re"), golden.array("grad_im")));
    const at::Tensor patches = flat(golden.array("patches_full")).requires_grad_();
    const auto loss = [&](const at::Tensor& merged) {
      return at::real(on.cropped(merged) * weight.conj()).sum();
    };
    loss(merge_patches(patches, mask, on.layout, {.floor = kGoldenFloor})).backward();
    EXPECT_TRUE(agrees(patches.grad(), expected * mask));
    patches.mutable_grad() = at::Tensor();
    const at::Tensor all = mask.expand_as(patches).contiguous();
    loss(add_patches(patches, on.layout) / (add_patches(all, on.layout) + kGoldenFloor)).backward();
    EXPECT_TRUE(agrees(patches.grad(), expected));
  });
}

// The fault BUG_merged_from_full: patches that reach beyond the mask are divided by 0.001 there.
TEST(GoldenMerge, GivesNothingBeyondItsMaskWherePtychoPinnGivesAThousandfold) {
  for_each_golden("c_merge", [](const GoldenFile& golden) {
    if (!golden.has("BUG_merged_from_full")) return;
    const Canvases on(golden, centred(golden.offsets("offsets_xy")));
    const at::Tensor patches = flat(golden.array("patches_full"));
    const at::Tensor merged = on.cropped(
        merge_patches(patches, central_mask(on.size), on.layout, {.floor = kGoldenFloor}));
    const double largest = patches.abs().max().item<double>();
    EXPECT_LT(merged.abs().max().item<double>(), largest);
    EXPECT_GT(golden.array("BUG_merged_from_full").abs().max().item<double>(), 100 * largest);
  });
}

// The fault of "notmeanfree": PtychoPINN centres a whole batch at once, so that a group's place
// depends on its batch mates.
TEST(GoldenMerge, PlacesEachGroupWhateverTheOthersAre) {
  for_each_golden("c_merge", [](const GoldenFile& golden) {
    const at::Tensor offsets = golden.offsets("offsets_xy"), patches = golden.array("patches_full");
    const auto merged = [&](std::int64_t first, std::int64_t count) {
      const at::Tensor some = offsets.narrow(0, first, count);
      const at::Tensor group = at::arange(count, at::kLong).repeat_interleave(some.size(1));
      const CanvasLayout layout = lay_out(-some.to(at::kDouble).reshape({-1, 2}), group, count,
                                          golden.integer("N"), Interpolation::bilinear);
      return merge_patches(flat(patches.narrow(0, first, count)), central_mask(layout.pattern_size),
                           layout);
    };
    const at::Tensor together = merged(0, offsets.size(0));
    for (std::int64_t g = 0; g < offsets.size(0); ++g) {
      const at::Tensor alone = merged(g, 1)[0];
      EXPECT_TRUE(
          agrees(together[g].narrow(0, 0, alone.size(0)).narrow(1, 0, alone.size(1)), alone))
          << "group " << g;
    }
  });
}

// The fault of batch x C >= 64: PtychoPINN adds all groups into one canvas.
TEST(GoldenMerge, KeepsGroupsApartWherePtychoPinnMixesThem) {
  for_each_golden("c_BUG_crosstalk", [](const GoldenFile& golden) {
    const Canvases on(golden, golden.offsets("offsets_xy"));
    const at::Tensor merged = on.cropped(merge_patches(
        flat(golden.array("patches")), central_mask(on.size), on.layout, {.floor = kGoldenFloor}));
    EXPECT_TRUE(agrees(merged, golden.array("correct_per_group")));
    const at::Tensor fault = golden.array("reference_output_one_canvas");
    EXPECT_EQ(fault.size(0), 1);
    for (std::int64_t g = 0; g < merged.size(0); ++g)
      EXPECT_FALSE(agrees(merged[g], fault[0], 1e-2, 1e-2)) << "group " << g;
  });
}

TEST(GoldenStitch, PutsPatchesAtTheirPositionsAsPtychoPinnDoes) {
  for_each_golden("c_stitch_position", [](const GoldenFile& golden) {
    const at::Tensor patches = golden.array("patches_centre_crop");
    const at::Tensor positions = golden.array("positions_xy").flip(1);
    const at::Tensor expected = golden.array("recon_canvas");
    const std::int64_t size = golden.integer("crop_M"), side = expected.size(0);
    CanvasLayout layout{.group = at::zeros({patches.size(0)}, at::kLong),
                        .corners = positions - positions.mean(0) + 0.5 * double(side - size),
                        .fractions = at::zeros_like(positions),
                        .interpolation = Interpolation::bilinear,
                        .pattern_size = size,
                        .groups = 1,
                        .rows = side,
                        .cols = side};
    EXPECT_TRUE(agrees(add_patches(patches, layout)[0], golden.array("sum_canvas")));
    const at::Tensor ones = at::ones({size, size}, at::kFloat);
    EXPECT_TRUE(agrees(merge_patches(patches, ones, layout, {.floor = 1e-9})[0], expected));
  });
}

/// The regular-grid workflow's tiles: the central outer_offset / 2 square of every patch.
struct Tiles {
  explicit Tiles(const GoldenFile& golden)
      : count(golden.integer("n_seg")),
        side(golden.integer("outer_offset") / 2),
        first((golden.integer("N") - side + 1) / 2 - golden.integer("centre_start")),
        patches(golden.array("patches_centre")) {}

  /// One canvas per image, (n_images, count * side, count * side).
  at::Tensor stitched(std::int64_t images) const {
    const std::int64_t size = patches.size(1), place = count * count;
    const at::Tensor index = at::arange(images * place, at::kLong);
    const at::Tensor row = index.remainder(place).div(count, "floor"), col = index.remainder(count);
    at::Tensor mask = at::zeros({size, size}, at::kFloat);
    mask.narrow(0, first, side).narrow(1, first, side).fill_(1);
    CanvasLayout layout{.group = index.div(place, "floor"),
                        .corners = (side * at::stack({row, col}, 1)).to(at::kDouble),
                        .fractions = at::zeros({index.size(0), 2}, at::kDouble),
                        .interpolation = Interpolation::bilinear,
                        .pattern_size = size,
                        .groups = images,
                        .rows = size + (count - 1) * side,
                        .cols = size + (count - 1) * side};
    const at::Tensor merged = merge_patches(patches, mask, layout);
    return merged.narrow(1, first, count * side).narrow(2, first, count * side);
  }

  std::int64_t count, side, first;
  at::Tensor patches;
};

// The fault BUG_stitched_phase_scaled_by_norm: PtychoPINN multiplies the phase by the amplitude's
// norm too.
TEST(GoldenStitch, TilesTheRegularGridAndLeavesThePhaseAlone) {
  for_each_golden("c_stitch_grid", [](const GoldenFile& golden) {
    const at::Tensor stitched = Tiles(golden).stitched(golden.integer("n_images"));
    const double norm = golden.number("norm_Y_I");
    EXPECT_TRUE(agrees(stitched.abs() * norm, golden.array("stitched_amp")));
    const at::Tensor fault = golden.array("BUG_stitched_phase_scaled_by_norm");
    EXPECT_TRUE(agrees(stitched.angle() * norm, fault));
    EXPECT_FALSE(agrees(stitched.angle(), fault, 1e-2, 1e-2));
  });
}

TEST(GoldenStitch, ComparesWithPtychoPinnsPartOfTheTruth) {
  for_each_golden("c_stitch_grid", [](const GoldenFile& golden) {
    const at::Tensor expected = golden.array("clipped_gt");
    const std::int64_t border = golden.array("clip_sizes_bl_br_cl_cr")[2].item<std::int64_t>();
    const Tiles tiles(golden);
    // Ours: the object under the tiles, from the scan's geometry alone. The first patch starts at
    // the object's corner in a group that is (gridsize - 1) offsets wide, offset 4.
    const std::int64_t in_group = 4 * (golden.integer("gridsize") - 1);
    EXPECT_EQ(border, tiles.first + golden.integer("centre_start") + in_group / 2);
    const at::Tensor window =
        golden.array("full_object").narrow(0, border, tiles.count * tiles.side);
    EXPECT_TRUE(agrees(window.narrow(1, border, tiles.count * tiles.side), expected));
  });
}

}  // namespace
}  // namespace ptyche
