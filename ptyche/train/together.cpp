#include "ptyche/train/together.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/solve/joint_work.h"

namespace ptyche {
namespace {

constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;  // of counts that are sent at once

at::Tensor numbers(const std::vector<double>& values) { return at::tensor(values, at::kDouble); }

std::int64_t patterns_at_once(const at::Tensor& counts) {
  const std::int64_t bytes = counts[0].numel() * static_cast<std::int64_t>(counts.element_size());
  return std::max<std::int64_t>(1, kPieceBytes / bytes);
}

// A scan on its way: what it is, then its groups, then its counts in pieces.

void send_scan(int rank, const TrainingScan& one) {
  const ScanFields& f = one.scan.fields();
  const Geometry& g = f.geometry;
  send_to(rank, {f.positions, f.probe, f.mask, f.frame_use, f.truth, f.true_positions,
                 numbers({g.energy_ev, g.distance_m, g.detector_pixel_m, g.exposure_s,
                          g.object_pixel_m, g.semi_angle_rad, static_cast<double>(f.probe_given),
                          static_cast<double>(f.probe_calibrated)}),
                 as_bytes(f.source), as_bytes(f.input_hash)});
  const Groups& groups = one.groups;
  send_to(rank, {groups.neighbours, groups.fixed,
                 at::tensor({groups.size, groups.merged, static_cast<std::int64_t>(groups.seed)},
                            at::kLong),
                 numbers({one.weight})});
  for (const at::Tensor& piece : f.counts.split(patterns_at_once(f.counts))) send_to(rank, {piece});
}

at::Tensor received_counts(std::int64_t patterns) {
  std::vector<at::Tensor> pieces;
  for (std::int64_t so_far = 0; so_far < patterns; so_far += pieces.back().size(0))
    pieces.push_back(receive_from(0).front());
  return at::cat(pieces);
}

TrainingScan received_scan() {
  const RankMessage all = receive_from(0), groups = receive_from(0);
  const auto* n = all.at(6).const_data_ptr<double>();
  ScanFields fields{.counts = received_counts(all.at(0).size(0)),
                    .positions = all.at(0),
                    .probe = all.at(1),
                    .mask = all.at(2),
                    .frame_use = all.at(3),
                    .truth = all.at(4),
                    .true_positions = all.at(5),
                    .geometry = {.energy_ev = n[0],
                                 .distance_m = n[1],
                                 .detector_pixel_m = n[2],
                                 .exposure_s = n[3],
                                 .object_pixel_m = n[4],
                                 .semi_angle_rad = n[5]},
                    .source = as_text(all.at(7)),
                    .input_hash = as_text(all.at(8)),
                    .probe_given = n[6] != 0,
                    .probe_calibrated = n[7] != 0};
  const auto* whole = groups.at(2).const_data_ptr<std::int64_t>();
  return {.scan = Scan(std::move(fields)),
          .groups = {.neighbours = groups.at(0),
                     .size = whole[0],
                     .merged = whole[1],
                     .seed = static_cast<std::uint64_t>(whole[2]),
                     .fixed = groups.at(1)},
          .weight = groups.at(3).item<double>()};
}

void require_sums(const TrainOptions& options) {
  const auto refuse = [](const char* what) {
    throw InvalidInput(
        fmt::format("{}: it is no sum over the groups of a batch, which {} ranks "
                    "could share; start one process",
                    what, ranks().all));
  };
  if (options.mae_share > 0) refuse("the amplitudes' absolute error beside another loss");
  if (options.tv_weight > 0) refuse("--tv-weight");
  if (options.realspace_mae > 0) refuse("--realspace-mae-weight");
  if (options.recipe == TrainRecipe::ptychopinn) refuse("--preset ptychopinn");
  require(options.device.is_cpu(), "--device {}: several ranks train on CPUs; start one process",
          options.device.str());
}

RankMessage question_of(const std::vector<TrainingScan>& scans, TrainOptions options) {
  return {at::tensor(
              {static_cast<std::int64_t>(Question::train), static_cast<std::int64_t>(scans.size())},
              at::kLong),
          as_bytes(to_json(fields(options)).dump())};
}

}  // namespace

GroupBatch share_of(const GroupBatch& batch, const TrainingTogether& together) {
  if (!together.several()) return batch;
  const std::int64_t first = batch.count * together.own / together.all;
  const std::int64_t last = batch.count * (together.own + 1) / together.all;
  const at::Tensor own =
      batch.group.ge(first).logical_and(batch.group.lt(last)).nonzero().squeeze(1);
  if (own.size(0) == 0) return {own, own, own, 0};
  const std::int64_t begin = own[0].item<std::int64_t>(), end = begin + own.size(0);
  const at::Tensor merged =
      batch.merged.masked_select(batch.merged.ge(begin).logical_and(batch.merged.lt(end)));
  return {batch.frames.index_select(0, own), batch.group.index_select(0, own) - first,
          merged - begin, last - first};
}

double sum_of_all(const TrainingTogether& together, double own) {
  return together.several() ? together.sum(numbers({own})).item<double>() : own;
}

void sum_gradients(const TrainingTogether& together, const std::vector<at::Tensor>& parameters,
                   std::vector<at::Tensor> more) {
  if (!together.several()) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> flat;
  at::Tensor there = at::zeros({static_cast<std::int64_t>(parameters.size())}, at::kDouble);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& slope = parameters[i].grad();
    there[static_cast<std::int64_t>(i)] = slope.defined() ? 1.0 : 0.0;
    flat.push_back(slope.defined() ? slope.to(at::kDouble).flatten()
                                   : at::zeros({parameters[i].numel()}, at::kDouble));
  }
  for (const at::Tensor& each : more) flat.push_back(each.flatten());
  flat.push_back(there);
  const at::Tensor all = together.sum(at::cat(flat));
  there = all.slice(0, all.size(0) - there.size(0));
  std::int64_t first = 0;
  const auto next = [&](std::int64_t count) {
    first += count;
    return all.slice(0, first - count, first);
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor slope = next(parameters[i].numel());
    if (there[static_cast<std::int64_t>(i)].item<double>() == 0) continue;
    at::Tensor own = at::empty_like(parameters[i]);
    own.copy_(slope.view(parameters[i].sizes()));
    at::Tensor parameter = parameters[i];
    parameter.mutable_grad() = own;
  }
  for (at::Tensor& each : more) each.copy_(next(each.numel()).view(each.sizes()));
}

