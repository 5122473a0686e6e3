#include "ptyche/io/recipe.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/detector_frame.h"
#include "ptyche/io/raster.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

/// The axes of an array of another rank: programs leave axes of length 1 out at the slow end, where
/// MATLAB has its last ones and NumPy its first; those of an image and of a raster stay.
std::string axes_of_rank(std::string axes, std::int64_t rank) {
  const auto may_go = [](char letter) {
    return std::string("nlmo").find(letter) != std::string::npos;
  };
  while (static_cast<std::int64_t>(axes.size()) > rank) {
    if (may_go(axes.front()))
      axes.erase(axes.begin());
    else if (may_go(axes.back()))
      axes.pop_back();
    else
      break;
  }
  return axes;
}

/// Axes named by `from`, or as many of them as the array has, in the order of `to`; those that `to`
/// lacks must have length 1.
at::Tensor ordered(at::Tensor array, const std::string& from, const std::string& to,
                   const std::string& name) {
  const auto most = static_cast<std::int64_t>(from.size());
  while (array.dim() > most && array.size(0) == 1) array = array[0];
  while (array.dim() > most && array.size(-1) == 1) array = array.squeeze(-1);
  const std::string axes = axes_of_rank(from, array.dim());
  require(array.dim() == static_cast<std::int64_t>(axes.size()),
          "{}: expected {} axes ({}), found {}", name, from.size(), from, describe(array));
  std::vector<std::int64_t> order;
  for (const char letter : to)
    if (const std::size_t at = axes.find(letter); at != std::string::npos)
      order.push_back(static_cast<std::int64_t>(at));
  require(order.size() == axes.size(), "axes: expected letters of {}, found {}", to, from);
  return array.permute(order);
}

/// (n, rows, cols).
at::Tensor as_patterns(const at::Tensor& array, const std::string& axes, const std::string& name) {
  const bool complex = array.is_complex();
  require(!complex && array.dim() >= 2, "{}: expected (n, rows, cols) real numbers, found {}", name,
          describe(array));
  at::Tensor values = array;
  if (!axes.empty()) values = ordered(values, axes, "nRCrc", name);
  while (values.dim() > 4 && values.size(0) == 1) values = values[0];
  if (values.dim() == 2) values = values.unsqueeze(0);
  if (values.dim() == 4) values = values.flatten(0, 1);
  require(values.dim() == 3, "{}: expected (n, rows, cols) or a raster of patterns, found {}", name,
          describe(array));
  return values;
}

/// (modes, N, N) of whatever a program keeps: of several coherent modes or slices the first.
at::Tensor some_probe(at::Tensor probe, const std::string& axes, const std::string& name) {
  if (!axes.empty()) probe = ordered(probe, axes, "omrc", name);
  while (probe.dim() > 3) probe = probe[0];
  return as_probe(probe, name);
}

/// Values of an axis of a raster: `length` of them, or the first two.
at::Tensor axis_values(const at::Tensor& values, std::int64_t length) {
  if (values.numel() != 2 || length == 2) return values;
  const at::Tensor two = values.reshape(-1).to(at::kDouble);
  return two[0] + at::arange(length, at::kDouble) * (two[1] - two[0]);
}

/// Pixels that differ by less are square.
constexpr double kSquareWithin = 1e-3;

/// A pixel's size: that of `place`, and of `other` where the file has it. One that holds two
/// numbers holds both sides. Throws InvalidInput for oblong ones: every length would be that of one
/// axis.
double square_pixel(Sources& sources, const Place& place, const Place& other, Measure measure) {
  std::vector<double> sides;
  for (const Place* const each : {&place, &other}) {
    const at::Tensor values = sources.values(*each, measure);
    if (!values.defined() || values.is_complex()) continue;
    const at::Tensor flat = values.reshape(-1).to(at::kDouble).abs();
    const std::int64_t count = flat.size(0) == 2 ? 2 : std::min<std::int64_t>(flat.size(0), 1);
    for (std::int64_t i = 0; i < count; ++i)
      if (const double side = flat[i].item<double>(); std::isfinite(side) && side > 0)
        sides.push_back(side);
  }
  if (sides.empty()) return 0;
  const auto [least, most] = std::minmax_element(sides.begin(), sides.end());
  require(*most <= (1 + kSquareWithin) * *least,
          "{}: expected square pixels, found {:g} x {:g}: resample the patterns to square ones",
          sources.find(place) ? sources.find(place)->name : sources.find(other)->name, *least,
          *most);
  return sides.front();
}

