// The first half of `reconstruct`: a scan to a model. Takes PtychoPINN's options too.
#include <fmt/format.h>

#include <memory>

#include "ptyche/commands/command_line.h"
#include "ptyche/commands/option_lists.h"
#include "ptyche/commands/parse.h"
#include "ptyche/commands/ptychopinn_words.h"
#include "ptyche/commands/run_result.h"
#include "ptyche/commands/several_scans.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/core/ranks.h"
#include "ptyche/model/model.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/prepare/scan_rotation.h"
#include "ptyche/ptychopinn/pictures.h"
#include "ptyche/ptychopinn/probe_shape.h"
#include "ptyche/train/ptychopinn_recipe.h"
#include "ptyche/train/together.h"
#include "ptyche/train/universe_training.h"

namespace ptyche {
namespace {

struct TrainVerbOptions : TrainingChoices {
  GroupingChoices grouping{.groups = {.gridsize = 0}};
  LossWeights loss;
  ProbeChoice probe;
  PictureOptions pictures{.image = true};
  ProbeShape shape;
  BackendWords backend;
  std::string preset = "none", model_type = "pinn";
  std::vector<std::filesystem::path> scans;
  std::filesystem::path list, universe, test_file;
  bool do_stitching = false;
  WeightType stored = WeightType::float32;
};

Command declare(const std::shared_ptr<TrainVerbOptions>& options);

/// --probe-scale means something to PtychoPINN's recipe alone; its configurations always have it.
void leave_out_probe_scale(TrainOptions& train) {
  if (train.recipe == TrainRecipe::ptychopinn || train.probe_scale == 0) return;
  note(
      "--probe-scale {:g}: left out, the counts say how bright the probe is; it goes with "
      "--preset ptychopinn",
      train.probe_scale);
  train.probe_scale = 0;
}

/// Values that follow from others.
void resolve(TrainVerbOptions& options) {
  if (options.scans.empty() && !options.scan.file.empty()) options.scans = {options.scan.file};
  const bool some = !options.scans.empty() || !options.list.empty();
  if (some && !options.universe.empty())
    throw UsageError("--universe: its scans are simulated; give it or SCAN, not both");
  if (!some && options.universe.empty())
    throw UsageError("SCAN is missing (" + scan_formats() +
                     " file; --scan-list and --train-data-file name scans, too)");
  NetworkOptions& network = options.train.network;
  if (options.model_type == "supervised") network.name = "supervised";
  as_usage([&] { require_recipe(options.train); });
  leave_out_probe_scale(options.train);
  if (traits_of(network).group_input)
    network.gridsize = std::max<std::int64_t>(options.grouping.groups.gridsize, 1);
  options.train.loss = options.loss.kind();
  options.train.mae_share = options.loss.mae_share();
  options.TrainingChoices::resolve();
  if (options.train.recipe == TrainRecipe::ptychopinn) network.amplitude_range = 1;
  require_own_grouping(options, options.grouping);
  note_backend_words(options.backend);
}

/// The image of the test scan, or of the scan itself.
void write_stitched(const TrainVerbOptions& options, const Scan& scan, const Model& model,
                    const Stopwatch& watch, const RunRecord& record) {
  ReadOptions test = options.scan;
  test.file = options.test_file;
  const Scan seen = options.test_file.empty() ? scan : read_turned_scan(test);
  const Model lit = model_for(seen, model);
  Reconstruction image = network_image(lit, seen,
                                       {.precision = options.train.precision,
                                        .engine = options.train.engine,
                                        .device = options.train.device});
  record.stamp(image, lit, {});
  write_image(options.output, image, seen, {.seconds = model.seconds_before + watch.seconds()}, {});
  write_ptychopinn_pictures(options.output, image, seen, options.pictures);
}

/// Where the probe that was looked for is kept, of several scans for each.
std::filesystem::path first_probe_file(const TrainVerbOptions& options, std::size_t number,
                                       std::size_t scans) {
  if (scans == 1) return options.output / kFirstProbeFile;
  return options.output / fmt::format("first_probe_{:05}.h5", number + 1);
}

/// The probe that a training goes on with: beside a network that is trained already most of what is
/// missing is in the probe, so one that was looked for is refined as `infer` does it.
Scan with_probe_to_go_on(const FirstProbe& first, const TrainVerbOptions& options) {
  const bool looked_for = options.probe.probe == "auto" || options.probe.probe == "library";
  const bool goes_on = !options.train.start.empty() && options.train.recipe == TrainRecipe::ptyche;
  return looked_for && goes_on ? with_refined_probe(first.scan).scan : first.scan;
}

/// One of the scans as it is trained on.
TrainingScan prepared(const TrainVerbOptions& options, const WeightedJob& asked,
                      const std::filesystem::path& probe_file) {
  ReadOptions how = options.scan;
  how.file = asked.job.file;
  how.scan_index = asked.job.scan_index;
  const FirstProbe first = with_first_probe(read_turned_scan(how, options.probe), options.probe,
                                            {.file = probe_file, .resume = options.train.resume});
  const Scan scan = subsample(with_shaped_probe(with_probe_to_go_on(first, options), options.shape),
                              options.grouping.resolved_subsample());
  return {
      .scan = scan, .groups = groups_for(scan, options, options.grouping), .weight = asked.weight};
}

/// What is meant for one scan, of several.
void require_one_scan(const TrainVerbOptions& options) {
  if (!options.scan.hold_out_file.empty())
    throw UsageError("--hold-out-file: its numbers are those of one scan; of several --hold-out");
  if (options.do_stitching && options.test_file.empty())
    throw UsageError("--do-stitching: of several scans; --test-data-file says which one");
}

std::vector<WeightedJob> jobs_of(const TrainVerbOptions& options) {
  std::vector<WeightedJob> jobs = weighted_jobs(options.scans, options.list, options.scan);
  // A file of several scans that is given alone is refused by its reader, which knows the way out.
  if (options.list.empty() && options.scans.size() == 1 &&
      std::filesystem::exists(options.scans.front()))
    jobs = {{{options.scans.front(), options.scan.scan_index, ""}}};
  if (jobs.size() > 1) require_one_scan(options);
  return jobs;
}

/// What goes with scans of one's own alone.
void require_universe_options(TrainVerbOptions options) {
  TrainVerbOptions usual;
  for (const std::string& name : given(fields(options.probe), fields(usual.probe)))
    throw UsageError("--" + name + ": it goes with a scan, not with --universe");
  const TrainOptions& train = options.train;
  if (options.do_stitching || train.positions != PositionFreedom::none || train.tv_weight > 0 ||
      train.realspace_mae > 0)
    throw UsageError(
        "--do-stitching, --refine-positions, --tv-weight and --realspace-mae-weight go with a "
        "scan, not with --universe");
}

void run_universe(const TrainVerbOptions& options) {
  if (ranks().several())
    throw UsageError("--universe: it is trained on by one process, found several started together");
  require_universe_options(options);
  const Universe universe = read_universe(options.universe);
  const OutputFolder folder(options.output, folder_use(options.overwrite, options.train.resume),
                            model_files());
  write_training(options.output, train_on_universe(universe, options.train), options.stored);
  remove_if_possible({options.train.checkpoint});
  summarise("{}\n", (options.output / "model.ptyche").string());
}

void run_train(TrainVerbOptions options, const std::string& options_json) {
  const Stopwatch watch;
  resolve(options);
  if (!options.universe.empty()) return run_universe(options);
  const std::vector<WeightedJob> jobs = jobs_of(options);
  const RunRecord record(options_json, options.train.seed);
  const RunFiles files = options.do_stitching
                             ? joined(joined(model_files(), image_files()), picture_files())
                             : model_files();
  const OutputFolder folder(options.output, folder_use(options.overwrite, options.train.resume),
                            files);
  std::vector<std::filesystem::path> kept{options.train.checkpoint};
  std::vector<TrainingScan> scans;
  for (const WeightedJob& job : jobs) {
    kept.push_back(first_probe_file(options, scans.size(), jobs.size()));
    scans.push_back(prepared(options, job, kept.back()));
  }
  const Model model = train_by_ranks(scans, options.train);
  write_training(options.output, model, options.stored);
  // Only now: until the model is written, the checkpoint is all that there is of the work.
  remove_if_possible(kept);
  summarise("{}\n", (options.output / "model.ptyche").string());
  if (options.do_stitching) write_stitched(options, scans.front().scan, model, watch, record);
}

/// PtychoPINN's way with all that goes with it. Options that are given themselves come after it.
TextTarget preset_target(TrainVerbOptions& options) {
  return {.get = [&options] { return options.preset; },
          .set =
              [&options](const std::string& word) {
                options.preset = word;
                if (word != "ptychopinn") return;
                options.train = with_ptychopinn_recipe(options.train);
                options.probe.probe = "scan";
                options.grouping.groups.own_seed = false;
                options.grouping.groups.gridsize = 1;
              },
          .choices = {"none", "ptychopinn"}};
}

/// probe_trainable of PtychoPINN's files: whether the probe is trained; auto = as without it.
TextTarget probe_trainable_target(TrainOptions& train) {
  return {.get = [&train] { return train.fixed_probe ? "false" : "true"; },
          .set = [&train](const std::string& word) { train.fixed_probe = word == "false"; },
          .choices = {"true", "false"}};
}

/// The loss that PyTorch's trainer is given; empty = as the weights say.
TextTarget torch_loss_target(LossWeights& loss) {
  return {.get = [&loss] { return loss.mae > 0   ? "mae"
                                  : loss.nll > 0 ? "poisson"
                                                 : ""; },
          .set =
              [&loss](const std::string& word) {
                if (word.empty()) return;
                loss.nll = word == "poisson" ? 1 : 0;
                loss.mae = word == "mae" ? 1 : 0;
              },
          .choices = {"", "poisson", "mae"}};
}

/// What a PtychoPINN user types, where it is not an option of another list.
std::vector<Field> ptychopinn_option_list(TrainVerbOptions& options) {
  return {
      {.name = "train-data-file",
       .target = &options.scan.file,
       .help = "the scan, instead of SCAN"},
      {.name = "test-data-file",
       .target = &options.test_file,
       .help = "scan for --do-stitching; none = the one that is trained on"},
      {.name = "do-stitching",
       .target = &options.do_stitching,
       .help = "inference and stitching after training, as infer does with --ptychopinn-pictures"},
      {.name = "model-type",
       .target = &options.model_type,
       .help = "supervised: the same as --network supervised",
       .choices = {"pinn", "supervised"}},
      {.name = "probe-scale",
       .target = &options.train.probe_scale,
       .help = "divisor of the probe, in units of its mean amplitude, with --preset ptychopinn; "
               "sets how bright the object is",
       .range = {0, 1e6}},
      {.name = "probe-trainable",
       .target = probe_trainable_target(options.train),
       .help = "false: the same as --fixed-probe",
       .implied = "true",
       .record_name = "probe_trainable"},
      {.name = "torch-loss-mode",
       .target = torch_loss_target(options.loss),
       .help = "poisson: the same as --nll-weight 1; mae: as --mae-weight 1",
       .affects_result = false}};
}

Command declare(const std::shared_ptr<TrainVerbOptions>& options) {
  return {
      .name = "train",
      .summary = "train a network on a scan, or one on many",
      .description =
          "The first half of `reconstruct`. Leaves model.ptyche and history.csv; "
          "Ctrl-C keeps a checkpoint from which --resume goes on. With --gridsize, or another "
          "network than ours, groups are chosen once, as PtychoPINN does. Of several scans (other "
          "samples, probes, doses) each keeps a probe and a background of its own, and one network "
          "learns from all; `infer` then takes the probe of the scan that it is given.",
      .arguments = {{"SCAN", &options->scans,
                     scan_formats() + " file; several (patterns with * and ? too): one network "
                                      "for all of them",
                     false}},
      .options =
          joined({{{.name = kPresetOption,
                    .target = preset_target(*options),
                    .help = "ptychopinn: PtychoPINN's way of training (network, loss, merge, "
                            "learning rate, scale); other options change single things"}},
                  {{.name = "scan-list",
                    .target = &options->list,
                    .help = "file with a scan in each line, and perhaps how many times an "
                            "epoch goes over it (1)"},
                   {.name = "universe",
                    .target = &options->universe,
                    .help = "TOML file that says what scans are simulated without end, "
                            "instead of SCAN: for a network that knows any scan; an epoch "
                            "is 100 steps of --groups-per-batch scans"},
                   {.name = "stored-weights",
                    .target = choice(options->stored, weight_type_names()),
                    .help = "numbers in which model.ptyche holds the network's weights; "
                            "float16 takes half the space",
                    .affects_result = false},
                   output_dir_option(options->output, "folder for the model"),
                   overwrite_option(options->overwrite)},
                  fields(options->probe),
                  fields(options->shape),
                  far_field_scan_options(options->scan),
                  fields(options->group),
                  fields(options->train),
                  fields(options->loss),
                  fields(options->grouping),
                  ptychopinn_option_list(*options),
                  fields(options->backend),
                  {threads_option(options->threads)},
                  fields(options->memory)}),
      .references = {},
      .run = [options] { run_train(*options, options_as_json(declare(options))); },
      .basic = {"scan-list", "universe", "start", "output-dir", "overwrite", "resume", "epochs",
                "probe", "probe-modes", "refine-positions", "mask", "threads"},
      .on_ranks = true};
}

}  // namespace

Command train_command() { return declare(std::make_shared<TrainVerbOptions>()); }

}  // namespace ptyche
