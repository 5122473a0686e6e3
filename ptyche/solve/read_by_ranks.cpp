#include "ptyche/solve/read_by_ranks.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/together.h"
#include "ptyche/solve/joint_work.h"
#include "ptyche/solve/shares.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

RankMessage ask_to_read(ReadOptions options) {
  const std::string text = to_json(fields(options)).dump();
  return {at::tensor(
              {static_cast<std::int64_t>(Question::read), static_cast<std::int64_t>(options.seed)},
              at::kLong),
          as_bytes(options.file.string()), as_bytes(text)};
}

ReadOptions options_of(const RankMessage& question) {
  ReadOptions options;
  ptyche::from_json(fields(options), nlohmann::json::parse(as_text(question.at(2))));
  options.file = as_text(question.at(1));
  options.seed = static_cast<std::uint64_t>(question.at(0)[1].item<std::int64_t>());
  return options;
}

Scan shared_scan(ScanOfProcess read) {
  auto own = std::make_shared<CountsPart>();
  own->scan = scan_of_counts(std::exchange(read.fields.counts, {}));
  return scan_of_parts(std::move(read.fields), read.owner, std::move(own));
}

/// By all ranks; what rank 0 has read alone, where they could not.
Scan read_together(const ReadOptions& options) {
  const RankMessage question = ask_to_read(options);
  JointWork others([&](int rank) { send_to(rank, question); });
  ScanOfProcess read =
      read_scan_together(options,
                         {.own = 0,
                          .all = ranks().all,
                          .exchange = [&](const at::Tensor& own) { return others.exchange(own); }},
                         readers());
  others.finish();
  return with_file(options.file, [&] {
    return read.owner.defined() ? shared_scan(std::move(read)) : Scan(std::move(read.fields));
  });
}

}  // namespace

Scan read_scan_by_ranks(const ReadOptions& options) {
  if (!ranks().several()) return read_scan(options);
  try {
    return read_together(options);
  } catch (const PartsDiffer&) {
    return read_scan(options);
  }
}

RankMessage read_own_part(CountsPart& part, const RankMessage& question) {
  return joint_answer([&] {
    part = {};
    ScanOfProcess read = read_scan_together(
        options_of(question),
        {.own = ranks().own, .all = ranks().all, .exchange = exchange_with_rank_0}, readers());
    part.scan = scan_of_counts(std::move(read.fields.counts));
    return RankMessage{};
  });
}

}  // namespace ptyche
