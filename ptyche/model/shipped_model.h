// The network that comes with the program.
#pragma once

#include "ptyche/model/model.h"

namespace ptyche {

/// A network for any scan, trained on simulated scans alone (tools/pretrain, docs/network.md), out
/// of the program itself. Its own probe is none of a user's: see model_for.
Model shipped_model();

}  // namespace ptyche
