// Options that only PtychoPINN's two back ends have, and what is said where they are given.
#pragma once

#include <string>
#include <vector>

#include "ptyche/core/field.h"

namespace ptyche {

struct BackendWords {
  std::string backend;        ///< tensorflow or pytorch
  bool xla = false;           ///< of TensorFlow's translation
  std::string torch_setting;  ///< value of any --torch-* option that has one
  bool torch_switch = false;  ///< any that has none
};
std::vector<Field> fields(BackendWords& words);

/// One line for each kind that was given: it is not needed here, and why.
void note_backend_words(const BackendWords& words);

}  // namespace ptyche
