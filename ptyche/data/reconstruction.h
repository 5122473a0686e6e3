// Groups of patterns, their patches, and the image that is made of them.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/core/remark.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// Groups are either drawn anew in every epoch (group/make_groups.h) or chosen once
/// (group/fixed_groups.h); one of the two tensors is defined.
struct Groups {
  /// Drawn: (seeds, pool) int64 frame numbers. Column 0 is the seed pattern itself, the others its
  /// nearest neighbours by distance; an epoch goes once over the patterns.
  at::Tensor neighbours;
  std::int64_t size = 1;    ///< patterns on a group's canvas, 1..64
  std::int64_t merged = 1;  ///< how many of them are merged into it, 1..size; the others are only
                            ///< predicted. All of them where groups are chosen once
  std::uint64_t seed = 1;
  /// Chosen once: (n, size) int64 frame numbers; an epoch shows every group once, in a new order.
  at::Tensor fixed = {};

  bool are_fixed() const { return fixed.defined(); }
};

/// Some groups of one epoch: frame `frames[i]` belongs to group `group[i]`.
struct GroupBatch {
  at::Tensor frames;  ///< (m) int64
  at::Tensor group;   ///< (m) int64 in 0..count-1, ascending
  at::Tensor merged;  ///< (k) int64, the places in `frames` whose patches are merged; the canvas
                      ///< predicts all m
  std::int64_t count = 0;
};

/// How a patch between two object pixels is taken; stored with every result.
enum class Interpolation {
  bilinear,       ///< the patch is interpolated between object pixels
  probe_fourier,  ///< whole-pixel patch, probe moved by the rest in Fourier space: does not blur
};

std::string to_string(Interpolation interpolation);
/// Throws InvalidInput listing the names that exist.
Interpolation interpolation_from(const std::string& name);

/// What inference gives: one piece of object per pattern, not yet joined.
struct Patches {
  at::Tensor patches;  ///< (k, N, N) complex64: pixel (N/2, N/2) is the object pixel nearest to the
                       ///< pattern's position, under bilinear that position itself
  at::Tensor frames;   ///< (k) int64, the pattern of each patch
  at::Tensor probe;    ///< (modes, N, N) complex64, the model's probe in sqrt(photon)
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none
  Interpolation interpolation = Interpolation::probe_fourier;
  at::Tensor weights = {};  ///< (N, N) float32 of every patch; undefined = the probe's intensity
};

/// One thing that was done or tried on the way to an image: what it was, what it cost, what it came
/// to, whether it was better than all before (the last one that was is the result).
struct Attempt {
  std::string what;
  std::int64_t passes = 0;  ///< over all patterns, or epochs of a training
  double seconds = 0;
  double held_out_deviance = 0;  ///< per photon; 0 = not measured
  bool kept = false;
};

/// Where a result comes from; written into every file.
struct Provenance {
  std::string source, input_hash;  ///< scan file and its SHA-256
  std::string command;             ///< the whole command line
  std::string options_json;        ///< all options as they were asked for, one JSON object
  std::uint64_t seed = 0;
  std::string version;            ///< of the program, with its commit
  std::string date;               ///< when it was done, UTC, ISO 8601
  std::string machine;            ///< processor, cores, threads
  std::vector<Attempt> attempts;  ///< what was done
  std::vector<Remark> remarks;    ///< corrections, warnings and notes, as they came
};

/// The result: one object, the probe that goes with it, and what predicts patterns from them.
struct Reconstruction {
  /// (slices, rows, cols) complex64, dimensionless, in the order in which the beam passes them;
  /// 1 + 0i where no pattern lights it.
  at::Tensor object;
  at::Tensor coverage;  ///< (rows, cols) float32 >= 0, sum of the merge weights over the strongest
                        ///< one; 0 = unlit
  /// (variants, modes, N, N) complex64, sqrt(photon): of one variant the probe of all patterns.
  at::Tensor probe;
  at::Tensor positions;   ///< (n, 2) float64 of ALL patterns in file order, scan's pixel frame
  at::Tensor frame_use;   ///< (n) uint8 FrameUse
  at::Tensor background;  ///< (N, N) float32 counts, zero frequency at N/2; undefined = none
  /// (n) float32 of the beam in each pattern over its mean, which multiplies what the image
  /// foretells; NaN = the ratio of totals (patterns not used). Undefined = 1.
  at::Tensor intensities;
  at::Tensor slice_spacing_m = {};  ///< (slices - 1) float64, > 0; undefined = unknown
  /// Object pixel (0, 0) in the scan's pixel frame, whole numbers: index = position - origin.
  std::int64_t origin_row = 0, origin_col = 0;
  Interpolation interpolation = Interpolation::probe_fourier;
  Geometry geometry;
  Provenance provenance;
  std::vector<double> loss;  ///< mean of each pass or epoch, per photon: all kept attempts in turn

  std::int64_t slices() const { return object.size(0); }
  std::int64_t rows() const { return object.size(1); }
  std::int64_t cols() const { return object.size(2); }
  std::int64_t modes() const { return probe.size(1); }
  std::int64_t pattern_size() const { return probe.size(-1); }
  /// What one looks at: the product of the slices, (rows, cols) complex64. Of one slice a view.
  at::Tensor projection() const;
  /// The probe of all patterns, or their common part: (modes, N, N).
  at::Tensor main_probe() const { return probe.select(0, 0); }
};

/// An object or a probe as files and Python have it: without a first axis of length 1, so that one
/// slice is (rows, cols) and one variant (modes, N, N).
at::Tensor as_written(const at::Tensor& array);

}  // namespace ptyche
