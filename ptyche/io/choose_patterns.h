// Which patterns are taken, and which position belongs to which.
#pragma once

#include "ptyche/io/read_scan.h"
#include "ptyche/io/readers.h"

namespace ptyche {

/// `--exposures K`: of K patterns for each position, beside each other (or sweep after sweep, where
/// the file's first axis counts K), their sums; of as many positions the mean of K. Throws
/// InvalidInput where patterns are not K times as many, and for amplitudes.
void sum_exposures(RawScan& raw, const ReadOptions& options);

/// `--frames`: FIRST:END[:STEP] of the patterns, several with commas between, counted from 0;
/// negative numbers count from the end. Where positions are not as many as patterns (a scan that
/// ended early, a detector that was triggered once too often), all of them belong to the patterns
/// that are taken if these are as many; where they are more, else those of the same numbers; a
/// warning says so. Throws InvalidInput for another text, where none is left, and where positions
/// are not as many and `frames` does not tell which ones are meant.
void choose_patterns(RawScan& raw, const std::string& frames);

}  // namespace ptyche
