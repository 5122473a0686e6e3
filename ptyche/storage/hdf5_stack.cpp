#include "ptyche/storage/hdf5_stack.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/progress.h"
#include "ptyche/storage/hdf5_chunks.h"
#include "ptyche/storage/hdf5_types.h"
#include "ptyche/storage/zip_members.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

// Below the size, too large a ratio does no harm.
constexpr double kHarmless = 256e6;

/// A dataset of images. The library is asked by one thread.
class Hdf5Stack : public FrameStack {
 public:
  Hdf5Stack(const StackShape& shape, std::string path, Hdf5Id dataset, Hdf5Id memory,
            std::vector<std::int64_t> lengths)
      : FrameStack(shape),
        path_(std::move(path)),
        dataset_(std::move(dataset)),
        memory_(std::move(memory)),
        lengths_(std::move(lengths)) {}

  void read(std::int64_t first, const Window& window, at::Tensor to) const override {
    const ImageBlock block{first, to.size(0), window};
    if (block.count == 0) return;
    with_context(path_, [&] {
      void* const data = to.mutable_data_ptr();
      if (chunks_) return chunks_->read(block, data);
      if (read_past_library(dataset_.get(), memory_.get(), lengths_, block, data)) return;
      require_success(read_by_library(dataset_.get(), memory_.get(), lengths_, block, data),
                      "could not be read (damaged, or packed by a filter that is not installed)");
    });
  }
  std::int64_t read_together() override {
    if (!chunks_)
      chunks_ = with_context(
          path_, [&] { return ChunkTable::of(dataset_.get(), memory_.get(), lengths_); });
    return chunks_ ? chunks_->images_together() : 0;
  }

 private:
  std::string path_;
  Hdf5Id dataset_, memory_;
  std::vector<std::int64_t> lengths_;
  std::shared_ptr<const ChunkTable> chunks_;
};

// Virtual datasets: their images lie in datasets of other files.

/// Neighbouring whole images of one source of a virtual dataset.
struct VirtualPart {
  std::string file;     ///< as the dataset names it; "." = the dataset's own
  std::string dataset;  ///< its path in that file
  std::int64_t to = 0;  ///< number of the first one among all images
  std::int64_t first = 0, count = 0;
};

constexpr std::size_t kMostParts = 10000;
/// Each holds two of the files that a process may have open, 1024 mostly.
constexpr std::size_t kMostSources = 200;

struct Images {
  std::int64_t first = 0, count = 0;
};

/// What is selected, if it is neighbouring whole images of these rows and columns.
std::optional<Images> whole_images(hid_t space, std::int64_t rows, std::int64_t cols) {
  if (H5Sget_simple_extent_ndims(space) != 3) return std::nullopt;
  hsize_t begin[3] = {}, last[3] = {};
  const hssize_t points = H5Sget_select_npoints(space);
  if (points <= 0 || H5Sget_select_bounds(space, begin, last) < 0) return std::nullopt;
  const auto count = static_cast<std::int64_t>(last[0] - begin[0]) + 1;
  const bool whole = begin[1] == 0 && begin[2] == 0 &&
                     static_cast<std::int64_t>(last[1]) + 1 == rows &&
                     static_cast<std::int64_t>(last[2]) + 1 == cols;
  if (!whole || points / (rows * cols) != count || points % (rows * cols) != 0) return std::nullopt;
  return Images{static_cast<std::int64_t>(begin[0]), count};
}

std::optional<VirtualPart> part_of(hid_t properties, std::size_t index, std::int64_t rows,
                                   std::int64_t cols) {
  const Hdf5Id here(H5Pget_virtual_vspace(properties, index), H5Sclose);
  const Hdf5Id there(H5Pget_virtual_srcspace(properties, index), H5Sclose);
  if (!here.valid() || !there.valid()) return std::nullopt;
  const auto to = whole_images(here.get(), rows, cols);
  // "All" of a source has no bounds: the file does not say how large it is.
  const bool all = H5Sget_select_type(there.get()) == H5S_SEL_ALL && to;
  const auto from = all ? Images{0, to->count} : whole_images(there.get(), rows, cols);
  if (!to || !from || to->count != from->count) return std::nullopt;
  VirtualPart part{virtual_name(properties, index, true), virtual_name(properties, index, false),
                   to->first, from->first, to->count};
  const bool numbered = (part.file + part.dataset).find('%') != std::string::npos;
  return numbered ? std::nullopt : std::optional(part);
}

