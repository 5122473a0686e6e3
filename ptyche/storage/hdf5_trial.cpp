#include <hdf5.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/storage/file_identity.h"
#include "ptyche/storage/hdf5_stack.h"
#include "ptyche/storage/trial.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

// All of this runs in the forked process: HDF5 and memory of its own, nothing else. Errors of
// single datasets and attributes are no fault of the file as a whole: whoever asks for them is
// told.

constexpr int kMostNames = 1 << 16;  // of one virtual dataset with numbered sources

/// What has been seen to, and what was met on the way.
struct Walk {
  std::set<std::pair<unsigned long, haddr_t>> objects;  ///< file number, address
  std::set<std::string> sources;                        ///< file and path
  bool no_regular = false;
};

void try_anything(hid_t object, Walk& walk);

/// The places where HDF5 looks for a file that another one names.
std::vector<fs::path> places_of(const fs::path& from, const fs::path& name) {
  const fs::path folder = from.parent_path();
  return {name, folder / name, folder / name.filename(), name.filename()};
}

/// Whether one of these is a FIFO or a device: HDF5 would wait for ever. (What is a folder or
/// missing it does not open.)
bool leads_astray(const fs::path& from, const fs::path& name) {
  for (const fs::path& place : places_of(from, name)) {
    std::error_code ignored;
    const fs::file_type type = fs::status(place, ignored).type();
    if (type == fs::file_type::fifo || type == fs::file_type::character ||
        type == fs::file_type::block || type == fs::file_type::socket)
      return true;
  }
  return false;
}

void read_attribute(hid_t object, const char* name) {
  const hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
  if (attribute < 0) return;
  const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
  const hssize_t count = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
  const std::size_t item = type < 0 ? 0 : H5Tget_size(type);
  if (count > 0 && item > 0 && static_cast<std::size_t>(count) * item <= kTrialBytes) {
    std::vector<char> bytes(static_cast<std::size_t>(count) * item);
    if (H5Aread(attribute, type, bytes.data()) >= 0)
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes.data());
  }
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  H5Aclose(attribute);
}

herr_t try_attribute(hid_t object, const char* name, const H5A_info_t*, void*) {
  read_attribute(object, name);
  return 0;
}

/// A dataset that a virtual one is made of.
void try_source(const fs::path& from, const std::string& file, const std::string& dataset,
                Walk& walk) {
  if (file == "." || !walk.sources.insert(file + '\0' + dataset).second) return;
  for (const fs::path& place : places_of(from, file)) {
    const hid_t opened = H5Fopen(place.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (opened < 0) continue;
    const hid_t object = H5Oopen(opened, dataset.c_str(), H5P_DEFAULT);
    if (object >= 0) try_anything(object, walk);
    if (object >= 0) H5Oclose(object);
    H5Fclose(opened);
  }
}

/// The name with the number of a block, where it has a place for one.
std::string numbered(std::string name, int block) {
  const std::size_t at = name.find("%b");
  if (at != std::string::npos) name.replace(at, 2, std::to_string(block));
  return name;
}

void try_mapping(const fs::path& from, hid_t created, std::size_t index, Walk& walk) {
  const std::string file = virtual_name(created, index, true);
  const std::string dataset = virtual_name(created, index, false);
  const bool many = (file + dataset).find("%b") != std::string::npos;
  for (int block = 0; block < (many ? kMostNames : 1); ++block) {
    const std::string name = numbered(file, block);
    if (leads_astray(from, name)) walk.no_regular = true;
    if (walk.no_regular) return;
    bool there = name == ".";
    for (const fs::path& place : places_of(from, name)) there = there || fs::exists(place);
    if (!there) return;
    try_source(from, name, numbered(dataset, block), walk);
    if (many && file.find("%b") == std::string::npos) return;  // all blocks in one file
  }
}

/// Files that the values of a dataset lie in.
void try_other_files(hid_t dataset, Walk& walk) {
  const hid_t created = H5Dget_create_plist(dataset);
  if (created < 0) return;
  const fs::path from = file_name_of(dataset);
  std::size_t count = 0;
  if (H5Pget_layout(created) == H5D_VIRTUAL && H5Pget_virtual_count(created, &count) >= 0)
    for (std::size_t i = 0; i < count && !walk.no_regular; ++i) try_mapping(from, created, i, walk);
  for (int i = 0; i < H5Pget_external_count(created); ++i) {
    std::string name(4096, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    if (H5Pget_external(created, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset,
                        &size) >= 0 &&
        leads_astray(from, name.c_str()))
      walk.no_regular = true;
  }
  H5Pclose(created);
}

/// Of the values of a dataset: all of few, the places of many.
void read_values(hid_t dataset, hid_t type, hid_t space) {
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  const std::size_t item = H5Tget_size(type);
  if (count <= 0 || item == 0) return;
  if (static_cast<double>(count) * static_cast<double>(item) > static_cast<double>(kTrialBytes)) {
    hsize_t chunks = 0;
    H5Dget_num_chunks(dataset, space, &chunks);
    return;
  }
  std::vector<char> bytes(static_cast<std::size_t>(count) * item);
  if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()) >= 0)
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, bytes.data());
}

