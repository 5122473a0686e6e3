// How far two images agree that share no pattern.
#pragma once

#include <functional>

#include "ptyche/data/comparison.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"

namespace ptyche {

/// A whole way from a scan's used patterns to an image: training and stitching, or a solver.
using ScanToImage = std::function<Reconstruction(const Scan&)>;

/// Which of the used patterns, by number in the file, from 0.
enum class Half { even, odd };

/// The scan with the used patterns of the other half rejected; nothing else changes, so that the
/// two halves share the file's probe (its power was set from all used patterns) and no pattern.
/// Throws InvalidInput if less than two patterns are left.
Scan half_of(const Scan& scan, Half half);

/// Throws InvalidInput if one of the halves has less than two patterns: asked before long work.
void require_halves(const Scan& scan);

struct HalfSets {
  Reconstruction even, odd;
  Comparison agreement;  ///< of the odd image with the even one
};

/// Runs `reconstruct` on each half alone and compares what comes out. What both halves get wrong in
/// the same way (positions, a wrong model) does not show. Throws what `reconstruct` and `compare`
/// throw.
HalfSets half_sets(const Scan& scan, const ScanToImage& reconstruct);

}  // namespace ptyche
