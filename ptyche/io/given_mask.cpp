#include "ptyche/io/given_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/choose_reader.h"
#include "ptyche/io/place.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFramesOfLight = 64;
constexpr double kBrightestShare = 0.99;
// Share of the light that is counted under the right meaning: >= .9 on masks of gaps, dead pixels,
// beam stops and apertures.
constexpr double kCertainSide = 5.0 / 6, kMostLight = 0.5;

bool names_a_mask(std::string name) {
  name = name.substr(name.find_last_of('/') + 1);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("mask") != std::string::npos;
}

/// The only array of a file, or the only one that is called a mask.
std::string mask_in(const ArrayFile& file, const std::string& path) {
  std::vector<std::string> names = file.names();
  if (names.size() == 1) return names.front();
  std::erase_if(names, [](const std::string& name) { return !names_a_mask(name); });
  require(names.size() == 1, "expected an array named mask; {}:NAME takes one of {}", path,
          list_of(file.names(), 20));
  return names.front();
}

/// Without axes of length 1 before the last two.
at::Tensor as_image(at::Tensor mask, const std::string& name) {
  while (mask.dim() > 2 && mask.size(0) == 1) mask = mask[0];
  require(mask.dim() == 2 && !mask.is_complex(), "{}: expected (rows, cols) numbers, found {}",
          name, describe(mask));
  return mask;
}

}  // namespace

at::Tensor read_given_mask(const ReadOptions& options) {
  Place place = place_from_text(options.mask);
  const fs::path as_path = options.mask;
  std::error_code unknown;
  require(!place.files.empty() || !as_path.has_extension(), "{}: no such file", options.mask);
  Sources sources(scan_file_in(options.file));
  if (place.names.empty()) {
    const std::string file = place.files.front();
    place.names = {with_file(file, [&] { return mask_in(sources.open(file), file); })};
  }
  const Sources::Found found = sources.required(place, "mask");
  return with_context(options.mask,
                      [&] { return as_image(found.file->read(found.name).values, found.name); });
}

at::Tensor light_of_pixels(const at::Tensor& patterns) {
  const std::int64_t every = std::max<std::int64_t>(1, patterns.size(0) / kFramesOfLight);
  const at::Tensor some = at::nan_to_num(patterns.slice(0, 0, {}, every).to(at::kDouble), 0.0, 0.0);
  const at::Tensor largest = some.max();
  const at::Tensor marked =
      some.size(0) > 1 ? some.eq(largest).all(0) : at::zeros_like(some[0], at::kBool);
  const at::Tensor light = some.mean(0).clamp_min(0).masked_fill(marked, 0);
  const at::Tensor lit = std::get<0>(light.flatten().sort());
  const auto rank =
      static_cast<std::int64_t>(kBrightestShare * static_cast<double>(lit.size(0) - 1));
  return light.minimum(lit[rank]);
}

namespace {

/// What the values of a mask mean by themselves.
enum class Kind { truth, codes, two_values };

Kind kind_of(const at::Tensor& mask) {
  if (mask.scalar_type() == at::kBool) return Kind::truth;
  const at::Tensor values = std::get<0>(at::_unique(mask.flatten()));
  const std::int64_t others =
      values.ne(0).logical_and(values.eq(values)).sum().item<std::int64_t>();
  return others > 1 ? Kind::codes : Kind::two_values;
}

/// A mask under one of its two meanings.
struct Meaning {
  at::Tensor counted;
  double pixels = 0, light = 0;  ///< shares that are counted
};

Meaning meaning_of(const at::Tensor& counted, const at::Tensor& light) {
  const double all = light.sum().item<double>();
  return {counted, counted.to(at::kDouble).mean().item<double>(),
          all > 0 ? (light * counted).sum().item<double>() / all : 1};
}

std::string left_out(const Meaning& meaning) {
  return fmt::format("{:.3g} % of the pixels are left out, and they hold {:.3g} % of the counts",
                     100 * (1 - meaning.pixels), 100 * (1 - meaning.light));
}

constexpr const char* kHoldsTo =
    "--mask-counts nonzero counts what is true or not 0, --mask-counts zero what is false or 0";

}  // namespace

at::Tensor counted_pixels(const at::Tensor& mask, const at::Tensor& light,
                          const std::string& counts, const std::string& name) {
  const at::Tensor number = mask.eq(mask);  // NaN is none
  const Meaning nonzero = meaning_of(mask.ne(0).logical_and(number), light);
  const Meaning zero = meaning_of(mask.eq(0), light);
  if (counts != "auto") return (counts == "zero" ? zero : nonzero).counted;
  const Kind kind = kind_of(mask);
  if (kind == Kind::two_values) {
    const bool certain =
        std::max(nonzero.light, zero.light) >= kCertainSide && nonzero.light != zero.light;
    require(certain,
            "{}: 0 or another number may be what counts: pixels of 0 hold {:.3g} % of the counts, "
            "the others {:.3g} %; {}",
            name, 100 * zero.light, 100 * nonzero.light, kHoldsTo);
    const bool by_zero = zero.light > nonzero.light;
    const Meaning& taken = by_zero ? zero : nonzero;
    note(
        "{}: {} counts, for {:.3g} % of the light is there: {:.3g} % of the pixels are left out "
        "({})",
        name, by_zero ? "0" : "what is not 0", 100 * taken.light, 100 * (1 - taken.pixels),
        kHoldsTo);
    return taken.counted;
  }
  const Meaning& taken = kind == Kind::codes ? zero : nonzero;
  require(taken.light >= kMostLight || taken.pixels == 0, "{}: {}: is it inverted? {}", name,
          left_out(taken), kHoldsTo);
  if (kind == Kind::codes)
    note("{}: 0 counts, other numbers say what is wrong: {:.3g} % of the pixels are left out", name,
         100 * (1 - taken.pixels));
  return taken.counted;
}

}  // namespace ptyche