/// Whether every image is in one part.
bool cover(const std::vector<VirtualPart>& parts, std::int64_t images) {
  std::int64_t next = 0;
  for (const VirtualPart& part : parts) {
    if (part.to != next) return false;
    next += part.count;
  }
  return next == images;
}

/// The parts of a virtual dataset (images, rows, columns), in order. Empty where it is no virtual
/// one, or the library must put it together: parts of images, images in another order or left out,
/// sources by number ("%b"), more than 10 000 parts.
std::vector<VirtualPart> virtual_parts(hid_t dataset, const std::vector<std::int64_t>& shape) {
  const Hdf5Id properties(H5Dget_create_plist(dataset), H5Pclose);
  std::size_t count = 0;
  if (shape.size() != 3 || H5Pget_layout(properties.get()) != H5D_VIRTUAL ||
      H5Pget_virtual_count(properties.get(), &count) < 0 || count > kMostParts)
    return {};
  std::vector<VirtualPart> parts;
  for (std::size_t i = 0; i < count; ++i) {
    const auto part = part_of(properties.get(), i, shape[1], shape[2]);
    if (!part) return {};
    parts.push_back(*part);
  }
  std::sort(parts.begin(), parts.end(),
            [](const VirtualPart& a, const VirtualPart& b) { return a.to < b.to; });
  return cover(parts, shape[0]) ? parts : std::vector<VirtualPart>{};
}

bool same_images(const StackShape& a, const StackShape& b) {
  return a.rows == b.rows && a.cols == b.cols && a.type == b.type &&
         a.unsigned_bits == b.unsigned_bits;
}

/// The source's images, as `frames` says; nullptr where only the library can read it.
std::shared_ptr<FrameStack> source_of(hid_t dataset, const VirtualPart& part,
                                      const StackShape& frames) {
  const fs::path own = file_name_of(dataset);
  const fs::path path = part.file == "." ? own : own.parent_path() / part.file;
  const Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid() || H5Lexists(file.get(), part.dataset.c_str(), H5P_DEFAULT) <= 0) {
    warn("{}: a source of the virtual dataset that is missing or damaged; its patterns are empty",
         part.file);
    return nullptr;
  }
  const Hdf5Id source(H5Dopen2(file.get(), part.dataset.c_str(), H5P_DEFAULT), H5Dclose);
  if (!source.valid()) return nullptr;
  const Hdf5Id created(H5Dget_create_plist(source.get()), H5Pclose);
  if (H5Pget_layout(created.get()) == H5D_VIRTUAL) return nullptr;  // might be made of itself
  std::shared_ptr<FrameStack> stack = hdf5_frames(file.get(), part.dataset);
  const bool fits = stack && same_images(stack->shape(), frames) && stack->shape().raster.empty() &&
                    part.first + part.count <= stack->frames();
  return fits ? stack : nullptr;
}

/// A virtual dataset as its sources, which are read on all cores; nullptr where only the library
/// can put it together.
std::unique_ptr<FrameStack> virtual_stack(hid_t dataset, const std::vector<std::int64_t>& shape,
                                          const StackShape& frames) {
  std::vector<std::unique_ptr<FrameStack>> stacks;
  std::vector<std::string> names;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<FrameStack>> sources;
  for (const VirtualPart& part : virtual_parts(dataset, shape)) {
    auto& source = sources[{part.file, part.dataset}];
    if (sources.size() > kMostSources) return nullptr;
    if (!source) source = source_of(dataset, part, frames);
    if (!source || part.first + part.count > source->frames()) return nullptr;
    names.push_back(part.file);
    stacks.push_back(part_of_stack(source, part.first, part.count, part.file));
  }
  return stacks.empty() ? nullptr : joined_stack(std::move(stacks), names);
}

}  // namespace

