#include "ptyche/commands/option_lists.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "ptyche/commands/parse.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/engine/engine.h"
#include "ptyche/evaluate/evaluate.h"
#include "ptyche/io/product.h"

namespace ptyche {

Field output_dir_option(std::filesystem::path& folder, const std::string& help) {
  return {
      .name = "output-dir", .target = &folder, .help = help, .short_name = "o", .required = true};
}

Field threads_option(std::int64_t& threads) {
  return {.name = "threads",
          .target = &threads,
          .help = "0 = one per core",
          .range = {0, 4096},
          .affects_result = false};  // but for rounding
}

void use_threads(std::int64_t threads) {
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
}

std::vector<Field> far_field_scan_options(ReadOptions& options) {
  return without(fields(options), {"near-field", "source-distance"});
}

std::vector<Field> whole_scan_options(ReadOptions& options) {
  return without(fields(options), {"hold-out", "hold-out-file", "unseen-half"});
}

void TrainingChoices::resolve() {
  as_usage([&] { require_own_options(train.network); });
  require_device(train.engine, train.device);
  use_threads(threads);
  scan.seed = group.seed = train.seed;
  train.checkpoint = output / "checkpoint.ptyche";
  // The probe is calibrated so that |object| is about 1, in the middle of a sigmoid.
  train.network.amplitude_range = 2;
}

FixedGroupOptions GroupingChoices::resolved_groups(std::uint64_t seed) const {
  FixedGroupOptions options = groups;
  options.gridsize = std::max<std::int64_t>(groups.gridsize, 1);
  options.seed = seed;
  return options;
}

SubsampleOptions GroupingChoices::resolved_subsample() const {
  SubsampleOptions options = subsample;
  options.first = groups.sequential;
  return options;
}

std::vector<Field> fields(GroupingChoices& choices) {
  return joined({fields(choices.groups), fields(choices.subsample)});
}

bool draws_groups(const TrainingChoices& training, const GroupingChoices& grouping) {
  return grouping.groups.gridsize == 0 && traits_of(training.train.network).has_stem;
}

void require_own_grouping(TrainingChoices training, GroupingChoices grouping) {
  const bool drawn = draws_groups(training, grouping);
  GroupOptions group;
  FixedGroupOptions fixed{.gridsize = 0};
  for (const std::string& name : drawn ? changed(fields(grouping.groups), fields(fixed))
                                       : changed(fields(training.group), fields(group))) {
    if (drawn && name == "sequential-sampling" && grouping.subsample.count > 0) continue;
    throw UsageError(fmt::format(
        "--{}: {}", name,
        drawn ? "groups are drawn anew in every epoch; with --gridsize they are chosen once"
              : "groups are chosen once, of --gridsize^2 patterns, all of them merged"));
  }
}

Groups groups_for(const Scan& scan, const TrainingChoices& training,
                  const GroupingChoices& grouping) {
  if (draws_groups(training, grouping)) return make_groups(scan, training.group);
  const std::uint64_t seed = training.train.seed;
  return groups_of(fixed_groups(scan, grouping.resolved_groups(seed)), seed);
}

LossKind LossWeights::kind() const {
  require(nll == 0 || mae == 0,
          "--nll-weight and --mae-weight: expected one of them above 0, found {} and {}", nll, mae);
  if (nll == mae) return otherwise;
  return nll > 0 ? LossKind::poisson : LossKind::amplitude_absolute;
}

std::vector<Field> fields(LossWeights& weights) {
  const bool poisson = weights.otherwise == LossKind::poisson;
  const auto help = [](const char* what, bool is_default) {
    return fmt::format("above 0: {} is trained on{}", what, is_default ? " (so without both)" : "");
  };
  return {{.name = "nll-weight",
           .target = &weights.nll,
           .help = help("the Poisson likelihood of the counts", poisson),
           .range = {0, 1e6}},
          {.name = "mae-weight",
           .target = &weights.mae,
           .help = help("the absolute error of the amplitudes", !poisson),
           .range = {0, 1e6}}};
}

Field backend_option(std::string& backend) {
  return {.name = "backend",
          .target = &backend,
          .help = "accepted and not needed: --engine chooses",
          .choices = {"", "tensorflow", "pytorch"}};
}

void note_backend(const std::string& backend) {
  if (!backend.empty())
    note("--backend {}: there is one program; --engine chooses how the physics is computed",
         backend);
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

void print_verdict(const Verdict& verdict) {
  fmt::print("{}\n", first_line(verdict));
  for (const std::string& reason : verdict.reasons) fmt::print("  {}\n", reason);
  fmt::print("\n");
}

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
  if (scores.verdict) print_verdict(*scores.verdict);
  print_scores(named_scores(scores));
  if (write_report(folder, image, scores, extras))
    fmt::print("\n{}\n", (folder / "report.html").string());
}

}  // namespace ptyche