/// The step of an axis that is given by its values, or a step itself; 0 where there is none.
double step_of_axis(Sources& sources, const Place& place, Measure measure) {
  const at::Tensor values = sources.values(place, measure);
  if (!values.defined() || values.numel() == 0) return 0;
  const at::Tensor flat = values.reshape(-1).to(at::kDouble);
  return std::abs((flat.size(0) > 1 ? flat[1] - flat[0] : flat[0]).item<double>());
}

/// A scan's reading, step by step.
class RecipeReading {
 public:
  RecipeReading(const ScanRecipe& recipe, const fs::path& file) : recipe_(recipe), sources_(file) {}

  RawScan read() {
    read_patterns();
    read_lengths();
    read_positions();
    read_detector();
    read_probe();
    raw_.files = sources_.others();
    return std::move(raw_);
  }

 private:
  void read_patterns() {
    const Sources::Found found = sources_.required(recipe_.patterns, "patterns");
    raw_.patterns_name = found.name;
    raw_.take(lying_stack(found), [&] {
      FileArray array = found.file->read(found.name);
      if (is_raster(array.values.dim())) raster_ = {array.values.size(0), array.values.size(1)};
      array.values = as_patterns(array.values, recipe_.axes, found.name);
      return array;
    });
    raw_.clip_negative = recipe_.clip_negative;
    raw_.domain = recipe_.domain;
    raw_.domain_reason = "the format says so";
    raw_.zero_at_corner = recipe_.zero_at_corner;
    raw_.turn = turn_numbered(recipe_.orientation);
    if (raw_.stack && is_raster(raw_.stack->shape().raster.size() == 2 ? 4 : 3))
      raster_ = raw_.stack->shape().raster;
    if (raster_.empty()) raster_ = found.file->scan_shape();
    raw_.raster = raster_;
  }

  bool is_raster(std::int64_t rank) const {
    return rank == 4 && (recipe_.axes.empty() || recipe_.axes == "RCrc");
  }

  /// The frames with the axes that the recipe names; nullptr for others than a stack has.
  std::unique_ptr<FrameStack> lying_stack(const Sources::Found& found) const {
    auto stack = found.file->frames(found.name);
    if (!stack) return stack;
    const StackShape& shape = stack->shape();
    const std::string axes = shape.last_axis ? "rcn" : shape.raster.empty() ? "nrc" : "RCrc";
    if (recipe_.axes == axes || (recipe_.axes.empty() && !shape.last_axis)) return stack;
    if (recipe_.axes == "ncr" && axes == "nrc") return transposed_stack(std::move(stack));
    return nullptr;
  }

  void read_lengths() {
    Geometry& geometry = raw_.geometry;
    geometry.energy_ev = number(recipe_.energy, Measure::energy);
    raw_.energy_as_written = geometry.energy_ev > 0;
    if (geometry.energy_ev <= 0)
      geometry.energy_ev = photon_energy_ev(number(recipe_.wavelength, Measure::wavelength));
    raw_.split_by_energy(energies());
    geometry.distance_m = std::abs(number(recipe_.distance, Measure::length));
    geometry.detector_pixel_m =
        square_pixel(sources_, recipe_.detector_pixel, recipe_.detector_pixel_y, Measure::length);
    geometry.exposure_s = number(recipe_.exposure, Measure::time);
    geometry.semi_angle_rad = number(recipe_.semi_angle, Measure::angle);
    geometry.object_pixel_m = square_pixel(sources_, recipe_.object_pixel, {}, Measure::length);
    if (geometry.object_pixel_m <= 0) geometry.object_pixel_m = reciprocal_object_pixel();
  }

