// A scan as verbs that reconstruct take it: read, examined and corrected.
#pragma once

#include <vector>

#include "ptyche/core/field.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/first_probe.h"

namespace ptyche {

/// How the doctor is told what the user said of the scan.
ExamineOptions examine_options(const ReadOptions& options);

/// --no-check.
Field no_check_option(bool& no_check);

/// Reads the scan and corrects what is certain, with a remark on each correction, warning and note.
/// `probe` tells a raster's turn from the twin's (read_turned_scan). Throws InvalidInput with what
/// was found where solving makes no sense, and as read_scan does. With `no_check` it is read_scan.
Scan checked_scan(const ReadOptions& options, bool no_check, const ProbeChoice& probe = {});

/// It with its first probe (with_first_probe), and, unless `no_check`, with other positions where
/// short solves say so.
FirstProbe prepared_scan(const ReadOptions& options, bool no_check, const ProbeChoice& probe,
                         const KeepProbe& keep);

}  // namespace ptyche
