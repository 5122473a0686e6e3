#include "ptyche/commands/outputs.h"

#include <fmt/format.h>

#include <cstdio>

#include "ptyche/core/files.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/io/product.h"
#include "ptyche/io/scores_json.h"
#include "ptyche/model/model_file.h"

namespace ptyche {
namespace {

void print_scores(const Scores& scores) {
  for (const NamedScore& score : named_scores(scores))
    fmt::print("{:<42} {:>11.5g}  {}\n", score.name, score.value, score.meaning);
}

/// Scores of `image` and, first of the extras if there are unseen patterns, of their own image.
Scores measure(const Reconstruction& image, const Scan& scan, const Scores& known,
               const std::vector<ExtraImage>& extras) {
  Scores scores = evaluate(image, scan);
  scores.seconds = known.seconds;
  if (scan.frames_with(FrameUse::unseen).size(0) > 0 && !extras.empty())
    add_unseen_half(scores, extras.front().image, scan);
  return scores;
}

}  // namespace

void write_training(const std::filesystem::path& folder, const Model& model) {
  write_model(folder / "model.ptyche", model);
  std::string table = "epoch,loss_per_photon,object_contrast,probe_change,learning_rate\n";
  for (const EpochRecord& record : model.history)
    table += fmt::format("{},{:.8g},{:.6g},{:.6g},{:.6g}\n", record.epoch, record.loss_per_photon,
                         record.object_contrast, record.probe_change, record.learning_rate);
  write_text(folder / "history.csv", table);
}

void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras) {
  const std::filesystem::path file = folder / "reconstruction.h5";
  write_reconstruction(file, image);
  scores = measure(image, scan, scores, extras);
  write_reconstruction(file, image, &scores);
  write_text(folder / "scores.json", scores_json(scores));
  write_report(folder, image, scores, extras);
  print_scores(scores);
  fmt::print("\n{}\n", (folder / "report.html").string());
}

}  // namespace ptyche
