// A thin layer over the HDF5 C library: files, arrays, texts and attributes, and nothing else.
#pragma once

#include <ATen/ATen.h>
#include <hdf5.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptyche/storage/file_array.h"
#include "ptyche/storage/frame_stack.h"

namespace ptyche {

/// Owns one HDF5 identifier and closes it with the function that fits its kind.
class Hdf5Id {
 public:
  using Close = herr_t (*)(hid_t);
  Hdf5Id(hid_t id, Close close) : id_(id), close_(close) {}
  ~Hdf5Id() {
    if (id_ >= 0) close_(id_);
  }
  Hdf5Id(Hdf5Id&& other) noexcept : id_(other.id_), close_(other.close_) { other.id_ = -1; }
  Hdf5Id(const Hdf5Id&) = delete;
  Hdf5Id& operator=(const Hdf5Id&) = delete;
  Hdf5Id& operator=(Hdf5Id&&) = delete;

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  /// Closes now; false when that failed.
  bool close();

 private:
  hid_t id_;
  Close close_;
};

/// Whether the file is there and has the signature of HDF5, whatever its name.
bool is_hdf5(const std::filesystem::path& file);

/// When the seal of a file of ours (seal.h) is compared with its bytes, all of which must be read
/// for that: before anything else, or, in files above kReadAtOnce bytes, by whoever reads them all
/// (sha256_of_sound_file); until then such a file is opened as one of another program is.
enum class SealCheck { first, later };
inline constexpr std::uintmax_t kReadAtOnce = std::uintmax_t{32} << 20;

/// An HDF5 file. Paths are written without a leading slash ("entry_1/data_1/data"); "/" is the
/// root. Complex arrays are compounds {r, i} and bool arrays enums {FALSE, TRUE}, as h5py has them.
/// All errors are InvalidInput that name the dataset or attribute, with the library's own reason.
class Hdf5File {
 public:
  /// Read only. A file with our seal (seal.h) is opened if every byte is as it was written; any
  /// other one after a trial in a process of its own (trial.h).
  static Hdf5File open(const std::filesystem::path& file, SealCheck when = SealCheck::first);
  /// Read only, a file of ours as it lies in memory: our own bytes, which are trusted. `name` is
  /// for messages.
  static Hdf5File from_memory(std::string_view bytes, const std::string& name);
  /// Replaces what is there. What is written goes to the disk; `close` seals it.
  static Hdf5File create(const std::filesystem::path& file);

  /// Of the file in bytes.
  std::int64_t size() const;
  bool has(const std::string& path) const;
  /// The library's own number of the opened file, for what this layer does not cover.
  hid_t id() const { return file_.get(); }
  /// Paths of all datasets.
  std::vector<std::string> datasets() const;

  FileArray read(const std::string& path) const;
  /// A dataset of images (rank 3 or 4, real numbers), to be read in parts; nullptr for another one.
  /// It may outlive the file.
  std::unique_ptr<FrameStack> frames(const std::string& path) const;
  /// An attribute of the group or dataset `path`; nothing where it is not there. An attribute of
  /// another kind is an InvalidInput.
  std::optional<double> number(const std::string& path, const std::string& attribute) const;
  std::optional<std::string> text(const std::string& path, const std::string& attribute) const;

  enum class Storage { plain, deflated };
  /// Writes an array, making the groups above it. `deflated` packs each first-axis item on its own.
  void write(const std::string& path, const at::Tensor& array, Storage storage = Storage::plain);
  void write_text(const std::string& path, const std::string& text);
  void make_group(const std::string& path);
  void set(const std::string& path, const std::string& attribute, double value);
  void set(const std::string& path, const std::string& attribute, std::int64_t value);
  void set(const std::string& path, const std::string& attribute, const std::string& value);

  /// Ends writing; throws InvalidInput when not all of it reached the disk.
  void close();

 private:
  Hdf5File(Hdf5Id file, std::filesystem::path target, std::unique_ptr<int> fault = nullptr)
      : fault_(std::move(fault)), file_(std::move(file)), target_(std::move(target)) {}
  std::unique_ptr<int> fault_;  // errno of a file that is written (hdf5_output.h)
  Hdf5Id file_;
  std::filesystem::path target_;  // which `close` seals
};

}  // namespace ptyche
