#include "ptyche/commands/run_result.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <thread>

#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/product.h"

namespace ptyche {
namespace {

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown processor";
}

std::string machine() {
  const unsigned cores = std::thread::hardware_concurrency();
  const int threads = at::get_num_threads();
  return fmt::format("{}, {} core{}, {} thread{} used", processor(), cores, cores == 1 ? "" : "s",
                     threads, threads == 1 ? "" : "s");
}

}  // namespace

RunRecord::RunRecord(std::string options_json, std::uint64_t seed)
    : options_json_(std::move(options_json)), seed_(seed) {}

void RunRecord::stamp(Reconstruction& image, const std::vector<Attempt>& attempts) const {
  Provenance& from = image.provenance;
  from.seed = seed_;
  from.command = command_line();
  from.options_json = options_json_;
  from.version = fmt::format("{}, commit {}", version(), commit());
  from.date = utc_now();
  from.machine = machine();
  from.attempts = attempts;
  from.remarks = heard_.list();
}

void RunRecord::stamp(Reconstruction& image, const Model& model,
                      std::vector<Attempt> attempts) const {
  Attempt training{.what = "training of the network",
                   .passes = static_cast<std::int64_t>(model.history.size()),
                   .kept = true};
  std::vector<double> losses;
  for (const EpochRecord& record : model.history) losses.push_back(record.loss);
  attempts.insert(attempts.begin(), training);
  stamp(image, attempts);
  image.provenance.seed = model.seed;
  image.loss.insert(image.loss.begin(), losses.begin(), losses.end());
}

namespace {

/// Scores of `image` and, first of the extras if there are unseen patterns, of their own image.
Scores scores_of(const Reconstruction& image, const Scan& scan, const Scores& known,
                 const std::vector<ExtraImage>& extras) {
  Scores scores = evaluate(image, scan);
  scores.seconds = known.seconds;
  scores.half_sets = known.half_sets;
  scores.refinement = known.refinement;
  scores.passes_before_divergence = known.passes_before_divergence;
  scores.probe = known.probe;
  scores.verdict = known.verdict;
  scores.trust = known.trust;
  scores.remarks = image.provenance.remarks;
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

void print_scores(const std::vector<NamedScore>& scores) {
  for (std::size_t index = 0; index < scores.size(); ++index) {
    const NamedScore& score = scores[index];
    if (score.predictor.empty())
      show("{:<42} {:>11.5g}{}  {}\n", score.name, score.value, guesses_after(scores, index),
           score.meaning);
  }
}

namespace {

/// "good: expected error ..", and why it is not good.
void say_verdict(const Verdict& verdict) {
  summarise("{}\n", first_line(verdict));
  for (const std::string& reason : verdict.reasons) summarise("          {}\n", reason);
}

std::string count_of(const Reconstruction& image, FrameUse use) {
  return fmt::format("{}", image.frame_use.eq(static_cast<int>(use)).sum().item<std::int64_t>());
}

void say_scan(const Reconstruction& image, const Scan& scan) {
  summarise("scan      {}: {} patterns of {} x {} px ({} used, {} held out)\n",
            std::filesystem::path(scan.source()).filename().string(), scan.frames(),
            scan.pattern_size(), scan.pattern_size(), count_of(image, FrameUse::used),
            count_of(image, FrameUse::held_out));
}

void say_image(const Reconstruction& image) {
  const std::int64_t modes = image.modes();
  const std::string pixel = image.geometry.has_object_pixel()
                                ? fmt::format(" of {:.4g} nm", 1e9 * image.geometry.object_pixel_m)
                                : "";
  summarise("image     {} px{}, {} probe mode{}{}{}\n",
            fmt::join(image.projection().sizes(), " x "), pixel, modes, modes == 1 ? "" : "s",
            image.background.defined() ? ", a background" : "",
            image.intensities.defined() ? ", the beam's intensity in each pattern" : "");
}

void say_fit(const Scores& scores) {
  if (!scores.held_out) return;
  const DataFit& fit = *scores.held_out;
  const std::string mean =
      scores.trivial
          ? fmt::format(", mean pattern {:.4g}", scores.trivial->mean_pattern_deviance_per_photon)
          : "";
  const std::string r_factor = r_factor_tells(fit, scores.trivial)
                                   ? fmt::format(", R {:.4g}", fit.r_factor)
                                   : "; R tells little: noise alone leaves about as much of it as "
                                     "one guess for all patterns";
  summarise("fit       deviance of held-out patterns {:.4g} per photon (noise {:.4g}{}){}\n",
            fit.deviance_per_photon, fit.deviance_per_photon_floor, mean, r_factor);
}

void say_truth(const Scores& scores) {
  if (!scores.truth) return;
  summarise(
      "truth     error {:.3g} of the contrast (flat object {:.3g}, truth blurred by 1 px {:.3g})\n",
      scores.truth->error.nrmse_contrast, scores.truth->flat.nrmse_contrast,
      scores.truth->blurred.nrmse_contrast);
}

}  // namespace

void write_image(const std::filesystem::path& folder, const Reconstruction& image, const Scan& scan,
                 Scores scores, const std::vector<ExtraImage>& extras) {
  const std::filesystem::path file = folder / "reconstruction.h5";
  write_reconstruction(file, image);
  scores = scores_of(image, scan, scores, extras);
  write_reconstruction(file, image, &scores);
  write_text(folder / "scores.json", scores_json(scores));
  if (scores.verdict) say_verdict(*scores.verdict);
  say_scan(image, scan);
  say_image(image);
  say_fit(scores);
  say_truth(scores);
  if (scores.trust) summarise("trust     {}\n", first_line(*scores.trust));
  if (shows(MessageLevel::debug)) print_scores(named_scores(scores));
  if (write_report(folder, image, scores, {.extras = extras, .scan = scan}))
    summarise("report    {} (image after {})\n", (folder / "report.html").string(),
              format_duration(scores.seconds));
}

}  // namespace ptyche
