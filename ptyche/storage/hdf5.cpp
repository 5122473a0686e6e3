#include "ptyche/storage/hdf5.h"

#include <array>
#include <cstring>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/hdf5_chunks.h"
#include "ptyche/storage/hdf5_filters.h"
#include "ptyche/storage/hdf5_output.h"
#include "ptyche/storage/hdf5_stack.h"
#include "ptyche/storage/hdf5_types.h"
#include "ptyche/storage/seal.h"
#include "ptyche/storage/trial.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

// Arrays, texts and attributes.

/// Errors are exceptions here; the library's own printing would only confuse.
void silence_library() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

FileArray read_array(hid_t file, const std::string& path) {
  const Hdf5Id dataset = open_hdf5_dataset(file, path);
  const Hdf5Id file_type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  const Hdf5Reading reading = reading_of(file_type.get());
  const std::vector<std::int64_t> shape = hdf5_shape(space.get());
  require_stored(dataset.get(),
                 checked_bytes(shape, static_cast<std::int64_t>(at::elementSize(reading.type))));
  const bool flags = reading.type == at::kBool;
  at::Tensor values = at::empty(shape, flags ? at::kByte : reading.type);
  const bool past = values.numel() > 0 && shape.size() >= 2 &&
                    read_past_library(dataset.get(), reading.memory.get(), shape,
                                      ImageBlock::whole(shape), values.mutable_data_ptr());
  if (values.numel() > 0 && !past) {
    const herr_t status = H5Dread(dataset.get(), reading.memory.get(), H5S_ALL, H5S_ALL,
                                  H5P_DEFAULT, values.mutable_data_ptr());
    require_success(status >= 0,
                    "could not be read (damaged, or packed by a filter that is not installed)");
  }
  if (flags) values = values.ne(0);  // a bool that is neither 0 nor 1 is undefined behaviour later
  return {reading.unsigned_bits ? from_unsigned_bits(values) : values, reading.ceiling};
}

struct Attribute {
  Hdf5Id id, type, space;
};

std::optional<Attribute> open_attribute(hid_t file, const std::string& path,
                                        const std::string& name) {
  if (H5Aexists_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
  Hdf5Id id(H5Aopen_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  require_success(id.valid(), name + ": could not be opened");
  Hdf5Id type(H5Aget_type(id.get()), H5Tclose);
  Hdf5Id space(H5Aget_space(id.get()), H5Sclose);
  return Attribute{std::move(id), std::move(type), std::move(space)};
}

/// The attribute's text, of fixed or variable length.
std::string text_of(const Attribute& attribute) {
  const hid_t type = attribute.type.get();
  require(
      H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(attribute.space.get()) == 1,
      "expected {}", "one text");
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    require_success(H5Aread(attribute.id.get(), type, &text) >= 0, "could not be read");
    const std::string copy = text ? text : "";
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  require_success(H5Aread(attribute.id.get(), type, text.data()) >= 0, "could not be read");
  return text.c_str();  // up to the padding
}

/// Of the library's answer and of what the disk said (hdf5_output.h; null = a file that is read).
void require_written(bool written, const int* fault, const std::string& path) {
  const std::string what = path.empty() ? "" : path + ": ";
  require(!fault || *fault == 0, "{}could not be written: {}", what,
          [&] { return std::string(std::strerror(*fault)); });
  require_success(written, what + "could not be written");
}

void write_attribute(hid_t file, const std::string& path, const std::string& name, hid_t type,
                     const void* value) {
  if (H5Aexists_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT) > 0) {
    H5Adelete_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT);
  }
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id attribute(H5Acreate_by_name(file, path.c_str(), name.c_str(), type, space.get(),
                                           H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Aclose);
  require_success(attribute.valid() && H5Awrite(attribute.get(), type, value) >= 0,
                  path + ": attribute " + name + " could not be written");
}

Hdf5Id group_making_links() {
  Hdf5Id links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links.get(), 1);
  return links;
}

/// Without times, so that the same content gives the same file.
Hdf5Id dataset_properties(const at::Tensor& array, Hdf5File::Storage storage) {
  constexpr unsigned kDeflateLevel = 4;
  Hdf5Id properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);
  if (storage == Hdf5File::Storage::plain || array.dim() < 2 || array.numel() == 0) {
    return properties;
  }
  std::vector<hsize_t> chunk(array.sizes().begin(), array.sizes().end());
  chunk.front() = 1;
  H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data());
  H5Pset_shuffle(properties.get());
  H5Pset_deflate(properties.get(), kDeflateLevel);
  return properties;
}

