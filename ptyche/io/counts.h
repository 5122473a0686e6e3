// From the values of a file to photon counts, and which patterns may be used for what.
#pragma once

#include <ATen/ATen.h>

#include <string>

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/readout_noise.h"
#include "ptyche/io/together.h"

namespace ptyche {

/// What the values of all counted pixels have in common.
struct ValueKind {
  bool whole = true;  ///< all are whole numbers
  /// All squares lie within 1e-3 (or float32's rounding) of whole numbers.
  bool whole_squares = true;
  NoiseOf noise = NoiseOf::unknown;  ///< looked at in fractions only
};

struct DomainChoice {
  Domain domain = Domain::counts;
  std::string reason;
  bool guessed = false;  ///< neither the user nor the file said so
};

/// wanted  auto | counts | amplitude. Throws InvalidInput for another word.
/// A guess is: whole numbers are counts, and fractions with the noise of counts; squares that are
/// whole numbers, or any other fractions, are amplitudes, as PtychoPINN's keys mean them.
DomainChoice choose_domain(const std::string& wanted, const RawScan& raw, const ValueKind& kind);

/// Photon counts in the narrowest type, and whether their scale is that of photons.
struct Counts {
  at::Tensor counts;       ///< (n, N, N)
  bool absolute = true;    ///< false: squared amplitudes of unknown scale
  bool amplitude = false;  ///< they were squared
  bool guessed = false;    ///< fractions of which nothing says what they are
};

/// The patterns as counts; uses up raw.patterns, so that no second copy is held. Decides between
/// counts and amplitudes (`--domain`), prints a guess with its reason, and gives masked pixels that
/// hold no valid value, or raw.ceiling, 0. Pixels at raw.ceiling in every pattern are added to the
/// mask. Processes that read together decide on the values of all, and have counts of one type.
/// Throws InvalidInput for NaN, infinite or negative values in counted pixels.
Counts take_counts(RawScan& raw, const ReadOptions& options, const ReadingTogether& together = {});

/// What each pattern may be used for, (n) uint8 FrameUse: dark and saturated ones are rejected (one
/// warning lists them), then `--hold-out`, `--hold-out-file` and `--unseen-half` apply.
///   sums       (n, 2), see frame_sums
///   positions  (n, 2), pixels: how many of a pattern are counted
///   ceiling    a pattern with several pixels at this value is saturated; 0 = not known
/// Throws InvalidInput when fewer than two usable patterns are left or they share one position.
at::Tensor choose_frames(const at::Tensor& sums, std::int64_t pixels, const at::Tensor& positions,
                         double ceiling, const ReadOptions& options);

}  // namespace ptyche
