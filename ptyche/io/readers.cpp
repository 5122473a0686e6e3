#include "ptyche/io/readers.h"

#include <algorithm>
#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/io/choose_reader.h"
#include "ptyche/io/recipe.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {

// One line per format: the function of its own file that describes it.
Reader product_reader();
Reader npz_reader();
Reader cxi_reader();

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = [] {
    std::vector<Reader> formats;
    for (const Recipe& recipe : shipped_recipes()) formats.push_back(reader_by(recipe));
    for (const Reader& own : {product_reader(), npz_reader(), cxi_reader()}) formats.push_back(own);
    return formats;
  }();
  return all;
}

namespace {

/// A folder of images is a file of many patterns.
bool holds_images(const std::filesystem::path& folder) {
  return !files_in_order(folder, {".tif", ".tiff", ".mib"}).empty();
}

FileSample sample_of(const std::filesystem::path& given) {
  const std::filesystem::path file = scan_file_in(given);
  if (std::error_code unknown; std::filesystem::is_directory(file, unknown)) {
    require(holds_images(file), "expected a file, found a folder");
    return {file, "folder", std::nullopt};
  }
  const std::string other = not_a_file(file);
  require(other.empty(), "expected a file, found {}", other);
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), "expected a readable file, found one that cannot be opened");
  FileSample sample{file, std::string(512, '\0'), std::nullopt};
  in.read(sample.start.data(), static_cast<std::streamsize>(sample.start.size()));
  sample.start.resize(static_cast<std::size_t>(in.gcount()));
  if (is_hdf5(file)) sample.hdf5.emplace(Hdf5File::open(file, SealCheck::later));
  return sample;
}

bool holds(const Reader& reader, Content content) {
  if (content == Content::scan) return bool(reader.read_scan);
  return content == Content::any || reader.read_object;
}

const Reader* recognising(const FileSample& sample, Content content,
                          const std::vector<Reader>& formats) {
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const Reader& reader) {
    return holds(reader, content) && reader.recognises(sample);
  });
  return found == formats.end() ? nullptr : &*found;
}

/// "a, b or c".
std::string alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  return text;
}

/// The formats with such content by name, or as "name (signature)".
std::string listed(Content content, const std::vector<Reader>& formats, bool signatures) {
  std::vector<std::string> words;
  std::size_t recipes = 0;
  for (const Reader& reader : formats) {
    if (!holds(reader, content)) continue;
    if (reader.by_recipe)
      ++recipes;
    else
      words.push_back(signatures ? fmt::format("{} ({})", reader.name, reader.signature)
                                 : reader.name);
  }
  if (recipes > 0) words.push_back(fmt::format("one of {} more (docs/formats.md)", recipes));
  return alternatives(words);
}

/// What the file is instead.
std::string found_instead(const FileSample& sample, const std::vector<Reader>& formats) {
  if (const Reader* other = recognising(sample, Content::any, formats)) return other->name;
  if (sample.hdf5)
    return "HDF5 with " + list_of(sample.hdf5->datasets()) +
           "; --patterns and --positions say where things lie";
  return "none of them in the first bytes";
}

}  // namespace

const Reader& reader_of(const std::filesystem::path& file, Content content,
                        const std::vector<Reader>& formats) {
  return *with_file(file, [&] {
    const FileSample sample = sample_of(file);
    require(!sample.start.empty(), "expected a {}, found an empty file",
            content == Content::object ? "file" : "scan");
    const Reader* reader = recognising(sample, content, formats);
    if (reader == nullptr)
      throw InvalidInput(fmt::format("expected {}, found {}", listed(content, formats, true),
                                     found_instead(sample, formats)));
    return reader;
  });
}

std::string format_names(Content content, const std::vector<Reader>& formats) {
  return listed(content, formats, false);
}

Reconstruction read_object_file(const std::filesystem::path& file) {
  const Reader& reader = reader_of(file, Content::object);
  return with_file(file, [&] {
    Reconstruction image = reader.read_object(file);
    require(image.object.defined(), "expected an object, found a probe alone");
    return image;
  });
}

