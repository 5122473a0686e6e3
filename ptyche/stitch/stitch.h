// One object out of all patches, brought to one phase.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <memory>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Joins the patches, on any device, into one object, with the host, by their mean weighted with
/// the probe's intensity,
///   object(r) = sum_k w(r - r_k) patch_k(r - r_k) / sum_k w(r - r_k),  w = sum_m |P_m|^2,
/// (or by the weights w that the patches bring), each patch first turned to the phase of its
/// neighbours (synchronise), the probe moved by each position's fraction of a pixel, under bilinear
/// the patch. The canvas holds the patches of all the scan's
/// positions (position_box), so that patterns that were held out can be predicted; pixels that no
/// patch lights are 1 + 0i. Throws InvalidInput if a patch's frame is not in the scan.
Reconstruction stitch(const Patches& patches, const Scan& scan);

/// How far the patches that see an object pixel are apart, each brought to the phase of the image.
struct Agreement {
  /// (rows, cols) float32: the variance of one patch about the mean of all, estimated from those
  /// that see the pixel, sum w |c p - m|^2 / (sum w - sum w^2 / sum w); 0 where all agree, NaN
  /// where fewer than kLeastSeen see it.
  at::Tensor variance;
  /// (rows, cols) float32: by how many patches of equal weight the pixel is seen, (sum w)^2 /
  /// sum w^2; 0 where none does. Independent ones leave their mean a variance of variance / seen.
  at::Tensor seen;
};
inline constexpr double kLeastSeen = 1.1;

/// Of the patches of which `image` was stitched (or of others of that scan), with the weights w of
/// `stitch`.
Agreement agreement_of(const Patches& patches, const Reconstruction& image);

/// Whether so many patches of so many pixels a side are stitched in the order in which they come
/// and not all at once, as more than 2^22 pixels with the host are.
bool stitches_in_order(std::int64_t patches, std::int64_t size, at::Device device);

/// The order, (k) int64, of patterns of `size` pixels a side at positions (k, 2) in which few of
/// them are there at once: as they are, where that is so, else along one axis.
at::Tensor order_to_stitch(const at::Tensor& positions, std::int64_t size);

/// An image and how far its patches agree.
struct Stitched {
  Reconstruction image;
  Agreement agreement;
};

/// `stitch` of patches that come in the order of `frames` and are forgotten once all that overlap
/// them have come, so that they take memory by the length of a line of the scan, not by its area.
/// What the phases of far patches have drifted apart until then is taken from the image at the end,
/// pixel by pixel, as the mean over the patches that see it: where patches agree, the image of
/// `stitch` with all at once, else one that differs by the drift from patch to patch times how far
/// they are apart.
class StitcherInOrder {
 public:
  /// `of` without its patches, with the host.
  StitcherInOrder(const Patches& of, const Scan& scan);
  ~StitcherInOrder();
  StitcherInOrder(const StitcherInOrder&) = delete;
  StitcherInOrder& operator=(const StitcherInOrder&) = delete;

  /// The next ones, (any number, N, N) complex64.
  void add(const at::Tensor& patches);
  /// Once all have come.
  Stitched finish();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Rows and columns of the canvas that empty_reconstruction makes.
std::array<std::int64_t, 2> canvas_shape(const Scan& scan);

/// The canvas that holds every position's patch, with a margin of 2 pixels: an object of ones with
/// origin, positions, frame use, geometry and probe filled in. Solvers start from it too.
Reconstruction empty_reconstruction(const Scan& scan, Interpolation interpolation);

}  // namespace ptyche