/// `fault` is that of the file.
void write_dataset(hid_t file, const int* fault, const std::string& path, hid_t type, hid_t space,
                   hid_t properties, const void* data) {
  const Hdf5Id links = group_making_links();
  Hdf5Id dataset(H5Dcreate2(file, path.c_str(), type, space, links.get(), properties, H5P_DEFAULT),
                 H5Dclose);
  const bool written =
      dataset.valid() &&
      (data == nullptr || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  const bool closed = dataset.close();
  require_written(written && closed, fault, path);
}

herr_t append_dataset(hid_t, const char* name, const H5O_info_t* info, void* names) {
  if (info->type == H5O_TYPE_DATASET)
    static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

}  // namespace

bool Hdf5Id::close() {
  if (id_ < 0) return true;
  const bool closed = close_(id_) >= 0;
  id_ = -1;
  return closed;
}

bool is_hdf5(const fs::path& file) {
  silence_library();
  return not_a_file(file).empty() && H5Fis_hdf5(file.c_str()) > 0;
}

Hdf5File Hdf5File::open(const fs::path& file, SealCheck when) {
  silence_library();
  const std::string other = not_a_file(file);
  require(other.empty(), "expected an HDF5 file, found {}", other);
  const bool later = when == SealCheck::later && fs::file_size(file) > kReadAtOnce;
  const Seal seal = later ? Seal::none : check_seal(file);
  require(seal != Seal::broken,
          "the file is damaged: expected the SHA-256 that ptyche wrote at its end, found {}",
          "another one");
  if (seal == Seal::none) require_sound_hdf5(file);
  Hdf5Id id(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  require_success(id.valid(), "expected a whole HDF5 file, found a damaged one");
  register_hdf5_filters();
  return {std::move(id), file};
}

Hdf5File Hdf5File::from_memory(std::string_view bytes, const std::string& name) {
  silence_library();
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), bytes.size(), /*backing_store=*/false);
  // Copied by the library, which writes to none of it.
  H5Pset_file_image(access.get(), const_cast<char*>(bytes.data()), bytes.size());
  Hdf5Id id(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  require_success(id.valid(), name + ": expected a whole HDF5 file, found a damaged one");
  return {std::move(id), name};
}

Hdf5File Hdf5File::create(const fs::path& file) {
  silence_library();
  auto fault = std::make_unique<int>(0);
  const Hdf5Id access = writing_access(*fault);
  Hdf5Id id(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  require_written(id.valid(), fault.get(), "");
  return {std::move(id), file, std::move(fault)};
}

std::int64_t Hdf5File::size() const {
  hsize_t bytes = 0;
  require_success(H5Fget_filesize(file_.get(), &bytes) >= 0, "size unknown");
  return static_cast<std::int64_t>(bytes);
}

bool Hdf5File::has(const std::string& path) const {
  // H5Lexists fails, rather than say no, where a group above is missing.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    if (H5Lexists(file_.get(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) break;
  }
  return H5Oexists_by_name(file_.get(), path.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::string> Hdf5File::datasets() const {
  std::vector<std::string> names;
  H5Ovisit2(file_.get(), H5_INDEX_NAME, H5_ITER_INC, append_dataset, &names, H5O_INFO_BASIC);
  return names;
}

FileArray Hdf5File::read(const std::string& path) const {
  return with_context(path, [&] {
    require(has(path), "expected a dataset of this name, found {}",
            [&] { return list_of(datasets()); });
    return read_array(file_.get(), path);
  });
}

std::unique_ptr<FrameStack> Hdf5File::frames(const std::string& path) const {
  return with_context(path, [&] { return hdf5_frames(file_.get(), path); });
}

std::optional<double> Hdf5File::number(const std::string& path, const std::string& name) const {
  return with_context(path + " attribute " + name, [&]() -> std::optional<double> {
    const auto attribute = open_attribute(file_.get(), path, name);
    if (!attribute) return std::nullopt;
    const H5T_class_t kind = H5Tget_class(attribute->type.get());
    require((kind == H5T_FLOAT || kind == H5T_INTEGER) &&
                H5Sget_simple_extent_npoints(attribute->space.get()) == 1,
            "expected {}", "one number");
    double value = 0;
    require_success(H5Aread(attribute->id.get(), H5T_NATIVE_DOUBLE, &value) >= 0,
                    "could not be read");
    return value;
  });
}

std::optional<std::string> Hdf5File::text(const std::string& path, const std::string& name) const {
  return with_context(path + " attribute " + name, [&]() -> std::optional<std::string> {
    const auto attribute = open_attribute(file_.get(), path, name);
    if (!attribute) return std::nullopt;
    return text_of(*attribute);
  });
}

void Hdf5File::write(const std::string& path, const at::Tensor& array, Storage storage) {
  const at::Tensor data = array.detach().cpu().resolve_conj().contiguous();
  const std::vector<hsize_t> lengths(data.sizes().begin(), data.sizes().end());
  const Hdf5Id space(
      lengths.empty() ? H5Screate(H5S_SCALAR)
                      : H5Screate_simple(static_cast<int>(lengths.size()), lengths.data(), nullptr),
      H5Sclose);
  const Hdf5Id properties = dataset_properties(data, storage);
  const Hdf5Id type = writing_of(data.scalar_type());
  write_dataset(file_.get(), fault_.get(), path, type.get(), space.get(), properties.get(),
                data.numel() > 0 ? data.const_data_ptr() : nullptr);
}

void Hdf5File::write_text(const std::string& path, const std::string& text) {
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id properties = dataset_properties(at::Tensor(at::empty({0})), Storage::plain);
  const Hdf5Id type = text_type();
  const char* data = text.c_str();
  write_dataset(file_.get(), fault_.get(), path, type.get(), space.get(), properties.get(), &data);
}

void Hdf5File::make_group(const std::string& path) {
  const Hdf5Id links = group_making_links();
  const Hdf5Id group(H5Gcreate2(file_.get(), path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose);
  require_success(group.valid(), path + ": could not be written");
}

void Hdf5File::set(const std::string& path, const std::string& attribute, double value) {
  write_attribute(file_.get(), path, attribute, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5File::set(const std::string& path, const std::string& attribute, std::int64_t value) {
  write_attribute(file_.get(), path, attribute, H5T_NATIVE_INT64, &value);
}

void Hdf5File::set(const std::string& path, const std::string& attribute,
                   const std::string& value) {
  const Hdf5Id type = text_type();
  const char* data = value.c_str();
  write_attribute(file_.get(), path, attribute, type.get(), &data);
}

void Hdf5File::close() {
  const bool closed = file_.close();
  require_written(closed, fault_.get(), "");
  append_seal(target_);
}

}  // namespace ptyche
