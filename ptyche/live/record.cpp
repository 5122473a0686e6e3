#include "ptyche/live/record.h"

#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGroupName = "live_record";
constexpr std::array<const char*, 3> kDialects = {"json", "eiger1", "eiger2"};
constexpr double kFlushSeconds = 0.5;
constexpr std::size_t kFlushBytes = std::size_t{8} << 20;
constexpr std::uintmax_t kRoom = std::uintmax_t{64} << 20;  // that stays free on the disk
constexpr std::int64_t kLargestMessage = std::int64_t{1} << 31;

std::int64_t number_of_dialect(const std::string& name) {
  return std::ranges::find(kDialects, name) - kDialects.begin();
}

void check_hdf5(bool good, const fs::path& file) {
  require(good, "{}: the record cannot be written or read", file.string());
}

}  // namespace

/// A dataset that grows along its first axis.
class RecordColumn {
 public:
  RecordColumn(hid_t file, const std::string& name, hid_t type, hsize_t width, hsize_t chunk)
      : type_(type), width_(width), set_(made(file, path(name), type, width, chunk)) {}
  RecordColumn(hid_t file, const std::string& name, hid_t type, hsize_t width)
      : type_(type),
        width_(width),
        set_(H5Dopen2(file, path(name).c_str(), H5P_DEFAULT), H5Dclose) {}

  bool valid() const { return set_.valid(); }
  hsize_t rows() const {
    const Hdf5Id space(H5Dget_space(set_.get()), H5Sclose);
    hsize_t size[2] = {0, 0};
    const int rank = H5Sget_simple_extent_ndims(space.get());
    const bool fits = rank == (width_ > 1 ? 2 : 1);
    if (fits) H5Sget_simple_extent_dims(space.get(), size, nullptr);
    return fits && (width_ == 1 || size[1] == width_) ? size[0] : 0;
  }
  bool append(hsize_t at, hsize_t count, const void* values) {
    const hsize_t size[2] = {at + count, width_};
    return H5Dset_extent(set_.get(), size) >= 0 &&
           transfer(at, count, const_cast<void*>(values), true);
  }
  bool read(hsize_t at, hsize_t count, void* values) const {
    return count == 0 || const_cast<RecordColumn*>(this)->transfer(at, count, values, false);
  }
  bool flush() { return H5Dflush(set_.get()) >= 0; }

 private:
  static std::string path(const std::string& name) { return std::string(kGroupName) + "/" + name; }
  static Hdf5Id made(hid_t file, const std::string& name, hid_t type, hsize_t width,
                     hsize_t chunk) {
    const hsize_t now[2] = {0, width}, most[2] = {H5S_UNLIMITED, width}, piece[2] = {chunk, width};
    const int rank = width > 1 ? 2 : 1;
    const Hdf5Id space(H5Screate_simple(rank, now, most), H5Sclose);
    const Hdf5Id plan(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(plan.get(), rank, piece);
    return {H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, plan.get(), H5P_DEFAULT),
            H5Dclose};
  }
  bool transfer(hsize_t at, hsize_t count, void* values, bool write) {
    const hsize_t first[2] = {at, 0}, size[2] = {count, width_};
    const int rank = width_ > 1 ? 2 : 1;
    const Hdf5Id there(H5Dget_space(set_.get()), H5Sclose);
    const Hdf5Id here(H5Screate_simple(rank, size, nullptr), H5Sclose);
    if (H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, first, nullptr, size, nullptr) < 0)
      return false;
    return (write ? H5Dwrite(set_.get(), type_, here.get(), there.get(), H5P_DEFAULT, values)
                  : H5Dread(set_.get(), type_, here.get(), there.get(), H5P_DEFAULT, values)) >= 0;
  }
  hid_t type_;
  hsize_t width_;
  Hdf5Id set_;
};

