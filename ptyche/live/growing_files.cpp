// Files that grow while the scan runs: HDF5 that is written to, an EIGER master whose data files
// appear one by one, a folder of TIFF files, a table of positions; and records.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/live/source.h"
#include "ptyche/storage/arrays.h"
#include "ptyche/storage/hdf5_filters.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

constexpr auto kPoll = std::chrono::milliseconds(100);

/// Asks again and again what is new, until there are `frames` of them or nothing was new for
/// `quiet` seconds; says then that it is the end.
void poll(SourceSink& sink, const SourceUrl& url, bool of_frames, bool of_positions,
          const std::function<std::int64_t()>& look) {
  const double quiet = url.number("quiet", 10, 0.1, 1e6);
  const auto wanted = static_cast<std::int64_t>(url.number("frames", 0, 0, 1e9));
  Stopwatch since;
  std::int64_t seen = 0;
  while (!sink.queue.closed()) {
    const std::int64_t found = look();
    seen += found;
    if (found > 0) since = Stopwatch();
    if ((wanted > 0 && seen >= wanted) || since.seconds() > quiet) break;
    std::this_thread::sleep_for(kPoll);
  }
  if (of_frames) pass_on(sink, SeriesEnd{0, true});
  if (of_positions) pass_on(sink, SeriesEnd{0, false});
}

// A table of positions.

/// The numbers of a line between commas, semicolons, tabs or blanks; nothing for other lines.
std::optional<std::vector<double>> numbers_in(const std::string& line) {
  std::vector<double> found;
  const char *at = line.data(), *const end = at + line.size();
  while (true) {
    while (at != end && (*at == ',' || *at == ';' || *at == ' ' || *at == '\t' || *at == '\r'))
      ++at;
    if (at == end) break;
    double value = 0;
    const auto [next, fault] = std::from_chars(at, end, value);
    if (fault != std::errc()) return std::nullopt;
    found.push_back(value);
    at = next;
  }
  if (found.empty()) return std::nullopt;
  return found;
}

/// "x,y" of the next pattern, or "index,x,y", a line each; only whole lines are taken.
class GrowingTable {
 public:
  explicit GrowingTable(const SourceUrl& url) : url_(url), unit_(position_unit(url)) {}

  std::int64_t look(SourceSink& sink) {
    std::ifstream file(url_.place, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(done_));
    std::int64_t found = 0;
    for (std::string line; std::getline(file, line) && !file.eof();) {
      done_ += line.size() + 1;
      if (const auto values = numbers_in(line)) found += take(*values, sink) ? 1 : 0;
    }
    return found;
  }

 private:
  bool take(const std::vector<double>& values, SourceSink& sink) {
    const std::size_t x = values.size() >= 3 ? 1 : 0;
    const double index = x == 1 ? values[0] : static_cast<double>(next_);
    const bool good = values.size() >= 2 && index >= 0 && index < kLargestIndex &&
                      index == std::floor(index) && std::isfinite(values[x]) &&
                      std::isfinite(values[x + 1]);
    if (!good) {
      pass_on(sink, DamagedMessage{fmt::format("{}: line of pattern {}", url_.place, next_)});
      if (values.size() == 2) ++next_;  // its pattern was measured all the same
      return false;
    }
    next_ = static_cast<std::int64_t>(index) + 1;
    const at::Tensor row_col = at::tensor({values[x + 1], values[x]}, at::kDouble).view({1, 2});
    return pass_on(sink, PositionsMessage{static_cast<std::int64_t>(index), row_col * unit_.scale,
                                          unit_.metres});
  }
  SourceUrl url_;
  PositionUnit unit_;
  std::size_t done_ = 0;
  std::int64_t next_ = 0;
};

// A folder of TIFF files.

