#include "ptyche/io/hdf5.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "ptyche/core/error.h"
#include "ptyche/io/hdf5_types.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

/// Errors are exceptions here; the library's own printing would only confuse.
void silence_library() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

void check(bool ok, const std::string& what) {
  if (!ok) throw InvalidInput(what + ": " + hdf5_reason());
}

Hdf5Id open_dataset(hid_t file, const std::string& path) {
  Hdf5Id dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
  check(dataset.valid(), "could not be opened");
  return dataset;
}

std::vector<std::int64_t> shape_of(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  check(rank >= 0, "shape could not be read");
  std::vector<hsize_t> lengths(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, lengths.data(), nullptr);
  return {lengths.begin(), lengths.end()};
}

FileArray read_array(hid_t file, const std::string& path) {
  const Hdf5Id dataset = open_dataset(file, path);
  const Hdf5Id file_type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  const Hdf5Reading reading = reading_of(file_type.get());
  const std::vector<std::int64_t> shape = shape_of(space.get());
  checked_bytes(shape, static_cast<std::int64_t>(at::elementSize(reading.type)));
  const bool flags = reading.type == at::kBool;
  at::Tensor values = at::empty(shape, flags ? at::kByte : reading.type);
  if (values.numel() > 0) {
    const herr_t status = H5Dread(dataset.get(), reading.memory.get(), H5S_ALL, H5S_ALL,
                                  H5P_DEFAULT, values.mutable_data_ptr());
    check(status >= 0, "could not be read (damaged, or packed by a filter that is not installed)");
  }
  if (flags) values = values.ne(0);  // a bool that is neither 0 nor 1 is undefined behaviour later
  return {reading.unsigned_bits ? from_unsigned_bits(values) : values, reading.ceiling};
}

/// Reads one text, of fixed or variable length, through `read` (H5Dread or H5Aread).
template <typename Read>
std::string one_text(hid_t file_type, hid_t space, const Read& read) {
  require(H5Tget_class(file_type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1,
          "expected {}", "one text");
  if (H5Tis_variable_str(file_type) > 0) {
    char* text = nullptr;
    const Hdf5Id memory(H5Tcopy(file_type), H5Tclose);
    check(read(memory.get(), &text) >= 0, "could not be read");
    const std::string copy = text ? text : "";
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(file_type), '\0');
  check(read(file_type, text.data()) >= 0, "could not be read");
  return text.c_str();  // up to the padding
}

struct Attribute {
  Hdf5Id id, type, space;
};

std::optional<Attribute> open_attribute(hid_t file, const std::string& path,
                                        const std::string& name) {
  if (H5Aexists_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
  Hdf5Id id(H5Aopen_by_name(file, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(id.valid(), name + ": could not be opened");
  Hdf5Id type(H5Aget_type(id.get()), H5Tclose);
  Hdf5Id space(H5Aget_space(id.get()), H5Sclose);
  return Attribute{std::move(id), std::move(type), std::move(space)};
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
  check(attribute.valid() && H5Awrite(attribute.get(), type, value) >= 0,
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

void write_dataset(hid_t file, const std::string& path, hid_t type, hid_t space, hid_t properties,
                   const void* data) {
  const Hdf5Id links = group_making_links();
  Hdf5Id dataset(H5Dcreate2(file, path.c_str(), type, space, links.get(), properties, H5P_DEFAULT),
                 H5Dclose);
  const bool written =
      dataset.valid() &&
      (data == nullptr || H5Dwrite(dataset.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  check(written, path + ": could not be written");
  check(dataset.close(), path + ": could not be written");
}

herr_t collect(hid_t, const char* name, const H5O_info_t* info, void* names) {
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

Hdf5File Hdf5File::open(const fs::path& file) {
  silence_library();
  require(fs::exists(file), "expected an HDF5 file, found {}", "none");
  require(!fs::is_directory(file), "expected an HDF5 file, found {}", "a folder");
  Hdf5Id id(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  check(id.valid(), "expected a whole HDF5 file, found a damaged one");
  return {std::move(id), file};
}

Hdf5File Hdf5File::create(const fs::path& file) {
  constexpr std::size_t kGrowth = 1 << 24;
  silence_library();
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fapl_core(access.get(), kGrowth, /*backing_store=*/false);
  Hdf5Id id(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  check(id.valid(), "could not be written");
  return {std::move(id), file};
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
  H5Ovisit2(file_.get(), H5_INDEX_NAME, H5_ITER_INC, collect, &names, H5O_INFO_BASIC);
  return names;
}

FileArray Hdf5File::read(const std::string& path) const {
  return with_context(path, [&] {
    require(has(path), "expected a dataset of this name, found {}", list_of(datasets()));
    return read_array(file_.get(), path);
  });
}

std::string Hdf5File::read_text(const std::string& path) const {
  return with_context(path, [&] {
    const Hdf5Id dataset = open_dataset(file_.get(), path);
    const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
    const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
    return one_text(type.get(), space.get(), [&](hid_t memory, void* to) {
      return H5Dread(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
    });
  });
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
    check(H5Aread(attribute->id.get(), H5T_NATIVE_DOUBLE, &value) >= 0, "could not be read");
    return value;
  });
}

std::optional<std::string> Hdf5File::text(const std::string& path, const std::string& name) const {
  return with_context(path + " attribute " + name, [&]() -> std::optional<std::string> {
    const auto attribute = open_attribute(file_.get(), path, name);
    if (!attribute) return std::nullopt;
    return one_text(attribute->type.get(), attribute->space.get(), [&](hid_t memory, void* to) {
      return H5Aread(attribute->id.get(), memory, to);
    });
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
  write_dataset(file_.get(), path, type.get(), space.get(), properties.get(),
                data.numel() > 0 ? data.const_data_ptr() : nullptr);
}

void Hdf5File::write_text(const std::string& path, const std::string& text) {
  const Hdf5Id space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Id properties = dataset_properties(at::Tensor(at::empty({0})), Storage::plain);
  const Hdf5Id type = text_type();
  const char* data = text.c_str();
  write_dataset(file_.get(), path, type.get(), space.get(), properties.get(), &data);
}

void Hdf5File::make_group(const std::string& path) {
  const Hdf5Id links = group_making_links();
  const Hdf5Id group(H5Gcreate2(file_.get(), path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose);
  check(group.valid(), path + ": could not be written");
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
  check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) >= 0, "could not be written");
  const ssize_t size = H5Fget_file_image(file_.get(), nullptr, 0);
  std::vector<char> bytes(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  check(size > 0 && H5Fget_file_image(file_.get(), bytes.data(), bytes.size()) == size,
        "could not be written");
  check(file_.close(), "could not be written");
  errno = 0;
  std::ofstream out(target_, std::ios::binary);
  out.write(bytes.data(), size);
  out.close();
  require(!out.fail(), "could not be written: {}", std::strerror(errno));
}

}  // namespace ptyche
