// What a user chooses about iterative solvers; one struct for the command line, files and tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/interpolation.h"
#include "ptyche/engine/engine.h"
#include "ptyche/physics/losses.h"

namespace ptyche {

/// One solver of a chain and how many passes over the used patterns it makes.
struct ChainLink {
  std::string solver;
  std::int64_t epochs = 0;
};

/// Which corrections of the positions are looked for.
enum class PositionFreedom {
  none,    ///< the given ones are kept
  jitter,  ///< each pattern's own; the grid as a whole keeps its place, scale, rotation and shear
  affine,  ///< these too; only the common shift, which no pattern can tell, is kept
};

struct SolverOptions {
  std::vector<ChainLink> chain = {{"ml", 40}};
  std::int64_t modes = 1;    ///< incoherent probe modes, 1..32
  double mode_power = 0.1;   ///< share of the first mode that each new one starts with
  bool fixed_probe = false;  ///< keep the probe that the chain starts from
  bool background = false;   ///< fit a background per detector pixel, in counts
  PositionFreedom positions = PositionFreedom::none;
  std::optional<LossKind> likelihood = {};  ///< of the counts; nothing = each solver's own
  Interpolation interpolation = Interpolation::probe_fourier;
  Engine engine = Engine::fused;

  std::int64_t batch =
      16;  ///< patterns in a step of ml, >= 1; lsqml takes up to four times as many
  double object_step = 0.05;     ///< of ml, per step, in units of |O| = 1, > 0
  double probe_step = 0.1;       ///< of ml, per step, in shares of the probe's peak, > 0
  double background_step = 0.1;  ///< per step, of the background's square root, sqrt(counts)
  double position_step = 0.03;   ///< px per pass
  double last_step = 0.02;       ///< what is left of all steps in a link's last epoch, 0..1
  /// Share of the last changes that goes on, of lsqml, epie and rpie, 0 <= m < 1; nothing = each
  /// solver's own, 0.5 for lsqml and 0 for the others.
  std::optional<double> momentum = {};

  /// Expected change of the object from pixel to pixel, root mean square, of a Gaussian prior in ml
  /// and lbfgs: it smooths where photons are few and is not noticed where they are many; 0 = none.
  double object_slope = 0.25;
  double max_amplitude = 0;  ///< of the object, > 0; 0 = free
  double probe_support = 0;  ///< radius in shares of N / 2 outside which the probe is 0; 0 = free

  double plateau = 1e-5;    ///< share that ten passes gain at least (see solve); 0 = none
  std::int64_t every = 10;  ///< passes between two looks at the held-out patterns and the image
  std::uint64_t seed = 1;   ///< of the order of the patterns
};

/// "dm:50,lsqml:100" -> links. Throws InvalidInput for another form, a count below 1 or a solver
/// that does not exist.
std::vector<ChainLink> chain_from(const std::string& text);
std::string to_string(const std::vector<ChainLink>& chain);

/// "none", "jitter" or "affine"; throws InvalidInput for another text.
PositionFreedom position_freedom_from(const std::string& name);

/// Throws InvalidInput naming the first option that is out of range.
void check(const SolverOptions& options);

}  // namespace ptyche
