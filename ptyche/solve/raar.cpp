// Relaxed averaged alternating reflections: Luke, Inverse Problems 21, 37 (2005), eq. 13, the
// overlap first: wave <- beta (wave + F(2 P O - wave)) + (1 - 2 beta) P O.
#include "ptyche/solve/overlap_projection.h"

namespace ptyche {

std::unique_ptr<Solver> make_raar() {
  constexpr float beta = 0.8F;
  return make_overlap_projection({.keep = beta, .reflected = beta, .product = 1 - 2 * beta},
                                 /*within_noise=*/false);
}

}  // namespace ptyche