Scan gathered(const Scan& scan) {
  if (!scan.shared()) return scan;
  ScanFields fields = scan.fields();
  fields.counts = counts_of(scan, at::arange(scan.frames(), at::kLong));
  fields.shared.reset();
  return Scan(std::move(fields));
}

Model train_by_ranks(const std::vector<TrainingScan>& scans, const TrainOptions& options) {
  if (!ranks().several()) return train(scans, options);
  require_sums(options);
  std::vector<TrainingScan> whole = scans;
  for (TrainingScan& each : whole) each.scan = gathered(each.scan);
  const RankMessage question = question_of(whole, options);
  JointWork others([&](int rank) {
    send_to(rank, question);
    for (const TrainingScan& each : whole) send_scan(rank, each);
  });
  Model model =
      train(whole, options, {.own = 0, .all = ranks().all, .sum = [&](const at::Tensor& own) {
                               return others.sum(own);
                             }});
  others.finish();
  return model;
}

RankMessage train_with_rank_0(CountsPart& /*part*/, const RankMessage& question) {
  std::vector<TrainingScan> scans;
  for (std::int64_t i = 0; i < question.at(0)[1].item<std::int64_t>(); ++i)
    scans.push_back(received_scan());
  return joint_answer([&] {
    TrainOptions options;
    ptyche::from_json(fields(options), nlohmann::json::parse(as_text(question.at(1))));
    train(scans, options, {.own = ranks().own, .all = ranks().all, .sum = reply_of_rank_0});
    return RankMessage{};
  });
}

}  // namespace ptyche