  /// As many as the file has.
  at::Tensor energies() {
    const at::Tensor energies = sources_.values(recipe_.energy, Measure::energy);
    if (energies.defined()) return energies;
    const at::Tensor wavelengths = sources_.values(recipe_.wavelength, Measure::wavelength);
    return wavelengths.defined() ? photon_energy_ev(1) / wavelengths.to(at::kDouble) : at::Tensor();
  }

  /// 1 / (N * pixel).
  double reciprocal_object_pixel() {
    const double step = step_of_axis(sources_, recipe_.reciprocal_pixel, Measure::reciprocal);
    const double down = step_of_axis(sources_, recipe_.reciprocal_pixel_y, Measure::reciprocal);
    if (step <= 0) return 0;
    require(
        down <= 0 || std::abs(down / step - 1) <= kSquareWithin,
        "{}: expected square detector pixels like {}, {:g} 1/m, found {:g}: resample the "
        "patterns to square ones",
        [&] { return sources_.find(recipe_.reciprocal_pixel_y)->name; },
        [&] { return sources_.find(recipe_.reciprocal_pixel)->name; }, step, down);
    return 1 / (step * static_cast<double>(raw_.cols()));
  }

  double number(const Place& place, Measure measure) {
    return sources_.number(place, measure).value_or(0);
  }

  void read_positions() {
    raw_.missing_positions = recipe_.missing;
    if (sources_.find(recipe_.vectors))
      read_vectors();
    else if (sources_.find(recipe_.x) && sources_.find(recipe_.y))
      read_columns();
    if (!raw_.positions.defined()) return;
    const double foreshortened = std::cos(number(recipe_.x_angle, Measure::angle));
    raw_.positions =
        raw_.positions * at::tensor({recipe_.y_sign, recipe_.x_sign * foreshortened}, at::kDouble);
    join_by_index();
  }

  /// The axes of a raster in the file's pixels say nothing of lengths.
  bool only_counted(const Place& place) {
    const std::string unit = sources_.find(place)->file->unit(sources_.find(place)->name);
    return unit == "pixels" || unit == "pixel" || unit == "px";
  }

  void read_columns() {
    if (!recipe_.x.in_pixels && (only_counted(recipe_.x) || only_counted(recipe_.y))) return;
    raw_.positions_in_metres = !recipe_.x.in_pixels;
    const Measure measure = recipe_.x.in_pixels ? Measure::number : Measure::length;
    at::Tensor x = sources_.values(recipe_.x, measure), y = sources_.values(recipe_.y, measure);
    if (raster_.size() == 2) y = axis_values(y, raster_[0]), x = axis_values(x, raster_[1]);
    raw_.positions_name = sources_.find(recipe_.x)->name + ", " + sources_.find(recipe_.y)->name;
    raw_.positions = positions_of(y, x, places_of(x, y), raw_.positions_name);
  }

  /// How many positions there must be: as many as patterns, unless they are joined by numbers.
  std::int64_t places_of(const at::Tensor& x, const at::Tensor& y) const {
    return recipe_.position_index.given() && x.numel() == y.numel() ? x.numel() : raw_.frames();
  }

  void read_vectors() {
    raw_.positions_in_metres = !recipe_.vectors.in_pixels;
    raw_.positions_name = sources_.find(recipe_.vectors)->name;
    const at::Tensor array = sources_.values(
        recipe_.vectors, recipe_.vectors.in_pixels ? Measure::number : Measure::length);
    const at::Tensor both = vectors_of(array, raw_.frames(), raw_.positions_name).narrow(1, 0, 2);
    raw_.positions = recipe_.vector_order == "xy" ? both.flip(1) : both;
  }