/// The last number in a file's name; -1 = none.
std::int64_t number_in(const std::string& name) {
  const std::size_t last = name.find_last_of("0123456789");
  if (last == std::string::npos) return -1;
  const std::size_t before = name.find_last_not_of("0123456789", last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  std::int64_t value = -1;
  std::from_chars(name.data() + first, name.data() + last + 1, value);
  return value;
}

/// Each file is a frame under the number in its name. One that cannot be read yet is asked again.
class GrowingFolder {
 public:
  explicit GrowingFolder(const SourceUrl& url)
      : folder_(url.place), first_(static_cast<std::int64_t>(url.number("first", 0, 0, 1e9))) {}

  std::int64_t look(SourceSink& sink) {
    std::int64_t found = 0;
    for (const fs::path& file : files_in_order(folder_, {".tif", ".tiff"})) {
      const std::int64_t index = number_in(file.stem().string()) - first_;
      if (index < 0 || taken_.contains(index)) continue;
      try {
        const at::Tensor values = open_tiff(file)->read("frames").values;
        if (values.numel() == 0) continue;
        pass_on(sink, FrameMessage{.index = index,
                                   .counts = values.view({values.size(-2), values.size(-1)})});
      } catch (const std::exception&) {
        continue;  // half written, most likely
      }
      taken_.insert(index);
      ++found;
    }
    return found;
  }

 private:
  fs::path folder_;
  std::int64_t first_;
  std::set<std::int64_t> taken_;
};

// HDF5.

class QuietHdf5 {
 public:
  QuietHdf5() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietHdf5(const QuietHdf5&) = delete;
  QuietHdf5& operator=(const QuietHdf5&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

Hdf5Id growing_file(const std::string& file) {
  Hdf5Id found(H5Fopen(file.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT), H5Fclose);
  return found.valid() ? std::move(found)
                       : Hdf5Id(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
}

/// The dataset's type in memory, and the tensor's.
struct MemoryType {
  hid_t hdf5 = H5T_NATIVE_FLOAT;
  at::ScalarType type = at::kFloat;
  bool is_unsigned = false;
};
MemoryType memory_type(hid_t set) {
  const Hdf5Id type(H5Dget_type(set), H5Tclose);
  const std::size_t bytes = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_INTEGER)
    return bytes > 4 ? MemoryType{H5T_NATIVE_DOUBLE, at::kDouble, false} : MemoryType{};
  const bool is_unsigned = H5Tget_sign(type.get()) == H5T_SGN_NONE;
  if (bytes == 1)
    return is_unsigned ? MemoryType{H5T_NATIVE_UINT8, at::kByte, false}
                       : MemoryType{H5T_NATIVE_INT8, at::kChar, false};
  if (bytes == 2)
    return {is_unsigned ? H5T_NATIVE_UINT16 : H5T_NATIVE_INT16, at::kShort, is_unsigned};
  return {is_unsigned ? H5T_NATIVE_UINT32 : H5T_NATIVE_INT32, at::kInt, is_unsigned};
}

/// Lengths of a dataset, at most 3; empty = it is not there yet.
std::vector<hsize_t> lengths(hid_t set) {
  const Hdf5Id space(H5Dget_space(set), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > 3) return {};
  std::vector<hsize_t> found(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space.get(), found.data(), nullptr);
  return found;
}

/// Rows first .. first + count of the first axis; undefined where they cannot be read yet.
at::Tensor rows_of(hid_t set, hsize_t first, hsize_t count, double* ceiling = nullptr) {
  std::vector<hsize_t> size = lengths(set), start(size.size(), 0);
  start[0] = first, size[0] = count;
  const std::vector<std::int64_t> shape(size.begin(), size.end());
  const MemoryType memory = memory_type(set);
  checked_bytes(shape, static_cast<std::int64_t>(at::elementSize(memory.type)));
  at::Tensor values = at::empty(shape, memory.type);
  const Hdf5Id there(H5Dget_space(set), H5Sclose);
  const Hdf5Id here(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr),
                    H5Sclose);
  H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  if (H5Dread(set, memory.hdf5, here.get(), there.get(), H5P_DEFAULT, values.data_ptr()) < 0)
    return {};
  if (ceiling != nullptr && !values.is_floating_point())
    *ceiling = integer_ceiling(static_cast<std::int64_t>(values.element_size()),
                               !memory.is_unsigned && memory.type != at::kByte);
  return memory.is_unsigned ? from_unsigned_bits(values) : values;
}

/// Patterns of one dataset, or of entry/data/data_000001, data_000002, ... of an EIGER master,
/// whose files appear one by one; positions of one dataset (n, 2) x and y, or of two.
class GrowingHdf5 {
 public:
  explicit GrowingHdf5(const SourceUrl& url)
      : url_(url), patterns_(url.word("patterns", "")), unit_(position_unit(url)) {
    if (const std::string places = url.word("positions", ""); !places.empty())
      positions_ = split(places, ',');
    require(positions_.size() <= 2, "{}: positions: expected one dataset or two", url.text);
    register_hdf5_filters();
  }
  bool has_positions() const { return !positions_.empty(); }
  bool has_patterns() const { return !patterns_.empty() || positions_.empty(); }

  std::int64_t look(SourceSink& sink) {
    std::vector<LiveMessage> found;
    {
      const std::lock_guard guard(hdf5_lock());
      const QuietHdf5 quiet;
      const Hdf5Id file = growing_file(url_.place);
      if (!file.valid()) return 0;
      if (!patterns_.empty())
        look_at(file.get(), patterns_, frames_, 0, found);
      else if (has_patterns())
        look_at_master(file.get(), found);
      if (has_positions()) look_at_positions(file.get(), found);
    }
    for (LiveMessage& each : found) pass_on(sink, std::move(each));
    return static_cast<std::int64_t>(found.size());
  }

 private:
  static constexpr hsize_t kFramesAtOnce = 256;  // so that the queue is never far behind

  /// Returns how many frames the dataset has by now.
  hsize_t look_at(hid_t file, const std::string& name, hsize_t& done, hsize_t offset,
                  std::vector<LiveMessage>& found) {
    const Hdf5Id set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!set.valid()) return 0;
    const std::vector<hsize_t> size = lengths(set.get());
    if (size.size() != 3) return 0;
    for (; done < size[0] && found.size() < kFramesAtOnce; ++done) {
      FrameMessage frame{.index = static_cast<std::int64_t>(offset + done)};
      const at::Tensor values = rows_of(set.get(), done, 1, &frame.ceiling);
      if (!values.defined()) break;  // announced, but not written yet
      frame.counts = values[0];
      found.push_back(std::move(frame));
    }
    return size[0];
  }

  void look_at_master(hid_t file, std::vector<LiveMessage>& found) {
    while (found.size() < kFramesAtOnce) {
      const hsize_t before = in_file_;
      const hsize_t size = look_at(file, fmt::format("entry/data/data_{:06d}", data_file_),
                                   in_file_, earlier_, found);
      const std::string next = fmt::format("entry/data/data_{:06d}", data_file_ + 1);
      const Hdf5Id following(H5Dopen2(file, next.c_str(), H5P_DEFAULT), H5Dclose);
      if (size == 0 || in_file_ < size || !following.valid()) {
        if (in_file_ == before) return;
        continue;
      }
      earlier_ += size, in_file_ = 0, ++data_file_;
    }
  }

  void look_at_positions(hid_t file, std::vector<LiveMessage>& found) {
    std::vector<at::Tensor> columns;
    hsize_t count = ~hsize_t{0};
    std::vector<Hdf5Id> sets;
    for (const std::string& name : positions_) {
      sets.emplace_back(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
      if (!sets.back().valid()) return;
      const std::vector<hsize_t> size = lengths(sets.back().get());
      if (size.empty()) return;
      count = std::min(count, size[0]);
    }
    if (count <= places_) return;
    for (const Hdf5Id& set : sets) {
      const at::Tensor rows = rows_of(set.get(), places_, count - places_);
      if (!rows.defined()) return;
      columns.push_back(rows.to(at::kDouble));
    }
    const at::Tensor xy = columns.size() == 2
                              ? at::stack({columns[0].flatten(), columns[1].flatten()}, 1)
                              : columns[0];
    if (xy.dim() != 2 || xy.size(1) < 2) return;
    const at::Tensor row_col = xy.narrow(1, 0, 2).flip(1).contiguous();
    const at::Tensor finite = at::isfinite(row_col).all(1);
    // What is allocated and not yet written reads as NaN, and so does a lost position between
    // others.
    const at::Tensor written = at::nonzero(finite).flatten();
    const std::int64_t rows = written.numel();
    if (rows == 0) return;
    const auto* const row = written.const_data_ptr<std::int64_t>();
    for (std::int64_t first = 0, last = 0; first < rows; first = last) {
      for (last = first + 1; last < rows && row[last] == row[last - 1] + 1;) ++last;
      found.push_back(PositionsMessage{static_cast<std::int64_t>(places_) + row[first],
                                       row_col.narrow(0, row[first], last - first) * unit_.scale,
                                       unit_.metres});
    }
    places_ += static_cast<hsize_t>(row[rows - 1]) + 1;
  }

  SourceUrl url_;
  std::string patterns_;
  PositionUnit unit_;
  std::vector<std::string> positions_;
  hsize_t frames_ = 0, places_ = 0, in_file_ = 0, earlier_ = 0;
  int data_file_ = 1;
};

bool is_table(const fs::path& file) {
  const std::string ending = file.extension().string();
  return ending == ".csv" || ending == ".txt" || ending == ".dat";
}

}  // namespace

SourceWork open_growing(const SourceUrl& url) {
  if (fs::is_directory(url.place))
    return [url, folder = std::make_shared<GrowingFolder>(url)](SourceSink& sink) {
      poll(sink, url, true, false, [&] { return folder->look(sink); });
    };
  if (is_table(url.place))
    return [url, table = std::make_shared<GrowingTable>(url)](SourceSink& sink) {
      poll(sink, url, false, true, [&] { return table->look(sink); });
    };
  if (is_record(url.place))
    return [url, options = dialect_options(url)](SourceSink& sink) {
      DialectState state;
      read_record(url.place, [&](const RawMessage& raw, double) {
        return pass_on(sink, raw, options, state);
      });
    };
  const std::string ending = fs::path(url.place).extension().string();
  require(is_hdf5(url.place) || ending == ".h5" || ending == ".hdf5" || ending == ".nxs" ||
              ending == ".cxi",
          "{}: expected an HDF5 file, a folder of TIFF files or a table (.csv, .txt), found none "
          "of them; "
          "replay:FILE plays a scan that is complete",
          url.text);
  return [url, file = std::make_shared<GrowingHdf5>(url)](SourceSink& sink) {
    poll(sink, url, file->has_patterns(), file->has_positions(), [&] { return file->look(sink); });
  };
}

}  // namespace ptyche
