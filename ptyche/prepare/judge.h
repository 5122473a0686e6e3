// The tests of the doctor, one after the other: each adds what it finds to a diagnosis, and the
// numbers by which. Their thresholds stand with what was measured, good scans | faults.
#pragma once

#include <string>

#include "ptyche/prepare/findings.h"
#include "ptyche/prepare/likeness.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

// Positions by themselves.

/// "positions: unit"; "positions: no overlap".
///   probe_given  by the file; else the pattern's size stands for the probe's
void judge_places(Diagnosis& diagnosis, const Scan& scan, bool probe_given,
                  const ExamineOptions& options);

// Near field.

/// "patterns: near field", refused, of a scan that is not said to be one: light all over the
/// detector and shadows that move too slowly for a far field, or steps wider than its window;
/// "patterns: near field?", a warning, where the detector is near and no shadow can be followed.
/// Nothing where the user said that it is none.
void judge_near_field(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                      const ExamineOptions& options);

/// Of a near-field scan: "near field: scale", refused, where its shadows move otherwise than the
/// positions; "positions: ..." where these are flipped or exchanged, the sign being known.
void judge_near_positions(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                          const ExamineOptions& options);

// Values.

/// "values: amplitudes", "counts squared", "logarithms", "scaled counts", "no whole counts":
/// photons come in whole numbers, so that under the right transform the weak values are whole
/// multiples of the smallest.
void judge_transform(Diagnosis& diagnosis, const Patterns& patterns, const ExamineOptions& options);

/// "values: clipped", "values: wrapped"; of whole counts only.
void judge_limits(Diagnosis& diagnosis, const Patterns& patterns);

// The detector: what it does to every pattern.

/// "mask: inverted": most of the light lies in pixels that it hides.
///   scan  for the counts of the hidden pixels
void judge_mask(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                const ExamineOptions& options);

/// "probe: at the corner": the middle of its light is half the field from that of the field, as
/// programs have it that transform without moving the zero.
void judge_probe_place(Diagnosis& diagnosis, const at::Tensor& probe,
                       const ExamineOptions& options);

/// "detector: noise only", "dead lines", "cosmic rays", "gaps", "gain of a quadrant", "hot pixels";
/// "mask: in another place" where it hides gaps as soon as it is moved, flipped or transposed.
///   scan  for the counts of the hidden pixels
void judge_detector(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                    const ExamineOptions& options);

// Single patterns: stuck ones that repeat another, and those that are none of this scan.

/// "frames: all the same", "frames: repeated": bit for bit, of all patterns with light.
void judge_repeats(Diagnosis& diagnosis, const Scan& scan);

/// "frames: garbage": empty, overfull, or unlike the mean pattern; and the number "beam", the
/// spread of the totals about their neighbours.
///   drifts  the centre does, so that patterns may be unlike the mean one
void judge_frames(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns, bool drifts);

// Where the zero frequency is, and whether the probe's far field is the mean pattern.

/// "centre: drifts": between thirds of the scan's time.
void judge_drift(Diagnosis& diagnosis, const Patterns& patterns);

/// "centre: at the corner", "centre: off"; else "probe: far field", "probe: fills the field".
///   probe        (modes, N, N) complex64
///   probe_given  by the file; else it is made of the mean pattern and says nothing
void judge_centre(Diagnosis& diagnosis, const Patterns& patterns, const at::Tensor& probe,
                  bool probe_given, const ExamineOptions& options);

// Patterns against positions.

/// "positions: ..." (orientation, scale) and "probe: not curved" by the shadows (likeness.h),
/// "order:
/// ..." by how alike neighbours are.
/// Without a probe of the file signs cannot be told, nor the scale, which short solves must bear
/// out.
void judge_neighbours(Diagnosis& diagnosis, const Scan& scan, const Patterns& patterns,
                      const ExamineOptions& options);

/// What positions of an orientation have suffered, empty for none, and what turns them back.
///   reversed  the gain's sign is against that of the light
struct NamedTurn {
  std::string what;
  TurnPositions back;
};
NamedTurn turn_back(Orientation orientation, bool reversed);

/// The strongest shadow, whether it counts, and whether the probe's own is strong.
struct SeenShadow {
  Shadow best = {};
  bool is_seen = false, own_strong = false;
};

/// "order: ..." by how alike neighbours are; and the number "signal", the share of the patterns'
/// differences that is not photon noise.
void judge_order(Diagnosis& diagnosis, const Likeness& likeness, const Patterns& patterns,
                 const SeenShadow& seen, const ExamineOptions& options);

}  // namespace ptyche
