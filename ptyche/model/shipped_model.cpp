#include "ptyche/model/shipped_model.h"

#include <string_view>

namespace ptyche {

/// The bytes of ptyche/model/shipped.ptyche (cmake/Options.cmake puts them into the program).
std::string_view shipped_model_file();

Model shipped_model() {
  return read_model_from(Hdf5File::from_memory(shipped_model_file(), "shipped network"));
}

}  // namespace ptyche
