// ePIE: Maiden & Rodenburg, Ultramicroscopy 109, 1256 (2009), eqs. 5 and 6: both denominators are
// the largest power alone.
#include "ptyche/solve/pie.h"

namespace ptyche {

std::unique_ptr<Solver> make_epie() {
  return make_pie(
      {.object_step = 1, .object_regularisation = 1, .probe_step = 0.2, .probe_regularisation = 1});
}

}  // namespace ptyche
