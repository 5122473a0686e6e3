// HDF5 files and those of MATLAB 7.3 as named arrays.
#include <algorithm>
#include <numeric>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/hdf5_stack.h"

namespace ptyche {
namespace {

herr_t append_link(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->push_back(name);
  return 0;
}

/// Names of the files that links lead to.
herr_t append_linked(hid_t from, const char* name, const H5L_info_t* info, void* names) {
  if (info->type != H5L_TYPE_EXTERNAL) return 0;
  std::vector<char> value(info->u.val_size);
  if (H5Lget_val(from, name, value.data(), value.size(), H5P_DEFAULT) < 0) return 0;
  const char *file = nullptr, *object = nullptr;
  unsigned flags = 0;
  if (H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &object) >= 0)
    static_cast<std::vector<std::string>*>(names)->push_back(file);
  return 0;
}

std::vector<std::string> links_of(const Hdf5File& file, const std::string& group) {
  std::vector<std::string> names;
  const Hdf5Id id(H5Gopen2(file.id(), group.empty() ? "/" : group.c_str(), H5P_DEFAULT), H5Gclose);
  if (id.valid()) H5Literate(id.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, append_link, &names);
  std::sort(names.begin(), names.end(), by_number);
  return names;
}

std::string joined_path(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

/// All paths that fit, in the order of their numbers.
std::vector<std::string> matching(const Hdf5File& file, const std::string& pattern) {
  std::vector<std::string> paths{""};
  for (const std::string& part : split(pattern, '/')) {
    std::vector<std::string> longer;
    for (const std::string& path : paths) {
      if (part.find('*') == std::string::npos)
        longer.push_back(joined_path(path, part));
      else
        for (const std::string& name : links_of(file, path))
          if (fits_pattern(name, part)) longer.push_back(joined_path(path, name));
    }
    paths = longer;
  }
  std::erase_if(paths, [&](const std::string& path) {
    if (file.has(path)) return false;
    if (H5Lexists(file.id(), path.c_str(), H5P_DEFAULT) > 0)
      warn("{}: a link to a file or dataset that is missing", path);
    return true;
  });
  return paths;
}

/// One text of fixed or variable length behind an open dataset or attribute.
template <typename Read>
std::optional<std::string> one_text(hid_t type, hid_t space, const Read& read) {
  if (H5Tget_class(type) != H5T_STRING || H5Sget_simple_extent_npoints(space) != 1) return {};
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    if (read(&text) < 0 || text == nullptr) return {};
    const std::string copy = text;
    H5free_memory(text);
    return copy;
  }
  std::string text(H5Tget_size(type) + 1, '\0');
  if (read(text.data()) < 0) return {};
  return std::string(text.c_str());
}

std::optional<std::string> dataset_text(const Hdf5File& file, const std::string& path) {
  const Hdf5Id dataset(H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) return {};
  const Hdf5Id type(H5Dget_type(dataset.get()), H5Tclose);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose);
  return one_text(type.get(), space.get(), [&](void* to) {
    return H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
  });
}

struct OpenAttribute {
  Hdf5Id id, type, space;
};

