// Which misfit is minimised, under the names that the original gives its weights.
#include "ptyche/commands/option_lists.h"
#include "ptyche/core/error.h"

namespace ptyche {

LossKind LossWeights::kind() const {
  require(nll == 0 || mae == 0,
          "--nll-weight and --mae-weight: expected one of them above 0, found {} and {}", nll, mae);
  if (nll == mae) return otherwise;
  return nll > 0 ? LossKind::poisson : LossKind::amplitude_absolute;
}

std::vector<Field> loss_weight_option_list(LossWeights& weights) {
  const bool poisson = weights.otherwise == LossKind::poisson;
  const auto help = [](const char* what, bool is_default) {
    return fmt::format("above 0: {} is trained on{}", what, is_default ? " (so without both)" : "");
  };
  return {{.name = "nll-weight",
           .target = &weights.nll,
           .help = help("the Poisson likelihood of the counts", poisson),
           .range = {0, 1e6}},
          {.name = "mae-weight",
           .target = &weights.mae,
           .help = help("the absolute error of the amplitudes", !poisson),
           .range = {0, 1e6}}};
}

}  // namespace ptyche
