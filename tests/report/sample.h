// A small result to report on: a Siemens star of 1 rad, softly lit, with every kind of score.
#pragma once

#include <ATen/ATen.h>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scores.h"

namespace ptyche {

/// 72 x 96 pixels; the light is a disc that fades at its rim and leaves the corners dark.
inline Reconstruction sample_star() {
  const at::Tensor rows = (at::arange(72, at::kFloat) - 36).unsqueeze(1);
  const at::Tensor cols = (at::arange(96, at::kFloat) - 48).unsqueeze(0);
  const at::Tensor radius = (rows.square() + cols.square()).sqrt();
  const at::Tensor spokes = at::sign(at::sin(at::atan2(rows, cols) * 12)) * 0.5;
  Reconstruction image;
  image.object = at::polar(1 - 0.2 * (spokes + 0.5), spokes).unsqueeze(0);
  image.coverage = ((34 - radius) / 10).clamp(0, 1);
  image.probe = at::complex(at::exp(-radius.slice(1, 12, 84).square() / 200), at::zeros({72, 72}))
                    .unsqueeze(0)
                    .repeat({1, 2, 1, 1});
  image.frame_use = at::tensor({0, 0, 0, 1}, at::kByte);
  image.loss = {3.0, 1.0, 0.5, 0.2};
  image.provenance.source = "/data/a \"<b>&'\xc3\xa9.npz";
  image.provenance.input_hash = "0123456789abcdef";
  image.provenance.command = "ptyche reconstruct <scan> && echo 'done'";
  image.provenance.options_json = R"({"train": {"epochs": 4, "note": "<script>"}})";
  image.provenance.seed = 4711;
  return image;
}

/// A correlation that falls from 1 to 0.2 and crosses half a bit at 0.25 cycles per pixel.
inline Comparison sample_comparison() {
  Comparison comparison;
  for (int ring = 0; ring <= 32; ++ring) {
    comparison.rings.cycles_per_px.push_back(ring / 64.0);
    comparison.rings.correlation.push_back(1 - 0.025 * ring);
    comparison.rings.half_bit.push_back(0.6);
    comparison.rings.one_bit.push_back(0.7);
  }
  comparison.error.frc = {0.25, 0.1875, 0.3125, 0.5};
  return comparison;
}

inline Scores sample_scores() {
  Scores scores;
  scores.used = DataFit{3, 0.08, 0.047, 0.039, 0.0127};
  scores.held_out = DataFit{1, 0.0865, 0.0471, 0.0419, 0.0127};
  scores.trivial = TrivialFit{0.2041, 0.31, 0.215, 0.29};
  scores.truth = Comparison{};
  scores.seconds = 205;
  scores.object_contrast = 0.21;
  return scores;
}

}  // namespace ptyche