Hdf5Id open_hdf5_dataset(hid_t file, const std::string& path) {
  Hdf5Id dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  require_success(dataset.valid(), "could not be opened");
  return dataset;
}

std::vector<std::int64_t> hdf5_shape(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  require_success(rank >= 0, "shape could not be read");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  return {lengths.begin(), lengths.end()};
}

void require_stored(hid_t dataset, std::int64_t declared) {
  const Hdf5Id created(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(created.get());
  const bool elsewhere = layout == H5D_VIRTUAL || H5Pget_external_count(created.get()) > 0;
  const auto stored = static_cast<double>(H5Dget_storage_size(dataset));
  require(elsewhere || static_cast<double>(declared) <= kHarmless + kLargestDeflateRatio * stored,
          "declares {} bytes of values and holds {}: damaged, or never written", declared, stored);
}

std::string virtual_name(hid_t properties, std::size_t index, bool of_file) {
  const auto read = of_file ? H5Pget_virtual_filename : H5Pget_virtual_dsetname;
  const ssize_t length = read(properties, index, nullptr, 0);
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(length, 0)) + 1, '\0');
  read(properties, index, name.data(), name.size());
  name.pop_back();
  return name;
}

std::vector<std::string> virtual_files(hid_t dataset) {
  const Hdf5Id properties(H5Dget_create_plist(dataset), H5Pclose);
  std::size_t count = 0;
  if (H5Pget_layout(properties.get()) != H5D_VIRTUAL ||
      H5Pget_virtual_count(properties.get(), &count) < 0)
    return {};
  std::vector<std::string> files;
  for (std::size_t i = 0; i < count; ++i) files.push_back(virtual_name(properties.get(), i, true));
  return files;
}

std::string file_name_of(hid_t object) {
  const ssize_t length = H5Fget_name(object, nullptr, 0);
  std::string name(static_cast<std::size_t>(std::max<ssize_t>(length, 0)) + 1, '\0');
  H5Fget_name(object, name.data(), name.size());
  name.pop_back();
  return name;
}

std::unique_ptr<FrameStack> hdf5_frames(hid_t file, const std::string& path) {
  Hdf5Id dataset = open_hdf5_dataset(file, path);
  const Hdf5Id file_type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  Hdf5Reading reading = reading_of(file_type.get());
  const std::vector<std::int64_t> shape = hdf5_shape(space.get());
  const bool images = shape.size() == 3 || shape.size() == 4;
  if (!images || reading.type == at::kBool || at::isComplexType(reading.type)) return nullptr;
  for (const std::int64_t length : shape)
    if (length == 0) return nullptr;
  const auto item = static_cast<std::int64_t>(at::elementSize(reading.type));
  const double bytes =
      static_cast<double>(H5Sget_simple_extent_npoints(space.get())) * static_cast<double>(item);
  require(bytes < 9e18, "shape: {} bytes, more than any disk has", bytes);
  require_stored(dataset.get(), static_cast<std::int64_t>(bytes));
  const std::size_t rank = shape.size();
  const StackShape frames{
      .frames = rank == 3 ? shape[0] : shape[0] * shape[1],
      .rows = shape[rank - 2],
      .cols = shape[rank - 1],
      .type = reading.type,
      .unsigned_bits = reading.unsigned_bits,
      .ceiling = reading.ceiling,
      .raster = rank == 4 ? std::vector{shape[0], shape[1]} : std::vector<std::int64_t>{}};
  if (auto plain = contiguous_stack(dataset.get(), reading.memory.get(), shape, frames))
    return plain;
  if (auto parts = virtual_stack(dataset.get(), shape, frames)) return parts;
  return std::make_unique<Hdf5Stack>(frames, path, std::move(dataset), std::move(reading.memory),
                                     shape);
}

}  // namespace ptyche