namespace {

Hdf5Id newest_format() {
  Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  return access;
}

/// The library's own complaints are not the user's.
class Quiet {
 public:
  Quiet() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~Quiet() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

Hdf5Id opened(const fs::path& file, unsigned how) {
  const Hdf5Id access = newest_format();
  return {H5Fopen(file.c_str(), how, access.get()), H5Fclose};
}

/// As a killed program has left it: still marked as being written, which reading passes over.
Hdf5Id opened_to_read(const fs::path& file) {
  Hdf5Id found = opened(file, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ);
  return found.valid() ? std::move(found) : opened(file, H5F_ACC_RDONLY);
}

}  // namespace

std::mutex& hdf5_lock() {
  static std::mutex lock;
  return lock;
}

struct Recorder::Table {
  explicit Table(Hdf5Id opened_file)
      : file(std::move(opened_file)),
        bytes(file.get(), "bytes", H5T_NATIVE_UINT8, 1, 1 << 20),
        parts(file.get(), "parts", H5T_NATIVE_INT64, 1, 4096),
        messages(file.get(), "messages", H5T_NATIVE_INT64, 2, 4096),
        times(file.get(), "times", H5T_NATIVE_DOUBLE, 1, 4096) {}
  bool valid() const { return bytes.valid() && parts.valid() && messages.valid() && times.valid(); }
  Hdf5Id file;
  RecordColumn bytes, parts, messages, times;
};

namespace {

Hdf5Id new_file(const fs::path& file) {
  const Hdf5Id access = newest_format();
  Hdf5Id made(H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose);
  check_hdf5(made.valid(), file);
  const Hdf5Id group(H5Gcreate2(made.get(), kGroupName, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                     H5Gclose);
  check_hdf5(group.valid(), file);
  return made;
}

}  // namespace

Recorder::Recorder(const fs::path& file) : file_(file) {
  const std::lock_guard guard(hdf5_lock());
  const Quiet quiet;
  table_ = std::make_unique<Table>(new_file(file));
  check_hdf5(table_->valid() && H5Fstart_swmr_write(table_->file.get()) >= 0, file);
}

Recorder::~Recorder() {
  try {
    flush();
  } catch (const InvalidInput& error) {
    warn("{}", error.what());
  }
  const std::lock_guard guard(hdf5_lock());
  table_.reset();
}

void Recorder::add(const RawMessage& message) {
  const std::lock_guard guard(mutex_);
  if (full_) return;
  for (const std::string& part : message.parts) {
    bytes_ += part;
    parts_.push_back(written_bytes_ + static_cast<std::int64_t>(bytes_.size()));
  }
  messages_.push_back(written_parts_ + static_cast<std::int64_t>(parts_.size()));
  messages_.push_back(number_of_dialect(message.dialect));
  times_.push_back(watch_.seconds());
  if (bytes_.size() > kFlushBytes || watch_.seconds() - flushed_ > kFlushSeconds) append_locked();
}

bool Recorder::whole() {
  const std::lock_guard guard(mutex_);
  append_locked();
  return !full_;
}

void Recorder::flush() {
  const std::lock_guard guard(mutex_);
  append_locked();
}

/// Parts and bytes first: a reader believes what `messages` says.
void Recorder::append_locked() {
  flushed_ = watch_.seconds();
  if (times_.empty() || full_) return;
  std::error_code unknown;
  const fs::space_info space =
      fs::space(file_.has_parent_path() ? file_.parent_path() : ".", unknown);
  if (!unknown && space.available < kRoom + bytes_.size()) {
    full_ = true;
    warn("{}: the disk is nearly full; no more messages are recorded", file_.string());
    return;
  }
  const std::lock_guard guard(hdf5_lock());
  const Quiet quiet;
  const bool good =
      table_->bytes.append(static_cast<hsize_t>(written_bytes_), bytes_.size(), bytes_.data()) &&
      table_->parts.append(static_cast<hsize_t>(written_parts_), parts_.size(), parts_.data()) &&
      table_->times.append(static_cast<hsize_t>(written_messages_), times_.size(), times_.data()) &&
      table_->bytes.flush() && table_->parts.flush() && table_->times.flush() &&
      table_->messages.append(static_cast<hsize_t>(written_messages_), times_.size(),
                              messages_.data()) &&
      table_->messages.flush();
  if (!good) {
    full_ = true;
    warn("{}: it cannot be written; no more messages are recorded", file_.string());
    return;
  }
  written_bytes_ += static_cast<std::int64_t>(bytes_.size());
  written_parts_ += static_cast<std::int64_t>(parts_.size());
  written_messages_ += static_cast<std::int64_t>(times_.size());
  bytes_.clear(), parts_.clear(), messages_.clear(), times_.clear();
}

bool is_record(const fs::path& file) {
  if (!is_hdf5(file)) return false;
  const std::lock_guard guard(hdf5_lock());
  const Quiet quiet;
  const Hdf5Id found = opened_to_read(file);
  return found.valid() && H5Lexists(found.get(), kGroupName, H5P_DEFAULT) > 0;
}

void read_record(const fs::path& file, const std::function<bool(RawMessage, double)>& take) {
  std::unique_lock guard(hdf5_lock());
  const Quiet quiet;
  const auto sound = [&](bool good, const char* what) {
    require(good, "{}: damaged record: {}", file.string(), what);
  };
  const Hdf5Id source = opened_to_read(file);
  sound(source.valid(), "it cannot be opened");
  const RecordColumn bytes(source.get(), "bytes", H5T_NATIVE_UINT8, 1),
      parts(source.get(), "parts", H5T_NATIVE_INT64, 1),
      messages(source.get(), "messages", H5T_NATIVE_INT64, 2),
      times(source.get(), "times", H5T_NATIVE_DOUBLE, 1);
  sound(bytes.valid() && parts.valid() && messages.valid() && times.valid(), "an array is missing");
  const hsize_t count = std::min(messages.rows(), times.rows());
  const auto most_parts = static_cast<std::int64_t>(parts.rows());
  const auto most_bytes = static_cast<std::int64_t>(bytes.rows());
  std::int64_t part = 0, byte = 0;
  for (hsize_t i = 0; i < count; ++i) {
    std::int64_t end[2];
    double time = 0;
    sound(messages.read(i, 1, end) && times.read(i, 1, &time), "it cannot be read");
    sound(end[0] >= part && end[0] - part < 64 && end[0] <= most_parts, "a message's end");
    sound(end[1] >= 0 && end[1] < static_cast<std::int64_t>(kDialects.size()), "a dialect");
    RawMessage message{kDialects[static_cast<std::size_t>(end[1])], {}};
    for (; part < end[0]; ++part) {
      std::int64_t last = 0;
      sound(parts.read(static_cast<hsize_t>(part), 1, &last), "it cannot be read");
      sound(last >= byte && last <= most_bytes && last - byte < kLargestMessage, "a part's end");
      std::string text(static_cast<std::size_t>(last - byte), '\0');
      sound(bytes.read(static_cast<hsize_t>(byte), text.size(), text.data()), "it cannot be read");
      message.parts.push_back(std::move(text));
      byte = last;
    }
    guard.unlock();
    const bool more = take(std::move(message), time);
    guard.lock();
    if (!more) return;
  }
}

}  // namespace ptyche
