// The file formats that Ptyche reads. A format is one file that defines a Reader, and its line in
// the table of readers.cpp; errors, help texts and `ptyche info` know it from there.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/storage/hdf5.h"

namespace ptyche {

/// One of the eight ways to lay an image: transposed first, then rows reversed, then columns.
struct Turn {
  bool transpose = false, reverse_rows = false, reverse_cols = false;
  bool operator==(const Turn&) const = default;
  bool nothing() const { return *this == Turn{}; }
};

/// Whether a file's patterns are photon counts or their square roots.
enum class Domain { unknown, counts, amplitude };

/// A scan file's arrays in our layout and order, before any option or guess has touched the values.
/// Only patterns are always there; the others are undefined where the file has none.
/// What was done to floating-point numbers while they were read, see read_narrow.
enum class Narrowed { no, values, squares };

struct RawScan {
  at::Tensor patterns;  ///< (n, rows, cols) any real type, zero frequency in the middle
  /// The file's numbers are no integers: `patterns` are, their values or the squares of them.
  Narrowed narrowed = Narrowed::no;
  /// `patterns` are the pages of a memory file that others hold: they cost nothing as they are.
  bool in_memory_file = false;
  /// The patterns before they are read: `patterns` is undefined then, and load_patterns reads them.
  std::shared_ptr<FrameStack> stack;
  at::Tensor chosen;  ///< (n) int64 ascending: those of `stack` that are wanted; undefined = all
  at::Tensor part;    ///< (k) int64: which of the n patterns are read; undefined = all (together.h)
  at::Tensor positions;       ///< (n, 2) float64 (row, col), in object pixels or in metres
  at::Tensor probe;           ///< (modes, N, N) complex64
  at::Tensor mask;            ///< (rows, cols) bool, true = counted
  at::Tensor truth;           ///< (H, W) complex64 in the frame of the positions
  at::Tensor true_positions;  ///< (n, 2) float64 (row, col), in object pixels
  at::Tensor scan_index;      ///< (n) int64, which of several scans a pattern is of
  at::Tensor energies;        ///< (k) float64 eV, of the scans 0 .. k - 1; undefined = one for all
  std::string patterns_name, positions_name, probe_name;  ///< the datasets, for messages
  double ceiling = 0;   ///< largest value of the patterns' integer type, see FileArray
  double nphotons = 0;  ///< mean counts a pattern that the file names; 0 = none
  bool positions_in_metres = false;
  bool probe_calibrated = false;  ///< the file says that the probe is in sqrt(photon)
  Geometry geometry;
  bool energy_as_written = false;  ///< the geometry's is a number that the file calls an energy
  Domain domain = Domain::unknown;
  std::string domain_reason;  ///< why `domain` is what it is, in words
  // How the detector lies and what it adds; settle_detector takes these out.
  at::Tensor dark, flat;       ///< (rows, cols) or (k, rows, cols) real
  at::Tensor monitor;          ///< (n) light that fell on the sample, in any unit
  bool clip_negative = false;  ///< values below zero are a detector's noise
  bool zero_at_corner = false;
  Turn turn;                                ///< brings the patterns to our frame
  double centre_row = -1, centre_col = -1;  ///< pixel of the zero frequency; -1 = the middle
  std::vector<std::int64_t> raster;  ///< rows and columns that were scanned; empty = not known
  std::vector<std::filesystem::path> files;  ///< beside the scan's own that were read
  std::string missing_positions;  ///< where there are none: why, and what a user can give

  /// Of the detector, where the patterns were cut while they were read; 0 = as the patterns'.
  std::int64_t detector_rows = 0, detector_cols = 0;

  std::int64_t frames() const;
  /// Of the detector, whatever of it is kept.
  std::int64_t rows() const;
  std::int64_t cols() const;

  /// Keeps some patterns, numbers (k) int64 ascending, and what goes with each.
  void keep(const at::Tensor& numbers);

  /// The stack, or what stands for it where the array can only be read whole.
  void take(std::unique_ptr<FrameStack> frames, const std::function<FileArray()>& otherwise);

  /// Several energies (k) eV are those of k scans, one behind the other, if patterns have k as
  /// their first axis: scan_index and energies say so. Energies that differ by less than a
  /// thousandth are one. Throws InvalidInput where it does not come out even.
  void split_by_energy(const at::Tensor& energies_ev);

  /// Drops what is known of the true object and positions, and says why, where there is any.
  void forget_truth(const std::string& reason);
};

/// What a reader is shown to tell whether a file is of its format, whatever the file's name.
struct FileSample {
  std::filesystem::path file;
  std::string start;             ///< the first 512 bytes, fewer where the file is shorter
  std::optional<Hdf5File> hdf5;  ///< opened where it is HDF5: its content tells the formats apart
};

/// One file format. `recognises` is asked in the order of the table, so that a format with a
/// narrower test stands before one with a wider.
struct Reader {
  std::string name;       ///< as in "NPZ or CXI file"
  std::string signature;  ///< how a file is recognised, in words: "a zip archive"
  std::function<bool(const FileSample&)> recognises = {};
  /// The file's scan; empty where the format holds none. Throws InvalidInput naming the dataset.
  std::function<RawScan(const std::filesystem::path&)> read_scan = {};
  /// The image of the object that the file holds, see read_object_file; empty where the format has
  /// none. Throws InvalidInput naming the dataset.
  std::function<Reconstruction(const std::filesystem::path&)> read_object = {};
  bool by_recipe = false;  ///< see recipe.h; messages count these and do not list them
};

/// All formats.
const std::vector<Reader>& readers();

/// What a file must hold.
enum class Content { any, scan, object };

/// The first of `formats` that holds such content and recognises the file. Throws InvalidInput that
/// begins with the file's name and lists these formats.
const Reader& reader_of(const std::filesystem::path& file, Content content,
                        const std::vector<Reader>& formats = readers());

/// "NPZ or CXI": the formats with such content.
std::string format_names(Content content, const std::vector<Reader>& formats = readers());

/// The object out of any file that holds one: a reconstruction (read_reconstruction), the truth of
/// a simulated scan (in the frame of the scan's positions) or a bare array (rows, cols) complex of
/// an NPZ file. Of the last two only object, geometry's pixel and provenance's source are filled
/// in: lit everywhere, origin 0. Throws InvalidInput naming file, dataset, expected and found.
Reconstruction read_object_file(const std::filesystem::path& file);

// For the files of the formats.

/// A probe of shape (N, N), (modes, N, N), (N, N, 1) or (1, modes, N, N) of any numeric type as
/// (modes, N, N) complex64. Throws InvalidInput for other shapes, beginning with `name`.
at::Tensor as_probe(const at::Tensor& array, const std::string& name);

/// A reconstruction of which nothing but the object is known: (rows, cols) complex, axes of length
/// 1 left out. Throws InvalidInput for other arrays, beginning with `name`.
Reconstruction as_object(const at::Tensor& array, const std::string& name);

}  // namespace ptyche