  /// The numbers of the patterns; where the file has none, the positions' own in ascending order if
  /// they are as many (triggers that begin at 1), else 0, 1, ...
  std::vector<std::int64_t> pattern_numbers(const std::map<std::int64_t, at::Tensor>& place_of) {
    const at::Tensor stated = sources_.values(recipe_.pattern_index, Measure::number);
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; stated.defined() && i < stated.numel(); ++i)
      numbers.push_back(stated.reshape(-1)[i].item<std::int64_t>());
    if (stated.defined()) return numbers;
    if (static_cast<std::int64_t>(place_of.size()) == raw_.frames()) {
      for (const auto& [number, place] : place_of) numbers.push_back(number);
    } else {
      for (std::int64_t i = 0; i < raw_.frames(); ++i) numbers.push_back(i);
    }
    return numbers;
  }

  /// The mean of the positions of each number.
  std::map<std::int64_t, at::Tensor> places_by_number(const at::Tensor& numbers) const {
    std::map<std::int64_t, std::vector<std::int64_t>> rows;
    for (std::int64_t i = 0; i < numbers.numel(); ++i)
      rows[numbers.reshape(-1)[i].item<std::int64_t>()].push_back(i);
    std::map<std::int64_t, at::Tensor> place_of;
    for (const auto& [number, of] : rows)
      place_of[number] = raw_.positions.index_select(0, at::tensor(of, at::kLong)).mean(0);
    return place_of;
  }

  /// Keeps the patterns that have a position of their number, and gives them that.
  void join_by_index() {
    const at::Tensor numbers = sources_.values(recipe_.position_index, Measure::number);
    if (!numbers.defined()) return;
    require(numbers.numel() == raw_.positions.size(0), "{}: expected {} numbers, found {}",
            raw_.positions_name, raw_.positions.size(0), numbers.numel());
    const auto place_of = places_by_number(numbers);
    const std::vector<std::int64_t> patterns = pattern_numbers(place_of);
    std::vector<std::int64_t> kept;
    std::vector<at::Tensor> places;
    for (std::size_t i = 0; i < patterns.size(); ++i)
      if (const auto found = place_of.find(patterns[i]); found != place_of.end()) {
        kept.push_back(static_cast<std::int64_t>(i));
        places.push_back(found->second);
      }
    require(!kept.empty() && kept.back() < raw_.frames(),
            "{}: expected numbers of the {} patterns, found others", raw_.positions_name,
            raw_.frames());
    if (static_cast<std::int64_t>(kept.size()) < raw_.frames()) {
      note("{} of {} patterns have a position", kept.size(), raw_.frames());
      raw_.positions = at::Tensor();
      raw_.keep(at::tensor(kept, at::kLong));
    }
    raw_.positions = at::stack(places);
  }

  void read_detector() {
    raw_.mask = sources_.values(recipe_.mask, Measure::number);
    if (raw_.mask.defined() && raw_.mask.numel() == 0) raw_.mask = at::Tensor();  // as .ptyd has it
    if (raw_.mask.defined()) {
      require(!raw_.mask.is_complex() && raw_.mask.dim() >= 2,
              "mask: expected (rows, cols) numbers, found {}", describe(raw_.mask));
      const at::Tensor good = recipe_.mask_good == 0 ? raw_.mask.eq(0) : raw_.mask.ne(0);
      raw_.mask = good.dim() == 2 ? good : good.flatten(0, -3).all(0);
    }
    raw_.dark = sources_.values(recipe_.dark, Measure::number);
    raw_.flat = sources_.values(recipe_.flat, Measure::number);
    raw_.monitor = sources_.values(recipe_.monitor, Measure::number);
    raw_.centre_row = sources_.number(recipe_.centre_row, Measure::number).value_or(-1);
    raw_.centre_col = sources_.number(recipe_.centre_col, Measure::number).value_or(-1);
  }

  void read_probe() {
    if (sources_.number(recipe_.probe_stands_in, Measure::number).value_or(0) != 0) return;
    const at::Tensor probe = sources_.values(recipe_.probe, Measure::number);
    if (!probe.defined()) return;
    raw_.probe_name = sources_.find(recipe_.probe)->name;
    if (probe.dim() >= 2) raw_.probe = some_probe(probe, recipe_.probe_axes, raw_.probe_name);
  }

  const ScanRecipe& recipe_;
  Sources sources_;
  RawScan raw_;
  std::vector<std::int64_t> raster_;
};

