// How verbs that make an image keep its probe for later scans (prepare/probe_library.h).
#pragma once

#include <optional>
#include <string>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/verdict.h"

namespace ptyche {

/// --keep-probe. Empty = nothing is kept.
Field keep_probe_option(std::string& name);

/// Before long work. Throws InvalidInput for a name that cannot be kept.
void require_can_keep(const std::string& name);

/// Keeps the probe of an image that is written; of one that failed none. A probe that cannot be
/// kept is a warning.
void keep_probe_of(const std::string& name, const Reconstruction& image,
                   const std::optional<Verdict>& verdict = {});

}  // namespace ptyche
