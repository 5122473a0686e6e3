// Whether an image can be trusted, and how far it is from the sample, as told without a truth.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ptyche/data/array.h"

namespace ptyche {

enum class VerdictWord {
  good,      ///< expected error at most kGoodError
  doubtful,  ///< between good and failed, or the model lacks something
  failed,    ///< the image is not of the sample, or nobody could tell
};
std::string to_string(VerdictWord word);
/// Throws InvalidInput listing the words that exist.
VerdictWord verdict_word_from(const std::string& word);

/// What a verdict comes from, all dimensionless; see docs/verdict.md.
struct VerdictEvidence {
  double starts = 0;  ///< distance of a second image, from another start, over the contrast
  double again = 0;   ///< distance of the image of patterns redrawn from the image
  double beside = 0;  ///< distance of the image from a converged one, where it is not one itself
  double share = 1;   ///< of the image's used patterns, those of the second images, 0..1
  double misfit = 0;  ///< what is left in the used patterns above noise, over that of their mean
  double told = 0;    ///< correlation of what the image foretells of patterns with what they hold
  /// The same two of the image of the redrawn patterns, for which the model is right by
  /// construction.
  double misfit_again = 0, told_again = 0;
  std::string told_of = "held-out patterns";  ///< which patterns `told` was measured on
};

struct Verdict {
  VerdictWord word = VerdictWord::doubtful;
  double expected_error = 0;  ///< of the image, over its contrast
  double low = 0, high = 0;   ///< between which four of five true errors lie
  VerdictEvidence evidence;
  std::int64_t patterns = 0;  ///< that the further solves were made of
  double seconds = 0;
  std::vector<std::string> reasons = {};  ///< sentences for the user; empty = good without a remark
  /// Where the images from different starts differ, over the contrast: (rows, cols) float32 of the
  /// object's pixels `window`; undefined = could not be compared.
  at::Tensor map = {};
  Window window = {};
};

/// "good: expected error 12 % of the contrast (8 to 17 %)".
std::string first_line(const Verdict& verdict);

}  // namespace ptyche
