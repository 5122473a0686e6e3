// Which misfit is minimised, under the names that the original gives its weights.
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"

namespace ptyche {

LossKind LossWeights::kind() const {
  require((nll > 0) != (mae > 0),
          "--nll-weight and --mae-weight: expected one of them above 0, found {} and {}", nll, mae);
  return nll > 0 ? LossKind::poisson : LossKind::amplitude_absolute;
}

std::vector<Option> loss_weight_option_list(LossWeights& weights) {
  return {{.name = "nll-weight",
           .target = &weights.nll,
           .unit = "",
           .help = "above 0: the Poisson likelihood of the counts is what is trained on",
           .range = {0, 1e6}},
          {.name = "mae-weight",
           .target = &weights.mae,
           .unit = "",
           .help = "above 0, the other 0: the absolute error of the amplitudes is",
           .range = {0, 1e6}}};
}

}  // namespace ptyche
