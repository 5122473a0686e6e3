#include "ptyche/io/together.h"

#include <algorithm>

#include "ptyche/data/probe.h"
#include "ptyche/io/read_scan.h"
#include "ptyche/storage/frame_stack.h"

namespace ptyche {
namespace {

/// Writes the parts first.. of the patterns `among` (k) into `owner`.
void cut_in_parts(const at::Tensor& positions, const at::Tensor& used, const at::Tensor& among,
                  std::int64_t first, std::int64_t parts, at::Tensor& owner) {
  if (parts == 1 || among.size(0) == 0) {
    owner.index_fill_(0, among, first);
    return;
  }
  const at::Tensor places = positions.index_select(0, among);
  const auto axis = (places.amax(0) - places.amin(0)).argmax().item<std::int64_t>();
  const at::Tensor order = among.index_select(0, places.select(1, axis).argsort(true, 0, false));
  const at::Tensor so_far = used.index_select(0, order).to(at::kLong).cumsum(0);
  const std::int64_t half = parts / 2, all = so_far[-1].item<std::int64_t>();
  const auto cut = so_far.le(all * half / parts).sum().item<std::int64_t>();
  cut_in_parts(positions, used, order.slice(0, 0, cut), first, half, owner);
  cut_in_parts(positions, used, order.slice(0, cut), first + half, parts - half, owner);
}

at::Tensor numbers_of(const at::Tensor& owner, std::int64_t process) {
  return owner.eq(process).nonzero().squeeze(1);
}

bool can_be_read_in_parts(const RawScan& raw, const ReadOptions& options, std::int64_t parts) {
  return raw.stack && !raw.monitor.defined() && options.semi_angle_rad <= 0 &&
         raw.frames() >= parts && raw.positions.size(0) == raw.frames() &&
         at::isfinite(raw.positions).all().item<bool>();
}

at::Tensor as_numbers(const ValueSurvey& s) {
  return at::tensor({static_cast<double>(s.valid), static_cast<double>(s.whole),
                     static_cast<double>(s.whole_hidden), static_cast<double>(s.whole_squares),
                     static_cast<double>(s.cleared), s.largest},
                    at::kDouble);
}

ValueSurvey survey_of(const at::Tensor& numbers) {
  const auto* number = numbers.const_data_ptr<double>();
  return {.valid = number[0] != 0,
          .whole = number[1] != 0,
          .whole_hidden = number[2] != 0,
          .whole_squares = number[3] != 0,
          .cleared = number[4] != 0,
          .largest = number[5]};
}

}  // namespace

at::Tensor parts_along(const at::Tensor& positions, const at::Tensor& used, std::int64_t parts) {
  at::Tensor owner = at::zeros({positions.size(0)}, at::kLong);
  cut_in_parts(positions, used, at::arange(positions.size(0), at::kLong), 0, parts, owner);
  return owner;
}

void take_own_part(RawScan& raw, const ReadOptions& options, ReadingTogether& together) {
  if (!can_be_read_in_parts(raw, options, together.all)) {
    together = {};
    return;
  }
  const at::Tensor every = at::ones({raw.frames()}, at::kBool);
  together.owner = parts_along(raw.positions, every, together.all);
  raw.part = numbers_of(together.owner, together.own);
  const at::Tensor positions = raw.positions, true_positions = raw.true_positions;
  raw.keep(raw.part);
  raw.positions = positions;
  raw.true_positions = true_positions;
}

void require_read_alike(const RawScan& raw, const ReadingTogether& together) {
  const at::Tensor own = at::tensor({static_cast<std::int64_t>(raw.narrowed)}, at::kLong);
  for (const at::Tensor& other : together.exchange(own))
    if (!at::equal(own, other)) throw PartsDiffer();
}

at::Tensor in_all_processes(const ReadingTogether& together, const at::Tensor& flags) {
  if (!together.several()) return flags;
  at::Tensor all = at::ones_like(flags);
  for (const at::Tensor& each : together.exchange(flags)) all.logical_and_(each);
  return all;
}

ValueSurvey of_all_processes(const ReadingTogether& together, const ValueSurvey& own) {
  if (!together.several()) return own;
  ValueSurvey all;
  for (const at::Tensor& each : together.exchange(as_numbers(own))) all.add(survey_of(each));
  return all;
}

at::Tensor of_one_type(const ReadingTogether& together, const at::Tensor& counts) {
  if (!together.several()) return counts;
  at::ScalarType type = counts.scalar_type();
  const at::Tensor own = at::tensor({static_cast<std::int64_t>(type)}, at::kLong);
  for (const at::Tensor& each : together.exchange(own))
    type = at::promote_types(type, static_cast<at::ScalarType>(each.item<std::int64_t>()));
  return counts.to(type);
}

at::Tensor of_all_patterns(const ReadingTogether& together, const RawScan& raw,
                           const at::Tensor& own) {
  if (!together.several()) return own;
  std::vector<std::int64_t> shape = own.sizes().vec();
  shape.front() = raw.positions.size(0);
  at::Tensor all = at::zeros(shape, own.options());
  const std::vector<at::Tensor> parts = together.exchange(own);
  for (std::size_t process = 0; process < parts.size(); ++process)
    all.index_copy_(0, numbers_of(together.owner, static_cast<std::int64_t>(process)),
                    parts[process]);
  return all;
}

at::Tensor own_rows(const ReadingTogether& together, const RawScan& raw, const at::Tensor& frames) {
  if (!together.several()) return frames;
  const at::Tensor wanted =
      at::zeros({raw.positions.size(0)}, at::kBool).index_fill_(0, frames, true);
  return wanted.index_select(0, raw.part).nonzero().squeeze(1);
}

at::Tensor mean_of_all(const ReadingTogether& together, const RawScan& raw,
                       const at::Tensor& counts, const at::Tensor& frames) {
  if (!together.several()) return mean_pattern(counts, frames);
  const at::Tensor rows = own_rows(together, raw, frames);
  at::Tensor sum = at::zeros({counts.size(1), counts.size(2)}, at::kDouble);
  if (rows.size(0) > 0) sum = mean_pattern(counts, rows) * rows.size(0);
  at::Tensor all = at::zeros_like(sum);
  for (const at::Tensor& each : together.exchange(sum)) all += each;
  return all / static_cast<double>(frames.size(0));
}

}  // namespace ptyche