void try_dataset(hid_t dataset, Walk& walk) {
  try_other_files(dataset, walk);
  if (walk.no_regular) return;
  const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
  if (type >= 0 && space >= 0) read_values(dataset, type, space);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
}

herr_t try_object(hid_t from, const char* name, const H5O_info_t* info, void* walk) {
  auto& way = *static_cast<Walk*>(walk);
  if (way.no_regular) return 1;
  const hid_t object = H5Oopen(from, name, H5P_DEFAULT);
  if (object < 0) return 0;
  H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, try_attribute, nullptr);
  if (info->type == H5O_TYPE_DATASET) try_dataset(object, way);
  H5Oclose(object);
  return 0;
}

/// Whether a link to another file names what is no regular file.
bool link_leads_astray(hid_t from, const char* name, const H5L_info_t& info) {
  if (info.type != H5L_TYPE_EXTERNAL) return false;
  std::vector<char> value(info.u.val_size + 1);
  const char *file = nullptr, *object = nullptr;
  unsigned flags = 0;
  if (H5Lget_val(from, name, value.data(), value.size(), H5P_DEFAULT) < 0 ||
      H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &file, &object) < 0)
    return false;
  return leads_astray(file_name_of(from), file);
}

/// Links to other files and to names: what they lead to is tried as well.
herr_t try_link(hid_t from, const char* name, const H5L_info_t* info, void* walk) {
  auto& way = *static_cast<Walk*>(walk);
  if (info->type == H5L_TYPE_HARD) return 0;
  way.no_regular = way.no_regular || link_leads_astray(from, name, *info);
  if (way.no_regular) return 1;
  const hid_t object = H5Oopen(from, name, H5P_DEFAULT);
  if (object < 0) return 0;
  try_anything(object, way);
  H5Oclose(object);
  return way.no_regular ? 1 : 0;
}

/// Objects first, links afterwards: a link may lead to any object.
bool try_all_below(hid_t object, Walk& walk) {
  return H5Ovisit2(object, H5_INDEX_NAME, H5_ITER_NATIVE, try_object, &walk, H5O_INFO_BASIC) >= 0 &&
         (H5Iget_type(object) == H5I_DATASET ||
          H5Lvisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, try_link, &walk) >= 0);
}

void try_anything(hid_t object, Walk& walk) {
  H5O_info_t info;
  if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) return;
  if (walk.objects.insert({info.fileno, info.addr}).second) try_all_below(object, walk);
}

TrialEnd try_file(const char* name) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) return TrialEnd::sound;  // whoever opens it is told why
  Walk walk;
  const bool listed = try_all_below(file, walk);
  H5Fclose(file);
  if (walk.no_regular) return TrialEnd::no_regular;
  return listed ? TrialEnd::sound : TrialEnd::no_list;
}

}  // namespace

void require_sound_hdf5(const std::filesystem::path& file) {
  static KnownFiles<std::string> known;
  const std::string fault = known.of(file, [&] { return fault_in_trial(file, try_file); });
  require(fault.empty(), "the file is damaged (HDF5 failed while reading it: {})", fault);
}

}  // namespace ptyche
