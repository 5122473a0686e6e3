#include "ptyche/solve/kept_attempts.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <system_error>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRun = "automatic";
constexpr const char* kAttempt = "attempt";
constexpr double kUnknown = -1;  // instead of NaN, which no layout allows; intensities are above 0

const DatasetLayout kNumbers{"attempt/numbers", at::kDouble, {8}};
const DatasetLayout kLoss{"image/loss", at::kDouble, {kAnyLength}};
const DatasetLayout kOrigin{"image/origin", at::kLong, {2}};

/// An array of an image and its dataset.
struct KeptArray {
  DatasetLayout layout;
  at::Tensor Reconstruction::*array;
  bool optional = false;
};

/// Those of an image of the scan that `canvas` is of.
std::vector<KeptArray> arrays_of(const Reconstruction& canvas) {
  const std::int64_t size = canvas.probe.size(-1), patterns = canvas.positions.size(0);
  return {{{"image/object", at::kComplexFloat, {kAnyLength, kAnyLength, kAnyLength}},
           &Reconstruction::object},
          {{"image/coverage", at::kFloat, {kAnyLength, kAnyLength}, 0}, &Reconstruction::coverage},
          {{"image/probe", at::kComplexFloat, {kAnyLength, kAnyLength, size, size}},
           &Reconstruction::probe},
          {like(canvas.positions, "image/positions"), &Reconstruction::positions},
          {like(canvas.frame_use, "image/frame_use", 0, 2), &Reconstruction::frame_use},
          {{"image/background", at::kFloat, {size, size}}, &Reconstruction::background, true},
          {{"image/intensities", at::kFloat, {patterns}, kUnknown},
           &Reconstruction::intensities,
           true}};
}

void write_image(Hdf5File& out, Reconstruction image) {
  if (image.intensities.defined()) image.intensities = image.intensities.nan_to_num(kUnknown);
  for (const KeptArray& kept : arrays_of(image))
    if ((image.*kept.array).defined()) write(out, kept.layout, image.*kept.array);
  write(out, kOrigin, at::tensor({image.origin_row, image.origin_col}, at::kLong));
}

/// Undefined intensities stay so.
at::Tensor with_unknown(const at::Tensor& intensities) {
  if (!intensities.defined()) return {};
  return intensities.masked_fill(intensities.eq(kUnknown), std::numeric_limits<float>::quiet_NaN());
}

Reconstruction read_image(const Hdf5File& in, const Reconstruction& canvas) {
  Reconstruction image = canvas;
  for (const KeptArray& kept : arrays_of(canvas))
    image.*kept.array = kept.optional ? read_if_there(in, kept.layout) : read(in, kept.layout);
  require(image.object.numel() > 0 && image.coverage.sizes() == image.object.sizes().slice(1),
          "image/coverage: expected the object's shape, found {}", describe(image.coverage));
  image.intensities = with_unknown(image.intensities);
  const at::Tensor origin = read(in, kOrigin);
  image.origin_row = origin[0].item<std::int64_t>();
  image.origin_col = origin[1].item<std::int64_t>();
  return image;
}

at::Tensor numbers_of(const KeptAttempt& attempt) {
  return at::tensor(
      {static_cast<double>(attempt.end == ChainEnd::diverged), static_cast<double>(attempt.passes),
       attempt.seconds, attempt.deviance, attempt.deviance_floor, attempt.misfit,
       static_cast<double>(attempt.fits_intensities), attempt.absorption},
      at::kDouble);
}

KeptAttempt read_attempt(const Hdf5File& in, const Reconstruction& canvas) {
  const at::Tensor numbers = read(in, kNumbers);
  const auto* number = numbers.const_data_ptr<double>();
  KeptAttempt attempt{.what = in.text(kAttempt, "what").value_or(""),
                      .refused = in.text(kAttempt, "refused").value_or("")};
  const bool diverged = whole_number(number[0], kNumbers.path + ": end", 0, 1) == 1;
  attempt.end = diverged ? ChainEnd::diverged : ChainEnd::done;
  attempt.passes = whole_number(number[1], kNumbers.path + ": passes", 0, 1'000'000'000);
  attempt.seconds = number[2];
  attempt.deviance = number[3];
  attempt.deviance_floor = number[4];
  attempt.misfit = number[5];
  attempt.fits_intensities = whole_number(number[6], kNumbers.path + ": intensities", 0, 1) == 1;
  attempt.absorption = number[7];
  if (in.has("image/object")) attempt.image = read_image(in, canvas);
  if (const at::Tensor loss = read_if_there(in, kLoss); loss.defined())
    attempt.image.loss = to_vector(loss);
  return attempt;
}

void write_run(const fs::path& file, const RunKey& key) {
  write_atomically(file, [&](const fs::path& path) {
    Hdf5File out = Hdf5File::create(path);
    out.make_group(kRun);
    write_key(out, kRun, key);
    out.close();
  });
}

}  // namespace

