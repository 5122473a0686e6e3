// The difference map: Thibault, Dierolf, Bunk, Menzel & Pfeiffer, Ultramicroscopy 109, 338 (2009),
// eq. 10: wave <- wave + beta (F(2 P O - wave) - P O).
#include "ptyche/solve/overlap_projection.h"

namespace ptyche {

std::unique_ptr<Solver> make_dm() {
  constexpr float beta = 0.8F;
  return make_overlap_projection({.keep = 1, .reflected = beta, .product = -beta},
                                 /*within_noise=*/true);
}

}  // namespace ptyche