/// A result's reading.
class ObjectReading {
 public:
  ObjectReading(const ObjectRecipe& recipe, const fs::path& file)
      : recipe_(recipe), sources_(file) {}

  Reconstruction read() {
    read_object();
    read_lengths();
    read_probe();
    read_positions();
    image_.provenance.source = sources_.scan_file().string();
    return std::move(image_);
  }

 private:
  at::Tensor complex_object() {
    const at::Tensor phase = sources_.values(recipe_.phase, Measure::number);
    if (!phase.defined()) return with_name(sources_.required(recipe_.object, "object"));
    at::Tensor amplitude = sources_.values(recipe_.amplitude, Measure::number);
    if (!amplitude.defined()) amplitude = at::ones_like(phase);
    name_ = "amplitude and phase";
    return at::polar(amplitude.to(at::kFloat), phase.to(at::kFloat));
  }

  at::Tensor with_name(const Sources::Found& found) {
    name_ = found.name;
    return found.file->read(found.name).values;
  }

  /// Layers lie one behind the other; of modes the first is taken.
  void read_object() {
    const bool probe_alone = sources_.find(recipe_.probe) && !sources_.find(recipe_.object) &&
                             !sources_.find(recipe_.phase);
    if (probe_alone) return;
    at::Tensor object = complex_object();
    require(object.is_complex() && object.dim() >= 2 && object.numel() > 0,
            "{}: expected complex (rows, cols), found {}", name_, describe(object));
    if (!recipe_.axes.empty()) object = ordered(object, recipe_.axes, "mlrc", name_);
    while (object.dim() > 3) object = object[0];
    if (object.dim() == 2) object = object.unsqueeze(0);
    image_.object = turned_whole(object.to(at::kComplexFloat));
    image_.coverage = at::ones({image_.rows(), image_.cols()}, at::kFloat);
  }

  /// The object has no zero frequency: its pixels are only reversed.
  at::Tensor turned_whole(at::Tensor object) const {
    const Turn turn = turn_numbered(recipe_.orientation);
    if (turn.transpose) object = object.transpose(-1, -2);
    if (turn.reverse_rows) object = object.flip({-2});
    if (turn.reverse_cols) object = object.flip({-1});
    return object.contiguous();
  }

  void read_lengths() {
    Geometry& geometry = image_.geometry;
    geometry.object_pixel_m = square_pixel(sources_, recipe_.object_pixel, {}, Measure::length);
    geometry.energy_ev = number(recipe_.energy, Measure::energy);
    if (geometry.energy_ev <= 0)
      geometry.energy_ev = photon_energy_ev(number(recipe_.wavelength, Measure::wavelength));
    geometry.distance_m = std::abs(number(recipe_.distance, Measure::length));
  }

  double number(const Place& place, Measure measure) {
    return sources_.number(place, measure).value_or(0);
  }

  void read_probe() {
    const at::Tensor probe = sources_.values(recipe_.probe, Measure::number);
    if (probe.defined() && probe.dim() >= 2)
      image_.probe = some_probe(probe, recipe_.probe_axes, "probe").unsqueeze(0);
  }

