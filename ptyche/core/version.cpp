#include "ptyche/core/version.h"

#include "ptyche_version.h"

namespace ptyche {

std::string version() { return PTYCHE_VERSION; }
std::string commit() { return PTYCHE_COMMIT; }

}  // namespace ptyche
