// Patterns through a frozen model: one forward pass each.
#pragma once

#include <cstdint>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/model/model.h"
#include "ptyche/stitch/stitch.h"

namespace ptyche {

struct InferOptions {
  std::int64_t batch = 0;  ///< patterns at a time, 0 = patterns_at_once; no influence on the result
  at::Tensor groups = {};  ///< (n, C) int64 frames that a network which looks at C patterns at once
                           ///< is shown; undefined = around every pattern, its nearest ones
  FrameUse frames = FrameUse::used;  ///< which patterns
  Precision precision = Precision::automatic;
  Engine engine = Engine::fused;  ///< of the network's input; the image is the same to rounding
  at::Device device = at::kCPU;   ///< where the network runs and the patches are
  bool background = false;        ///< fit one to the stitched image, where the model has none
  bool polish = false;            ///< see polished; no option of a command line
};
std::vector<Field> fields(InferOptions& options);

/// Patches of the scan's patterns of one use, by the model brought to the scan's dose, with a note
/// where that is another one than that of its training (at_dose_of); several of a pattern that is
/// shown in several groups, with probe and weights on the options' device. Throws InvalidInput if
/// there is none, or if the model was trained on another pattern size, or as require_precision;
/// Interrupted after Ctrl-C.
Patches infer(const Model& model, const Scan& scan, const InferOptions& options);

/// The background, (N, N) float32 counts, zero frequency at N/2, with which the image explains the
/// scan's used patterns best, object, probe and positions held: in each pixel the b >= 0 at which
/// the Poisson likelihood's slope, mean_k n_k / (I_k + b) - 1, is 0, by Newton's steps from below,
/// for the slope is convex. From at most 1024 patterns out of the whole scan, fewer where they
/// are large. 0 where the mask is
/// false.
at::Tensor best_background(const Reconstruction& image, const Scan& scan);

/// The stitched image after two steps of maximum likelihood over all used patterns at once, each
/// down the scaled slope (the first of `lbfgs`), the first with a correction of the phase's slow
/// waves; its probe and positions held, a background fitted. A network that sees one pattern at a
/// time cannot know what the neighbours say of the same pixels, and leaves slow waves of the phase.
/// With a warning as it is where a solver cannot take such a scan. Throws Interrupted after Ctrl-C.
Reconstruction polished(Reconstruction image, const Scan& scan, at::Device device);

/// The patches of `scan` stitched, with a background where `options` asks for one and they have
/// none.
Reconstruction image_of(const Patches& patches, const Scan& scan, const InferOptions& options);

/// An image that a model makes of a scan, whose patterns lie where training has put them, and how
/// far the patches agree. Patches of many patterns are stitched as they come (StitcherInOrder); the
/// image is polished where the options ask for it.
struct InferredImage {
  Reconstruction image;
  Agreement agreement;  ///< undefined where nobody asked
};
InferredImage inferred_image(const Model& model, const Scan& placed, const InferOptions& options,
                             bool agreement = true);

/// The patches of `infer` stitched where training has put the patterns (placed_by), with a
/// background where `options` asks for one.
Reconstruction network_image(const Model& model, const Scan& scan, const InferOptions& options);

}  // namespace ptyche