  at::Tensor stated_positions(bool& in_pixels) {
    if (const auto found = sources_.find(recipe_.vectors)) {
      in_pixels = recipe_.vectors.in_pixels;
      const at::Tensor array = sources_.values(recipe_.vectors, Measure::number);
      const std::int64_t n = array.numel() / (array.size(-1) <= 3 ? array.size(-1) : array.size(0));
      const at::Tensor both = vectors_of(array, n, found->name).narrow(1, 0, 2);
      return recipe_.vector_order == "xy" ? both.flip(1) : both;
    }
    in_pixels = recipe_.x.in_pixels;
    if (!sources_.find(recipe_.x) || !sources_.find(recipe_.y)) return {};
    const Measure measure = in_pixels ? Measure::number : Measure::length;
    const at::Tensor x = sources_.values(recipe_.x, measure);
    return positions_of(sources_.values(recipe_.y, measure), x, x.numel(), "positions");
  }

  /// Where the object's array begins along an axis, in pixels; its middle is at 0 where the file
  /// does not say.
  std::int64_t first_pixel(const Place& corner, const Place& centre, std::int64_t length) {
    const double pixel = image_.geometry.object_pixel_m;
    if (const auto first = sources_.number(corner, Measure::length))
      return std::llround(*first / pixel);
    return std::llround(number(centre, Measure::length) / pixel) - length / 2;
  }

  /// In pixels they are corners of patches in the object's array; in metres around its middle.
  void read_positions() {
    bool in_pixels = true;
    at::Tensor positions = stated_positions(in_pixels);
    if (!positions.defined()) positions = at::empty({0, 2}, at::kDouble);
    const double pixel = image_.geometry.object_pixel_m;
    if (in_pixels && image_.probe.defined())
      positions = positions + static_cast<double>(image_.pattern_size()) / 2;
    if (!in_pixels && pixel > 0 && image_.object.defined()) {
      positions = positions / pixel;
      image_.origin_row = first_pixel(recipe_.corner_y, recipe_.centre_y, image_.rows());
      image_.origin_col = first_pixel(recipe_.corner_x, recipe_.centre_x, image_.cols());
    }
    image_.positions = positions;
    image_.frame_use = at::zeros({positions.size(0)}, at::kByte);
    image_.interpolation = Interpolation::bilinear;
  }

  const ObjectRecipe& recipe_;
  Sources sources_;
  std::string name_;
  Reconstruction image_;
};

}  // namespace

bool recognises(const Recipe& recipe, const fs::path& file) {
  const Recognition& how = recipe.recognition;
  if (kind_of_file(file) != how.kind) return false;
  if (how.all.empty() && how.any.empty() && how.text_name.empty()) return true;
  Sources sources(file);
  const ArrayFile& arrays = sources.own();
  const auto there = [&](const std::string& name) { return arrays.has(name); };
  if (!std::all_of(how.all.begin(), how.all.end(), there)) return false;
  if (!how.any.empty() && std::none_of(how.any.begin(), how.any.end(), there)) return false;
  if (std::any_of(how.none.begin(), how.none.end(), there)) return false;
  if (how.beside.given() && !sources.find(how.beside)) return false;
  return how.text_name.empty() ||
         arrays.text(how.text_name).value_or("").starts_with(how.text_value);
}

RawScan read_scan_by(const ScanRecipe& recipe, const fs::path& file) {
  return RecipeReading(recipe, file).read();
}

Reconstruction read_object_by(const ObjectRecipe& recipe, const fs::path& file) {
  return ObjectReading(recipe, file).read();
}

Reader reader_by(const Recipe& recipe) {
  Reader reader;
  reader.name = recipe.name;
  reader.signature = recipe.about;
  reader.by_recipe = true;
  reader.recognises = [recipe](const FileSample& sample) {
    return recognises(recipe, sample.file);
  };
  if (recipe.scan)
    reader.read_scan = [recipe](const fs::path& file) { return read_scan_by(*recipe.scan, file); };
  if (recipe.object)
    reader.read_object = [recipe](const fs::path& file) {
      return read_object_by(*recipe.object, file);
    };
  return reader;
}

}  // namespace ptyche
