// Which distance between expected and measured counts is minimised.
#pragma once

namespace ptyche {

enum class LossKind {
  poisson,             ///< poisson_loss
  amplitude_square,    ///< amplitude_loss, squared
  amplitude_absolute,  ///< amplitude_loss, absolute value
};

}  // namespace ptyche