template <typename Work>
void KeptAttempts::warn_if_not_kept(const fs::path& file, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    complete_ = false;
    warn("{}: what was done could not be kept, --resume would do it again: {}", file.string(),
         error.what());
  }
}

KeptAttempts::KeptAttempts(const KeepOptions& options, const Scan& scan, const RunKey& key)
    : options_(options) {
  if (options.folder.empty()) return;
  canvas_.probe = scan.probe().unsqueeze(0);
  canvas_.positions = scan.positions();
  canvas_.frame_use = scan.frame_use();
  canvas_.geometry = scan.geometry();
  const fs::path run = options.folder / "run.h5";
  if (options.resume && fs::exists(run)) {
    with_file(run, [&] { require_same_run(Hdf5File::open(run), kRun, key); });
    note("resumed from {}", options.folder.string());
    return;
  }
  if (options.resume) note("no {}: the solvers start anew", run.string());
  warn_if_not_kept(run, [&] {
    fs::create_directories(options.folder);
    write_run(run, key);
  });
}

fs::path KeptAttempts::file(const char* kind, std::int64_t number) const {
  return options_.folder / fmt::format("{}_{}.h5", kind, number);
}

std::optional<KeptAttempt> KeptAttempts::find(std::int64_t number, const std::string& what) const {
  const fs::path path = file("attempt", number);
  if (options_.folder.empty() || !options_.resume || !fs::exists(path)) return std::nullopt;
  const std::lock_guard lock(files_);
  try {
    return with_file(path, [&] {
      KeptAttempt attempt = read_attempt(Hdf5File::open(path), canvas_);
      require(attempt.what == what, "expected the attempt '{}', found '{}'", what, attempt.what);
      return attempt;
    });
  } catch (const InvalidInput& error) {
    throw BadCheckpoint(error.what());
  }
}

void KeptAttempts::write(std::int64_t number, const KeptAttempt& attempt) const {
  write_atomically(file("attempt", number), [&](const fs::path& path) {
    Hdf5File out = Hdf5File::create(path);
    out.make_group(kAttempt);
    out.set(kAttempt, "what", attempt.what);
    if (!attempt.refused.empty()) out.set(kAttempt, "refused", attempt.refused);
    ptyche::write(out, kNumbers, numbers_of(attempt));
    if (attempt.image.object.defined()) write_image(out, attempt.image);
    if (!attempt.image.loss.empty())
      ptyche::write(out, kLoss, at::tensor(attempt.image.loss, at::kDouble));
    out.close();
  });
}

void KeptAttempts::keep(std::int64_t number, const KeptAttempt& attempt) {
  if (options_.folder.empty()) return;
  const std::lock_guard lock(files_);
  warn_if_not_kept(file("attempt", number), [&] {
    write(number, attempt);
    fs::remove(file("chain", number));  // only now: until then it is all that there is
  });
}

void KeptAttempts::drop_image(std::int64_t number) {
  const fs::path path = file("attempt", number);
  if (options_.folder.empty() || !complete_ || !fs::exists(path)) return;
  warn_if_not_kept(path, [&] {
    KeptAttempt attempt =
        with_file(path, [&] { return read_attempt(Hdf5File::open(path), canvas_); });
    if (!attempt.image.object.defined()) return;
    attempt.image = {.loss = std::move(attempt.image.loss)};
    write(number, attempt);
  });
}

void KeptAttempts::require_image(const Reconstruction& image, const std::string& what) const {
  if (image.object.defined()) return;
  throw BadCheckpoint(fmt::format(
      "{}: expected the image from which {} began, found none: files are missing; --overwrite "
      "starts anew",
      options_.folder.string(), what));
}

at::Tensor KeptAttempts::patterns(const char* kind, std::int64_t number,
                                  const std::function<at::Tensor()>& choose) {
  if (options_.folder.empty()) return choose();
  const fs::path path = file(kind, number);
  const DatasetLayout layout{"chosen", at::kByte, {canvas_.frame_use.size(0)}, 0, 1};
  if (options_.resume && fs::exists(path)) {
    try {
      return with_file(path,
                       [&] { return read(Hdf5File::open(path), layout).nonzero().squeeze(1); });
    } catch (const InvalidInput& error) {
      throw BadCheckpoint(error.what());
    }
  }
  const at::Tensor chosen = choose();
  warn_if_not_kept(path, [&] {
    write_atomically(path, [&](const fs::path& part) {
      Hdf5File out = Hdf5File::create(part);
      ptyche::write(out, layout, at::zeros(layout.shape, at::kByte).index_fill(0, chosen, 1));
      out.close();
    });
  });
  return chosen;
}

SolverWatch KeptAttempts::watch(std::int64_t number) const {
  if (options_.folder.empty()) return {.stop = options_.stop};
  const fs::path path = file("chain", number);
  return {.stop = options_.stop,
          .checkpoint = path,
          .resume = options_.resume && fs::exists(path),
          .keep_checkpoint = true,
          .files = &files_};
}

}  // namespace ptyche
