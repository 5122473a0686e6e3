// Chains of solvers that the automatic chain tries, one by one or side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ptyche/data/reconstruction.h"
#include "ptyche/data/scan.h"
#include "ptyche/data/scores.h"
#include "ptyche/solve/automatic.h"
#include "ptyche/solve/kept_attempts.h"
#include "ptyche/solve/solver.h"

namespace ptyche {

/// What a trial may change.
struct Choice {
  double slope = 0.1;  ///< of the prior, see add_smoothness
  std::int64_t modes = 1;
  PositionFreedom positions = PositionFreedom::none;
  bool fixed_probe = false, background = true;
  double stiffness = 1, edge = 0, absorption = 0;  ///< of the prior
  double still = 0.02;
  bool holds_positions = false;  ///< as the image from which it begins has them
  bool slow_phase = true;        ///< corrected before L-BFGS begins

  bool operator==(const Choice&) const = default;
};

/// Where photons are few: the file's probe as it is, no background that stands in for what is not
/// known, and a strength of the prior that follows from the light, for held-out patterns ask for
/// too weak ones: .14 and .19 at 3000 and 1000 counts where 5000 are few, .2 at most.
///   share  of the counts below which they are few, 0..1
Choice choice_for_few(double share);

/// Where one side of the detector is hidden. Of a wave of the sample that only hidden pixels would
/// show, the opposite wave tells how strong it is if the amplitude goes with the phase or hardly
/// changes: the same in a prior whose amplitude is stiff against all else. How it goes with the
/// phase, the image shows in its waves that are seen from both sides; 0 where its object is not
/// there any more.
Choice tied_choice(const Choice& best, const Reconstruction& image, double stiffness);

/// A chain that is to be tried. In one run, its image follows from what, choice, chain and origin.
struct Request {
  static constexpr std::int64_t kGivenStart = -1;

  std::int64_t number = 0;  ///< in KeptAttempts
  std::string what;
  Choice choice = {};
  Chain chain = {};  ///< of solvers with their usual options
  IntensityFreedom intensities = IntensityFreedom::automatic;
  std::int64_t origin = kGivenStart;  ///< number of the attempt whose image is the start
  std::optional<Reconstruction> start = {};

  bool is_same_work(const Request& other) const;
};

/// What came of it.
struct Candidate {
  Choice choice;
  Reconstruction image;
  ChainEnd end = ChainEnd::done;
  DataFit fit;        ///< of the held-out patterns
  double misfit = 0;  ///< deviance of the used patterns over that of the noise
  bool fits_intensities = false;
  std::int64_t number = 0;  ///< in KeptAttempts
  std::string refused =
      {};  ///< why a solver cannot take this scan; empty = it can, all else counts
};

/// What an option must gain on the trial's passes: a share of what is above the noise, and a share
/// of the noise itself.
struct Margin {
  double above_noise = 0, noise = 0;
};
bool wins(const DataFit& fit, const DataFit& other, const Margin& margin);

/// Of what the mean of the used patterns leaves above noise on the held-out ones, the share that an
/// image with this fit explains; 1 where none is held out, 0 where the mean leaves hardly anything.
double explained(const DataFit& fit, const Scan& scan);

/// The scan in which some patterns are held out, for trials to be judged: as they are where it
/// holds out any, or is too small for it, else a twentieth of the used ones.
Scan with_hold_out(const Scan& scan);

/// The scan with patterns (k) int64 that are not used for anything.
Scan without(const Scan& scan, const at::Tensor& frames);

class Attempts {
 public:
  Attempts(const AutomaticOptions& options, KeptAttempts& kept) : options_(options), kept_(kept) {}

  /// Made now, or made ahead, or found where an earlier run has kept it; from now on it is a row of
  /// the table. Throws BadCheckpoint.
  Candidate take(const Scan& scan, const Request& request);

  bool has(const Request& request) const;

  /// How many pay side by side: scans of few patterns keep a second thread half busy in one solve,
  /// and wholly with a second one. 1 for other scans, and where processes share the scan.
  static std::size_t side_by_side_of(const Scan& scan);

  /// Makes these side by side, one thread each, for `take`; nothing where there is only one. What
  /// was made ahead before and not taken is forgotten. False where one was interrupted.
  bool make_ahead(const Scan& scan, const std::vector<Request>& requests);

  SolverOptions options_for(const Scan& scan, const Request& request) const;

  /// A row for each that was taken, in this order.
  std::vector<Attempt>& rows() { return rows_; }
  /// That earlier runs had taken for what was found or gone on with.
  double seconds_before() const { return seconds_before_; }

 private:
  struct Made {
    KeptAttempt attempt;
    double seconds_before = 0;
  };
  struct Ahead {
    Request request;
    Made made;
  };

  Made found_or_made(const Scan& scan, const Request& request);
  Made made(const Scan& scan, const Request& request);

  AutomaticOptions options_;
  KeptAttempts& kept_;
  std::vector<Ahead> ahead_;
  std::vector<Attempt> rows_;
  double seconds_before_ = 0;
};

}  // namespace ptyche
