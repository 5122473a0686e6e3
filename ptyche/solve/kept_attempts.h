// What the automatic chain has done so far, kept in a folder, so that a run that was ended goes on
// where it was and comes to the same image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "ptyche/core/error.h"
#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/solve/solve.h"

namespace ptyche {

/// Where and whether it is kept.
struct KeepOptions {
  std::filesystem::path folder = {};  ///< made, and left for the caller to remove; empty = nothing
                                      ///< is kept
  bool resume = false;                ///< go on from what is in the folder, if anything is
  std::function<bool(std::int64_t)> stop = {};  ///< asked after each pass, of which the attempt has
                                                ///< made so many: true ends the run
};

/// One attempt that came to its end.
struct KeptAttempt {
  std::string what;
  std::string refused = {};  ///< why it was not possible; empty = it was, and the rest counts
  ChainEnd end = ChainEnd::done;
  std::int64_t passes = 0;
  double seconds = 0, deviance = 0, deviance_floor = 0;  ///< per photon of the held-out patterns
  double misfit = 0;              ///< deviance of the used patterns over that of photon noise
  bool fits_intensities = false;  ///< whether the image has one for each pattern
  double absorption = 0;          ///< of its prior: of the image from which it began
  Reconstruction image = {};      ///< its loss alone: another attempt has been better since
};

/// The folder: run.h5 says whose it is, attempt_N.h5 what attempt N came to, chain_N.h5 is the
/// checkpoint of one that was under way, and misfits_N.h5 the patterns that were left out after N.
/// Attempts depend on those before them alone, so that one whose file is missing is made again.
/// Several may be made side by side: what they do with files they do one after the other.
class KeptAttempts {
 public:
  /// Throws InvalidInput where the folder is of another run, naming what differs.
  KeptAttempts(const KeepOptions& options, const Scan& scan, const RunKey& key);

  /// The attempt of this number, 0 or more. Throws BadCheckpoint for a damaged file and for
  /// another attempt than `what`.
  std::optional<KeptAttempt> find(std::int64_t number, const std::string& what) const;

  /// Writes it, and removes its chain's checkpoint. A file that cannot be written is a warning.
  void keep(std::int64_t number, const KeptAttempt& attempt);

  /// Another one is better: without its image the file is small. Where an attempt could not be
  /// kept, it may be made again from this image: then nothing is dropped any more.
  void drop_image(std::int64_t number);

  /// Patterns (k) int64 that were chosen by an image which may not be there any more: those of the
  /// run that is resumed, else what `choose` comes to, which is kept as the number's `kind`. Throws
  /// BadCheckpoint for a damaged file.
  at::Tensor patterns(const char* kind, std::int64_t number,
                      const std::function<at::Tensor()>& choose);

  /// Throws BadCheckpoint where the image from which `what` is to begin was replaced and not kept:
  /// it is asked for only where a later file is missing.
  void require_image(const Reconstruction& image, const std::string& what) const;

  /// How the chain of the attempt keeps itself.
  SolverWatch watch(std::int64_t number) const;

 private:
  std::filesystem::path file(const char* kind, std::int64_t number) const;
  void write(std::int64_t number, const KeptAttempt& attempt) const;
  /// A failure is a warning.
  template <typename Work>
  void warn_if_not_kept(const std::filesystem::path& file, const Work& work);
  KeepOptions options_;
  mutable std::mutex files_;  ///< the library of the files is used by one thread at a time
  bool complete_ = true;      ///< all attempts so far could be kept
  Reconstruction canvas_;     ///< what is the same in all images
};

}  // namespace ptyche
