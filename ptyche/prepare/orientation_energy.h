// Which way the positions lie, by what all patterns together say of one sample: for scans without a
// probe of which neither shadows nor short solves tell, as weak samples in little light.
#pragma once

#include <optional>
#include <vector>

#include "ptyche/data/scan.h"
#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/likeness.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {

/// How much the patterns agree on one sample where the positions lie so.
struct OrientationEnergy {
  Orientation orientation = Orientation::as_given;
  double strength = 0;  ///< standard errors of noise of the same power
  double defocus = 0;   ///< at which it is largest, rad at the bright disk's rim, with its sign
};

/// All four of a far-field scan, strongest first, each at its best defocus: the modulus of the far
/// field is the root of the mean pattern, its phase c q^2. What each of 100 to 300 patterns around
/// the middle, held-out ones too, says of the sample's phase (phase_energy.h) is laid in its place,
/// and the strength is that of the sum's square less those of the single patterns. Slow waves count
/// more, by 1 / k: samples hold more of them. Both axes flipped is the opposite defocus. The same
/// on any number of threads. Throws Interrupted after Ctrl-C.
std::vector<OrientationEnergy> orientation_energies(const Scan& scan);

/// Whether the first is believed.
bool stands_out(const std::vector<OrientationEnergy>& energies);

/// Whether a search at the positions that stand out says nothing against them, beside one at those
/// given. Spokes of a star agree by chance at another defocus: where patterns hold far more than
/// noise, a search at the right positions explains something, and no less than one at wrong ones.
/// Where they hold hardly more, no search can tell.
bool bears_out(const HeldOutFit& there, const HeldOutFit& as_given);

/// "positions: one axis flipped", "axes swapped", "turned by 90 degrees", with a remedy unless the
/// user gave an option that says how the axes lie; nothing where the positions are right, or none
/// stands out.
std::optional<Finding> finding_of(const std::vector<OrientationEnergy>& energies,
                                  const ExamineOptions& options);

}  // namespace ptyche