std::optional<OpenAttribute> attribute_of(const Hdf5File& file, const std::string& path,
                                          const std::string& name) {
  if (H5Aexists_by_name(file.id(), path.c_str(), name.c_str(), H5P_DEFAULT) <= 0) return {};
  Hdf5Id id(H5Aopen_by_name(file.id(), path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            H5Aclose);
  if (!id.valid()) return {};
  Hdf5Id type(H5Aget_type(id.get()), H5Tclose);
  Hdf5Id space(H5Aget_space(id.get()), H5Sclose);
  return OpenAttribute{std::move(id), std::move(type), std::move(space)};
}

std::optional<std::string> attribute_text(const Hdf5File& file, const std::string& path,
                                          const std::string& name) {
  const auto attribute = attribute_of(file, path, name);
  if (!attribute) return {};
  return one_text(attribute->type.get(), attribute->space.get(), [&](void* to) {
    return H5Aread(attribute->id.get(), attribute->type.get(), to);
  });
}

at::Tensor attribute_numbers(const Hdf5File& file, const std::string& path,
                             const std::string& name) {
  const auto attribute = attribute_of(file, path, name);
  require(attribute.has_value(), "expected an attribute, found none");
  const H5T_class_t kind = H5Tget_class(attribute->type.get());
  const hssize_t count = H5Sget_simple_extent_npoints(attribute->space.get());
  require((kind == H5T_FLOAT || kind == H5T_INTEGER) && count >= 1 && count < 1 << 20,
          "expected numbers, found another kind of attribute");
  at::Tensor values = at::empty({count}, at::kDouble);
  require(H5Aread(attribute->id.get(), H5T_NATIVE_DOUBLE, values.mutable_data_ptr()) >= 0,
          "could not be read");
  return count == 1 ? values[0] : values;
}

class Hdf5Arrays : public ArrayFile {
 public:
  explicit Hdf5Arrays(const std::filesystem::path& file)
      : path_(file), file_(Hdf5File::open(file, SealCheck::later)) {}

  std::vector<std::string> names() const override { return file_.datasets(); }

  bool has(const std::string& name) const override {
    const auto [path, attribute] = parted(name);
    if (path.find('*') != std::string::npos) return !matching(file_, path).empty();
    if (path != "/" && !file_.has(path)) return false;
    return attribute.empty() || attribute_of(file_, path, attribute).has_value();
  }

  FileArray read(const std::string& name) const override {
    const auto [path, attribute] = parted(name);
    if (!attribute.empty())
      return {with_context(name,
                           [&, &path = path, &attribute = attribute] {
                             return attribute_numbers(file_, path, attribute);
                           }),
              0};
    return path.find('*') == std::string::npos ? file_.read(path) : read_joined(path);
  }

  std::unique_ptr<FrameStack> frames(const std::string& name) const override {
    const auto [path, attribute] = parted(name);
    if (!attribute.empty()) return nullptr;
    if (path.find('*') == std::string::npos) return file_.frames(path);
    const std::vector<std::string> paths = matching(file_, path);
    std::vector<std::unique_ptr<FrameStack>> parts;
    for (const std::string& one : paths) {
      parts.push_back(file_.frames(one));
      if (!parts.back()) return nullptr;
    }
    if (parts.size() > 1) number_parts(paths, parts);
    return parts.empty() ? nullptr : joined_stack(std::move(parts), paths);
  }

  std::vector<std::filesystem::path> linked_files() const override {
    std::vector<std::string> names;
    H5Lvisit(file_.id(), H5_INDEX_NAME, H5_ITER_NATIVE, append_linked, &names);
    for (const std::string& path : file_.datasets()) {
      const Hdf5Id dataset(H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose);
      if (!dataset.valid()) continue;
      for (const std::string& name : virtual_files(dataset.get())) names.push_back(name);
    }
    std::vector<std::filesystem::path> files;
    for (const std::string& name : names) {
      const std::filesystem::path file = path_.parent_path() / name;
      if (std::filesystem::is_regular_file(file)) files.push_back(file);
    }
    return files;
  }

  std::optional<std::string> text(const std::string& name) const override {
    const auto [path, attribute] = parted(name);
    if (!has(name)) return {};
    return attribute.empty() ? dataset_text(file_, path) : attribute_text(file_, path, attribute);
  }

  std::string unit(const std::string& name) const override {
    const auto [pattern, attribute] = parted(name);
    const std::string path = first_path(pattern);
    if (!attribute.empty() || path.empty() || !file_.has(path)) return {};
    if (const auto text = attribute_text(file_, path, "units")) return *text;
    return attribute_text(file_, path, "unit").value_or("");
  }

 private:
  /// Path without the first slash, and attribute.
  static std::pair<std::string, std::string> parted(const std::string& name) {
    const std::size_t at = name.find('@');
    std::string path = name.substr(0, at);
    if (path.size() > 1 && path.front() == '/') path.erase(0, 1);
    if (path.empty()) path = "/";
    return {path, at == std::string::npos ? "" : name.substr(at + 1)};
  }

  /// A detector's files say which of its images they hold, or their names do where each holds as
  /// many as the first; both count from 1.
  void number_parts(const std::vector<std::string>& paths,
                    std::vector<std::unique_ptr<FrameStack>>& parts) const {
    const std::vector<std::int64_t> files = numbers_in(paths);
    const std::int64_t each = parts.front()->frames();
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t count = parts[i]->frames();
      const bool stated = attribute_of(file_, paths[i], "image_nr_low").has_value();
      const bool like_first = i + 1 == parts.size() ? count <= each : count == each;
      if (!stated && (files.empty() || !like_first)) return;
      const std::int64_t first = stated ? attribute_numbers(file_, paths[i], "image_nr_low")
                                              .reshape(-1)[0]
                                              .item<std::int64_t>()
                                        : (files[i] - 1) * each + 1;
      std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
      std::iota(numbers.begin(), numbers.end(), first);
      parts[i]->number(std::move(numbers));
    }
  }

  /// Of a pattern the first that fits; empty where none does.
  std::string first_path(const std::string& pattern) const {
    if (pattern.find('*') == std::string::npos) return pattern;
    const std::vector<std::string> paths = matching(file_, pattern);
    return paths.empty() ? "" : paths.front();
  }

  FileArray read_joined(const std::string& pattern) const {
    const std::vector<std::string> paths = matching(file_, pattern);
    require(!paths.empty(), "{}: expected datasets of such names, found none", pattern);
    std::vector<at::Tensor> parts;
    double ceiling = 0;
    for (const std::string& path : paths) {
      FileArray part = file_.read(path);
      if (part.values.dim() == 0) part.values = part.values.reshape(-1);
      parts.push_back(part.values);
      ceiling = part.ceiling;
      require(part.values.dim() == parts.front().dim() &&
                  part.values.sizes().slice(1) == parts.front().sizes().slice(1),
              "{}: expected {} like {}, found {}", path, describe(parts.front()), paths.front(),
              describe(part.values));
    }
    return {parts.size() == 1 ? parts.front() : at::cat(parts), ceiling};
  }

  std::filesystem::path path_;
  Hdf5File file_;
};

}  // namespace

std::unique_ptr<ArrayFile> open_hdf5_arrays(const std::filesystem::path& file) {
  return std::make_unique<Hdf5Arrays>(file);
}

}  // namespace ptyche
