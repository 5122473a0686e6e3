#include "ptyche/commands/scan_parts.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"

namespace ptyche {
namespace {

constexpr std::uint64_t kShuffleStream = 1;  // 0 draws the subsample

at::Tensor shuffled(const at::Tensor& frames, const PartOptions& options) {
  if (!options.shuffle) return frames;
  const RandomStream stream(options.seed, Purpose::subsample, kShuffleStream);
  return frames.index_select(0, at::tensor(permutation(frames.size(0), stream), at::kLong));
}

/// Which of `frames` are of the first part, (k) bool.
at::Tensor first_part(const Scan& scan, const at::Tensor& frames, const PartOptions& options) {
  if (options.axis == "none") {
    const auto count = std::llround(options.split * static_cast<double>(frames.size(0)));
    return at::arange(frames.size(0), at::kLong) < count;
  }
  const at::Tensor place =
      scan.positions().index_select(0, frames).select(1, options.axis == "y" ? 0 : 1);
  const at::Tensor low = place.min(), high = place.max();
  return place < low + options.split * (high - low);
}

ScanPart part(const char* name, const Scan& scan, const at::Tensor& frames) {
  require(frames.size(0) > 0, "--split: expected patterns in both parts, found none to {}", name);
  return {name, with_frames(scan, frames)};
}

}  // namespace

std::vector<Field> fields(PartOptions& options) {
  return joined(
      {fields(options.subsample),
       {{.name = "shuffle", .target = &options.shuffle, .help = "patterns in random order"},
        {.name = "split",
         .target = &options.split,
         .help = "two files, OUT_train and OUT_test: this share of the scan's extent, and the rest",
         .range = {0, 1},
         .aliases = {"split-fraction"}},
        {.name = "split-axis",
         .target = &options.axis,
         .help = "axis of --split; none: the share of the patterns, in their order",
         .choices = {"y", "x", "none"}},
        {.name = "seed", .target = &options.seed, .help = "seed of --shuffle"}}});
}

std::vector<ScanPart> parts_of(const Scan& scan, const PartOptions& options) {
  const bool all = options.subsample.count == 0 && !options.shuffle && options.split == 0;
  if (all) return {{"", scan}};
  const Scan kept = subsample(scan, options.subsample);
  const at::Tensor of_all = options.subsample.count > 0 ? kept.frames_with(FrameUse::used)
                                                        : at::arange(scan.frames(), at::kLong);
  const at::Tensor frames = shuffled(of_all, options);
  if (options.split == 0) return {{"", with_frames(scan, frames)}};
  const at::Tensor first = first_part(scan, frames, options);
  return {part("train", scan, frames.masked_select(first)),
          part("test", scan, frames.masked_select(first.logical_not()))};
}

Scan with_frames(const Scan& scan, const at::Tensor& frames) {
  ScanFields fields = scan.fields();
  const auto chosen = [&](const at::Tensor& all) {
    return all.defined() ? all.index_select(0, frames) : all;
  };
  fields.counts = chosen(fields.counts);
  fields.positions = chosen(fields.positions);
  fields.true_positions = chosen(fields.true_positions);
  fields.frame_use = chosen(fields.frame_use);
  return Scan(std::move(fields));
}

std::filesystem::path named_part(const std::filesystem::path& file, const std::string& name) {
  if (name.empty()) return file;
  std::filesystem::path part = file;
  part.replace_filename(file.stem().string() + "_" + name + file.extension().string());
  return part;
}

}  // namespace ptyche
