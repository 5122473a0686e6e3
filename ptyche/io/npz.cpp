#include "ptyche/io/npz.h"

#include <zip.h>

#include <algorithm>
#include <limits>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/io/npy.h"

namespace ptyche {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kEnding = ".npy";
/// Deflate cannot shrink more than this (RFC 1951: 258 bytes in 2 bits), so a larger size is a lie.
constexpr double kLargestDeflateRatio = 1032;

std::string reason(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

/// A zip entry that is being read.
class Entry {
 public:
  Entry(zip_t* archive, zip_uint64_t index) : file_(zip_fopen_index(archive, index, 0)) {
    require(file_ != nullptr, "could not be opened: {}", zip_strerror(archive));
  }
  ~Entry() { zip_fclose(file_); }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  void read(char* to, std::int64_t count) {
    while (count > 0) {
      const zip_int64_t got = zip_fread(file_, to, static_cast<zip_uint64_t>(count));
      require(got > 0, "truncated or damaged: expected {} more bytes, found {}", count,
              got < 0 ? zip_file_strerror(file_) : "the end");
      to += got;
      count -= got;
    }
  }

  /// libzip compares the checksum when the end is reached.
  void require_end() {
    char extra = 0;
    const zip_int64_t got = zip_fread(file_, &extra, 1);
    require(got == 0, "damaged: expected the end and a right checksum, found {}",
            got < 0 ? zip_file_strerror(file_) : "more bytes");
  }

 private:
  zip_file_t* file_;
};

zip_stat_t checked_stat(zip_t* archive, const std::string& entry) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  const zip_uint64_t needed = ZIP_STAT_INDEX | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  const bool ok =
      zip_stat(archive, entry.c_str(), 0, &stat) == 0 && (stat.valid & needed) == needed;
  require(ok, "size unknown: {}", zip_strerror(archive));
  const double possible = kLargestDeflateRatio * (static_cast<double>(stat.comp_size) + 64);
  require(static_cast<double>(stat.size) <= possible &&
              stat.size <= static_cast<zip_uint64_t>(std::numeric_limits<std::int64_t>::max()),
          "damaged: expected at most {:.0f} bytes from {} compressed ones, found a size of {}",
          possible, stat.comp_size, stat.size);
  return stat;
}

void add_array(zip_t* archive, const std::string& name, const std::string& bytes) {
  zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
  const std::string entry = name + std::string(kEnding);
  const zip_int64_t index = zip_file_add(archive, entry.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(source);
  require(index >= 0, "{}: could not be added: {}", name, zip_strerror(archive));
  // A fixed time: the same arrays give the same file.
  zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, (1 << 5) | 1, 0);
}

std::string npy_bytes(const at::Tensor& tensor) {
  const at::Tensor data = tensor.detach().cpu().contiguous();
  std::string bytes = npy_header(data);
  if (data.numel() == 0) return bytes;
  return bytes.append(static_cast<const char*>(data.const_data_ptr()), data.nbytes());
}

}  // namespace

void NpzFile::Closer::operator()(zip* archive) const { zip_discard(archive); }

NpzFile::NpzFile(const fs::path& file) {
  int code = 0;
  archive_.reset(zip_open(file.c_str(), ZIP_RDONLY, &code));
  require(archive_ != nullptr, "expected a whole zip archive (.npz), found a damaged one: {}",
          reason(code));
  const zip_int64_t entries = zip_get_num_entries(archive_.get(), 0);
  for (zip_int64_t i = 0; i < entries; ++i) {
    const char* entry = zip_get_name(archive_.get(), static_cast<zip_uint64_t>(i), 0);
    std::string name = entry ? entry : "";
    if (name.ends_with(kEnding)) names_.push_back(name.substr(0, name.size() - kEnding.size()));
  }
}

bool NpzFile::has(const std::string& name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

FileArray NpzFile::read(const std::string& name) const {
  return with_context(name, [&] {
    require(has(name), "expected an array of this name, found {}", list_of(names_));
    const zip_stat_t stat = checked_stat(archive_.get(), name + std::string(kEnding));
    Entry entry(archive_.get(), stat.index);
    const auto source = [&](char* to, std::int64_t count) { entry.read(to, count); };
    FileArray array = read_npy(source, static_cast<std::int64_t>(stat.size));
    entry.require_end();
    return array;
  });
}

std::string NpzFile::first_of(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    if (has(name)) return name;
  }
  throw InvalidInput(fmt::format("{}: expected an array named {}, found {}", names.front(),
                                 list_of(names), list_of(names_)));
}

void write_npz(const fs::path& file,
               const std::vector<std::pair<std::string, at::Tensor>>& arrays) {
  std::vector<std::string> contents;  // libzip reads them at zip_close
  for (const auto& [name, tensor] : arrays) contents.push_back(npy_bytes(tensor));
  write_atomically(file, [&](const fs::path& path) {
    int code = 0;
    zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    require(archive != nullptr, "could not be written: {}", reason(code));
    std::unique_ptr<zip_t, decltype(&zip_discard)> open(archive, &zip_discard);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      add_array(archive, arrays[i].first, contents[i]);
    }
    const bool written = zip_close(archive) == 0;
    require(written, "could not be written: {}", zip_strerror(archive));
    open.release();  // zip_close has freed it
  });
}

}  // namespace ptyche
