// PtychoPINN's data sets: drawings of lines under a disc or a probe of a file, scanned in groups on
// a regular grid.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/data/array.h"
#include "ptyche/data/scan.h"

namespace ptyche {

struct GridScanOptions {
  std::int64_t object_size = 392;    ///< side of the square object, px
  std::int64_t pattern_size = 64;    ///< N
  std::int64_t gridsize = 1;         ///< C = gridsize^2 patterns form a group
  std::int64_t offset_px = 4;        ///< distance of neighbours inside a group
  std::int64_t outer_offset_px = 8;  ///< twice the distance of neighbouring groups; even, >= 2
};

/// Corners (groups, C, 2) int64 (row, col) of all patches, groups and the patterns inside one
/// row-major: group g of n x n, n = floor((object - N - (gridsize - 1) offset) / (outer / 2)) + 1.
/// A pattern's position is its corner + N/2; PtychoPINN's own coordinates are corner + (N - 1)/2.
/// Throws InvalidInput when no group fits or an option is out of range.
at::Tensor grid_scan_corners(const GridScanOptions& options);

/// The scales that PtychoPINN's simulation gives object and probe.
struct GridScales {
  double object_norm = 0;  ///< mean over groups of the largest amplitude |O| in the group
  double intensity = 0;  ///< under O / object_norm, P times it has nphotons in the mean of patterns
};

/// Both scales of `object` (rows, cols) under `probe` (N, N), both complex128:
/// intensity = sqrt(nphotons / mean sum |P O / object_norm|^2).
///   corners  (n, 2) int64 (row, col) of all patches
///   groups   (groups, C) int64, indices into `corners`; a patch counts once for each group
/// Throws InvalidInput naming the patch that leaves the object, and for an object that is dark.
GridScales grid_scales(const at::Tensor& object, const at::Tensor& probe, const at::Tensor& corners,
                       const at::Tensor& groups, double nphotons);

struct GridProbeOptions {
  std::string source = "ideal_disk";        ///< ideal_disk (default_probe.h) | custom (from `file`)
  std::filesystem::path file = {};          ///< NPZ with probeGuess (n, n) complex
  std::string scale_mode = "pad_preserve";  ///< of a custom one: or pad_extrapolate, interpolate
  double smoothing_px = 0.5;                ///< Gaussian blur of real and imaginary part, 0 = none
  double mask_diameter_px = 0;              ///< of soft_probe_mask (operators.h), 0 = no mask
};
std::vector<Field> fields(GridProbeOptions& options);

/// A Gaussian of this width over real and imaginary part of `probe` (n, n) complex128; 0 = none.
at::Tensor smoothed_probe(const at::Tensor& probe, double sigma_px);

/// (N, N) complex128, dimensionless. A custom probe is smoothed at its own size, then padded by
/// zeros (pad_preserve), by the amplitude at its edge with the curvature of its phase
/// (pad_extrapolate), or stretched by cubic interpolation (interpolate) to N; any probe is masked
/// last. Throws InvalidInput naming file and array where a custom probe is no square or too large
/// to be padded.
at::Tensor grid_probe(std::int64_t size, const GridProbeOptions& options);

/// PtychoPINN's, of the drawings that are scored.
inline constexpr std::int64_t kUnseenOuterOffset_px = 20;

struct GridDataOptions {
  GridScanOptions grid;
  std::int64_t images = 2;         ///< drawings, scanned one after the other
  double nphotons = 1e9;           ///< mean counts of a pattern
  bool set_phi = false;            ///< the drawing gives the phase too (line_drawing.h), else 0
  std::uint32_t drawing_seed = 1;  ///< of the first drawing; the next one has the next but one
  std::uint64_t noise_seed = 1;
};
/// Data of drawings that none learns from: `images` of the next seeds, with their own noise, on a
/// grid of another outer offset.
GridDataOptions unseen(GridDataOptions learn, std::int64_t images,
                       std::int64_t outer_offset_px = kUnseenOuterOffset_px);

/// The seeds are no fields: a study gives its data sets different ones.
std::vector<Field> fields(GridDataOptions& options);

struct GridData {
  /// Every pattern of all images once, whichever groups it belongs to; the images lie so far apart
  /// that no pattern sees two. Truth and probe included.
  Scan scan;
  at::Tensor groups;  ///< (n, gridsize^2) int64 frames, image after image as grid_scan_corners
  std::vector<Window> images;  ///< where each drawing lies on the truth
  /// What PtychoPINN stitches and scores of each drawing: the part that the central
  /// outer / 2 x outer / 2 pixels of all its groups' first patterns cover.
  std::vector<Window> tiles;
};

/// The drawings over GridScales::object_norm, under `probe` (N, N) complex times its intensity;
/// counts with Poisson noise. Throws InvalidInput for options out of range.
GridData simulate_grid_data(const GridDataOptions& options, const at::Tensor& probe);

}  // namespace ptyche
