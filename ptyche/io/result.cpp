#include "ptyche/io/result.h"

#include <cmath>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/io/place.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/recipe.h"
#include "ptyche/storage/numpy.h"

namespace ptyche {
namespace {

at::Tensor middle_of(const at::Tensor& positions) {
  return (positions.amax(0) + positions.amin(0)) / 2;
}

void move(Reconstruction& image, const at::Tensor& shift) {
  image.origin_row += std::llround(shift[0].item<double>());
  image.origin_col += std::llround(shift[1].item<double>());
}

/// Onto the scan's frame.
void lay_on(const Scan& scan, Reconstruction& image) {
  if (image.positions.size(0) == scan.frames()) {
    const at::Tensor shift = (scan.positions() - image.positions).mean(0);
    image.positions = image.positions + shift;
    return move(image, shift);
  }
  note("the result has no position for each pattern: its middle is laid on the scan's");
  const at::Tensor size = at::tensor({image.rows(), image.cols()}, at::kDouble);
  const at::Tensor origin = at::tensor({image.origin_row, image.origin_col}, at::kDouble);
  move(image, middle_of(scan.positions()) - size / 2 - origin);
}

}  // namespace

Result read_result(const std::filesystem::path& file) {
  const Reader& reader = reader_of(file, Content::object);
  return with_context(file.string(), [&] {
    return Result{reader.read_object(file), reader.name, reader.by_recipe};
  });
}

Reconstruction read_start(const std::filesystem::path& file, const Scan& scan) {
  Result result = read_result(file);
  require(result.image.probe.defined() && result.image.object.defined(),
          "{}: expected a result with an object and a probe, found one alone", file.string());
  if (result.own_frame) lay_on(scan, result.image);
  return result.image;
}

namespace {

/// Where programs keep a probe that is not beside an object.
const std::vector<std::string> kProbes = {"probe",
                                          "content/probe/*/data",
                                          "entry_1/probe/data",
                                          "entry_1/instrument_1/source_1/illumination",
                                          "entry_1/instrument_1/detector_1/illumination",
                                          "entry_1/image_1/data",
                                          "probeGuess"};

/// Of several coherent modes the first.
at::Tensor first_modes(at::Tensor probe, const std::string& name) {
  while (probe.dim() > 3) probe = probe[0];
  return as_probe(probe, name);
}

}  // namespace

at::Tensor read_probe_file(const std::filesystem::path& file) {
  if (file.extension() == ".npy") return as_probe(read_npy_file(file).values, file.string());
  for (const Recipe& recipe : shipped_recipes())
    if (recipe.object && recognises(recipe, file))
      if (const Reconstruction image = read_object_by(*recipe.object, file); image.probe.defined())
        return image.main_probe();
  Sources sources(file);
  Place place;
  place.names = kProbes;
  const Sources::Found found = sources.required(place, "probe");
  return first_modes(found.file->read(found.name).values, file.string() + ": " + found.name);
}

}  // namespace ptyche