std::int64_t RawScan::frames() const {
  if (patterns.defined()) return patterns.size(0);
  return chosen.defined() ? chosen.size(0) : stack->frames();
}

std::int64_t RawScan::rows() const {
  if (detector_rows > 0) return detector_rows;
  return patterns.defined() ? patterns.size(1) : stack->shape().rows;
}

std::int64_t RawScan::cols() const {
  if (detector_cols > 0) return detector_cols;
  return patterns.defined() ? patterns.size(2) : stack->shape().cols;
}

void RawScan::keep(const at::Tensor& numbers) {
  const std::int64_t all = frames();
  const auto select = [&](at::Tensor& values) {
    if (values.defined() && values.dim() > 0 && values.size(0) == all)
      values = values.index_select(0, numbers);
  };
  if (monitor.defined()) monitor = monitor.reshape(-1);
  if (patterns.defined())
    patterns = patterns.index_select(0, numbers);
  else
    chosen = chosen.defined() ? chosen.index_select(0, numbers) : numbers;
  for (at::Tensor* values : {&positions, &true_positions, &scan_index, &monitor}) select(*values);
}

void RawScan::take(std::unique_ptr<FrameStack> frames,
                   const std::function<FileArray()>& otherwise) {
  if (frames != nullptr) {
    ceiling = frames->shape().ceiling;
    stack = std::move(frames);
    return;
  }
  FileArray array = otherwise();
  patterns = array.values;
  ceiling = array.ceiling;
}

void RawScan::split_by_energy(const at::Tensor& energies_ev) {
  constexpr double kOneEnergy = 1e-3;
  if (!energies_ev.defined() || energies_ev.numel() < 2 || energies_ev.is_complex()) return;
  const at::Tensor each = energies_ev.reshape(-1).to(at::kDouble);
  const double least = each.min().item<double>(), most = each.max().item<double>();
  if (!(least > 0) || most <= (1 + kOneEnergy) * least) return;
  const std::vector<std::int64_t> lengths = stack ? stack->shape().raster : raster;
  require(
      lengths.size() == 2 && lengths[0] == each.size(0),
      "{}: expected one energy, found {} from {:.6g} to {:.6g} eV: several scans; --frames takes "
      "the patterns of one, --energy is theirs, --scan-index needs the energies as the first "
      "axis of the patterns",
      patterns_name, each.size(0), least, most);
  energies = each;
  scan_index = at::arange(each.size(0), at::kLong).repeat_interleave(lengths[1]);
  raster.clear();
}

void RawScan::forget_truth(const std::string& reason) {
  if (truth.defined() || true_positions.defined()) note("the truth is left out: {}", reason);
  truth = true_positions = at::Tensor();
}

at::Tensor as_probe(const at::Tensor& array, const std::string& name) {
  at::Tensor probe = array;
  if (probe.dim() == 4 && probe.size(0) == 1) probe = probe.squeeze(0);
  if (probe.dim() == 3 && probe.size(2) == 1 && probe.size(0) == probe.size(1)) {
    probe = probe.squeeze(2);
  }
  if (probe.dim() == 2) probe = probe.unsqueeze(0);
  require(probe.dim() == 3 && probe.size(1) == probe.size(2) && probe.numel() > 0,
          "{}: expected (N, N) or (modes, N, N), found {}", name, describe(array));
  return probe.to(at::kComplexFloat).contiguous();
}

Reconstruction as_object(const at::Tensor& array, const std::string& name) {
  const at::Tensor object = array.squeeze();
  require(object.dim() == 2 && object.is_complex() && object.numel() > 0,
          "{}: expected complex (rows, cols), found {}", name, describe(array));
  Reconstruction image;
  image.object = object.to(at::kComplexFloat).contiguous().unsqueeze(0);
  return image;
}

}  // namespace ptyche
