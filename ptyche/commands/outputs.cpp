#include "ptyche/commands/outputs.h"

#include <fmt/format.h>

#include <cstdio>

#include "ptyche/core/files.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/io/product.h"

namespace ptyche {
namespace {

/// Scores of `image` and, first of the extras if there are unseen patterns, of their own image.
Scores scores_of(const Reconstruction& image, const Scan& scan, const Scores& known,
                 const std::vector<ExtraImage>& extras) {
  Scores scores = evaluate(image, scan);
  scores.seconds = known.seconds;
  scores.half_sets = known.half_sets;
  scores.refinement = known.refinement;
  scores.passes_before_divergence = known.passes_before_divergence;
  if (scan.frames_with(FrameUse::unseen).size(0) > 0 && !extras.empty())
    add_unseen_half(scores, extras.front().image, scan);
  return scores;
}

/// What trivial predictors get for the score at `index`: " [flat object 1, ...]".
std::string guesses_after(const std::vector<NamedScore>& scores, std::size_t index) {
  std::string text;
  for (std::size_t next = index + 1; next < scores.size() && !scores[next].predictor.empty();
       ++next)
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", scores[next].predictor,
                        scores[next].value);
  return text.empty() ? "" : "  [" + text + "]";
}

}  // namespace

Comparison write_half_sets(const std::filesystem::path& folder, const Scan& scan,
                           const ScanToImage& reconstruct) {
  const HalfSets halves = half_sets(scan, reconstruct);
  write_reconstruction(folder / "half_even.h5", halves.even);
  write_reconstruction(folder / "half_odd.h5", halves.odd);
  const RingCorrelation& rings = halves.agreement.rings;
  std::string table = "cycles_per_px,correlation,half_bit,one_bit\n";
  for (std::size_t ring = 0; ring < rings.cycles_per_px.size(); ++ring)
    table += fmt::format("{:.8g},{:.8g},{:.8g},{:.8g}\n", rings.cycles_per_px[ring],
                         rings.correlation[ring], rings.half_bit[ring], rings.one_bit[ring]);
  write_text(folder / "half_sets.csv", table);
  return halves.agreement;
}

void fill_provenance(Reconstruction& image, const Model& model, const std::string& command,
                     const std::string& options_json) {
  image.provenance.seed = model.seed;
  image.provenance.command = command;
  image.provenance.options_json = options_json;
  std::vector<double> losses;
  for (const EpochRecord& record : model.history) losses.push_back(record.loss);
  image.loss.insert(image.loss.begin(), losses.begin(), losses.end());
}

void print_scores(const std::vector<NamedScore>& scores) {
  for (std::size_t index = 0; index < scores.size(); ++index) {
    const NamedScore& score = scores[index];
    if (score.predictor.empty())
      fmt::print("{:<42} {:>11.5g}{}  {}\n", score.name, score.value, guesses_after(scores, index),
                 score.meaning);
  }
}

void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras) {
  const std::filesystem::path file = folder / "reconstruction.h5";
  write_reconstruction(file, image);
  scores = scores_of(image, scan, scores, extras);
  write_reconstruction(file, image, &scores);
  write_text(folder / "scores.json", scores_json(scores));
  print_scores(named_scores(scores));
  if (write_report(folder, image, scores, extras))
    fmt::print("\n{}\n", (folder / "report.html").string());
}

}  // namespace ptyche
