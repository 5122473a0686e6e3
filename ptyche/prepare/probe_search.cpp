#include "ptyche/prepare/probe_search.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/prepare/shadow_defocus.h"
#include "ptyche/prepare/shadow_phase.h"
#include "ptyche/prepare/short_solve.h"

namespace ptyche {
namespace {

constexpr double kBeyondAperture = 1.5, kWorthCutting = 0.8;
constexpr std::int64_t kLeastDetector_px = 48;
// The shadow gives |c| too large: by 10 % far from focus, by up to 2 near it or with spherical
// aberration.
constexpr double kOfFirstPeak[] = {1, 0.7, 0.5}, kOfOtherPeaks[] = {1, 0.7};
// Ratio within which two defoci lead to the same image, and within which one need not be tried
// beside the other.
constexpr double kSameDefocus = 1.6, kTriedDefocus = 1.4;
constexpr double kHopeless = 0.3;  // of what the best explains beyond the mean pattern, behind it
constexpr double kDone = 1.1;      // deviance over the noise
constexpr double kGains = 0.95;    // deviance after more passes over that before
constexpr int kMostPolish = 3;
constexpr double kWellExplained = 0.95, kStuck = 2;        // explained; deviance over the noise
constexpr double kKnowsNothing = 0.1, kShadowDecides = 6;  // explained; standard errors
constexpr double kOwnIsGood = 0.75;  // explained by a heat from the scan's probe: no search
// The same by a longer solve, from the same probe: no search, either. In six simulated scans above
// it and the star (.68 and .63 at two sizes, by which it was set) the whole search kept the scan's
// probe.
constexpr double kOwnLeadsOn = 0.6;
// A solve that has made another probe of it explains by that other one: from the scan's own, a
// whole solve came to 14 times the deviance (flat in phase where the lens has 12 rad of spherical
// aberration).
constexpr double kStillOwn = 0.55;     // .69 of the star, which is to stay; .41 of that one
constexpr double kOwnIsBeaten = 0.95;  // deviance of another start over that of the scan's probe
// Explained by another start where the scan's own probe leaves gaps between the patterns: there
// held-out ones cannot tell, and a wider probe foretells a smooth sample better (found ones that
// explained .23, .29, .69 and .81 were wrong: error 1.2, 1.2, .8 and 1.7 times the own one's).
constexpr double kFillsGaps = 0.9;

/// Of one sign, and neither more than `ratio` times the other.
bool are_alike(double a, double b, double ratio) { return a / b > 1 / ratio && a / b < ratio; }

/// |<a, b>| / (|a| |b|) of the first modes, best over whole pixels of shift: 1 for probes that
/// differ by a factor and a shift.
double likeness(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor first = at::fft_fft2(a[0]), second = at::fft_fft2(b[0]);
  const double best = at::fft_ifft2(first * at::conj(second)).abs().max().item<double>();
  const at::Tensor powers = a[0].abs().square().sum() * b[0].abs().square().sum();
  return best / std::sqrt(powers.item<double>());
}

/// Where a short solve begins.
struct Start {
  std::string what;
  at::Tensor probe;  // (modes, N, N) complex, of any power
  std::optional<double> defocus = {};
  bool own = false;
  std::optional<KnownProbe> known = {};
  bool aberrated = false;
};

struct Ranked {
  Start start;
  HeldOutFit fit;
  at::Tensor probe;  // refined
};

/// Detector pixels around the zero frequency that a first probe needs: the aperture and some of
/// what the sample scatters out of it. All of them where that is hardly less.
std::int64_t enough_of_detector(const Scan& scan) {
  const std::int64_t size = scan.pattern_size(), middle = size / 2;
  const at::Tensor mean = mean_pattern(scan, scan.frames_with(FrameUse::used));
  const at::Tensor lit = at::nonzero(aperture_of(mean, scan.mask()).lit) - middle;
  const double reach = static_cast<double>(lit.abs().max().item<std::int64_t>() + 1);
  const auto needed = static_cast<std::int64_t>(std::ceil(2 * kBeyondAperture * reach / 16)) * 16;
  const std::int64_t enough = std::max(needed, kLeastDetector_px);
  return static_cast<double>(enough) <= kWorthCutting * static_cast<double>(size) ? enough : size;
}

/// The scan on the central size x size pixels of the detector, its object pixels larger.
Scan on_detector_part(const Scan& scan, std::int64_t size) {
  const std::int64_t whole = scan.pattern_size(), first = (whole - size) / 2;
  if (size == whole) return scan;
  const Window window{first, first + size, first, first + size};
  ScanFields fields = scan.fields();
  const double ratio = static_cast<double>(size) / static_cast<double>(whole);
  fields.counts = cut(fields.counts, window).contiguous();
  fields.mask = cut(fields.mask, window).contiguous();
  fields.positions = fields.positions * ratio;
  fields.probe = probe_for_size(fields.probe, size);
  fields.true_positions = fields.truth = at::Tensor();
  fields.geometry.object_pixel_m /= ratio;
  return Scan(std::move(fields));
}

class Search {
 public:
  Search(const Scan& scan, bool own, const std::vector<KnownProbe>& known, bool aberrations)
      : Search(scan, enough_of_detector(scan), own) {
    aberrations_ = aberrations;
    for (const KnownProbe& each : known)
      known_.push_back({"the known " + each.name,
                        probe_for_size(each.probe, few_.pattern_size()),
                        {},
                        false,
                        each});
  }

  Search(const Scan& whole, std::int64_t size, bool own)
      : own_(own), own_probe_(whole.probe()), few_(whole), many_(whole) {
    many_ = on_detector_part(middle_of(whole, kFinalPatterns), size);
    few_ = on_detector_part(middle_of(whole, kHeatPatterns), size);
    mean_ = mean_pattern(many_.counts(), at::arange(many_.frames()));
    aperture_ = aperture_of(mean_, many_.mask());
    const at::Tensor axis = at::arange(size, at::kDouble);
    const double edge = static_cast<double>(whole.pattern_size()) / 2;
    square_ = ((axis - aperture_.row).square().unsqueeze(1) +
               (axis - aperture_.col).square().unsqueeze(0)) /
              (edge * edge);
  }

  FoundProbe run() {
    leaves_gaps_ = own_ && leaves_gaps(many_);
    if (own_) {
      const std::vector<Ranked> first = heats({of_scan()});
      if (!first.empty() && stays_own(first[0]) &&
          (first[0].fit.explained() > kOwnIsGood || !first[0].fit.tells()))
        return found(first[0]);
      // Least squares are slow where much is incoherent or one batch sees little of the object.
      const std::vector<Ranked> more = solved(few_, {{of_scan(), chain_from("rpie:10,lbfgs:20")}});
      if (!more.empty() && more[0].fit.explained() > kOwnLeadsOn && stays_own(more[0])) {
        FoundProbe own = found(more[0]);
        own.on_second_look = true;
        return own;
      }
    }
    if (const std::vector<Ranked> first = heats(known_);
        !first.empty() && first[0].fit.explained() > kOwnIsGood) {
      FoundProbe known = found(first[0]);
      known.probe = first[0].start.known->probe;
      return known;
    }
    std::vector<Ranked> ranked = finals(decided(heats(starts())));
    if (aberrations_ && (ranked.empty() || needs_more(ranked[0].fit))) {
      without_aberrations_ = ranked.empty() ? HeldOutFit{} : ranked[0].fit;
      append(ranked, finals(heats(aberrated(), "rpie:10")));
    }
    polish(ranked);
    if (ranked.empty() || needs_more(ranked[0].fit)) {
      std::vector<Ranked> wider = finals(heats(wider_starts()));
      const bool leads =
          !wider.empty() && (ranked.empty() || wider[0].fit.deviance < ranked[0].fit.deviance);
      if (leads) polish(wider);
      append(ranked, wider);
    }
    require(!ranked.empty(), "{}", "no first probe leads to an image: every short solve diverged");
    return found(winner(ranked));
  }

 private:
  static void sort(std::vector<Ranked>& ranked) {
    std::ranges::stable_sort(
        ranked, [](const Ranked& a, const Ranked& b) { return a.fit.deviance < b.fit.deviance; });
  }

  static void append(std::vector<Ranked>& ranked, const std::vector<Ranked>& more) {
    ranked.insert(ranked.end(), more.begin(), more.end());
    sort(ranked);
  }

  /// Whether no pattern overlaps another under the scan's probe. One in focus may be a guess that
  /// is too narrow: modulus of the detector, phase of nothing.
  static bool leaves_gaps(const Scan& scan) {
    const double step = median_step_px(scan.positions());
    return step > probe_diameter_px(scan.probe()) && likeness_to_twin(scan.probe()) < kOwnTwin;
  }

  /// The best one, or the scan's own probe unless it is clearly beaten.
  const Ranked& winner(const std::vector<Ranked>& ranked) const {
    const bool may_be_beaten = !leaves_gaps_ || ranked[0].fit.explained() > kFillsGaps;
    for (const Ranked& each : ranked)
      if (each.start.own &&
          (!may_be_beaten || ranked[0].fit.deviance > kOwnIsBeaten * each.fit.deviance))
        return each;
    return ranked[0];
  }

  /// Modulus sqrt(mean pattern): smeared by the sample's scatter, which the solves mend.
  at::Tensor probe_of_phase(const at::Tensor& phase) const {
    const at::Tensor wave = at::polar((mean_ * few_.mask()).sqrt(), phase);
    return to_centred(propagate_far_field_adjoint(to_fft_order(wave))).unsqueeze(0);
  }

  Start lens(double defocus) const {
    return {fmt::format("defocus {:.1f}", defocus), probe_of_phase(defocus * square_), defocus};
  }

  /// Lenses with two foci or with spherical aberration.
  std::vector<Start> aberrated() const {
    std::vector<Start> all;
    for (const PhasePeak& peak :
         phases_from_shadows(many_.counts().to(at::kFloat), many_.positions(), mean_, aperture_)) {
      const LensPhase& phase = peak.phase;
      all.push_back({fmt::format("at the rim defocus {:.1f}, astigmatism {:.1f}, spherical {:.1f}",
                                 phase.defocus, std::hypot(phase.astigmatism, phase.oblique),
                                 phase.spherical),
                     probe_of_phase(phase_image(phase, aperture_, few_.pattern_size())),
                     {},
                     false,
                     {},
                     true});
    }
    return all;
  }

  Start disc(double radius) const {
    const std::int64_t size = few_.pattern_size();
    const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
    const at::Tensor far = at::hypot(axis.unsqueeze(1), axis.unsqueeze(0)) - radius;
    const at::Tensor inside = at::sigmoid(-far);
    return {fmt::format("disc of {:.1f} px", radius),
            at::complex(inside, at::zeros_like(inside)).unsqueeze(0)};
  }

  /// Of a phase c |q|^2, q = 1 at the edge of the whole detector.
  double whole_defocus(const ShadowPeak& peak) const {
    const double ratio =
        static_cast<double>(own_probe_.size(-1)) / static_cast<double>(few_.pattern_size());
    return peak.defocus * ratio * ratio;
  }

  Start of_scan() const { return {"the file's", few_.probe(), {}, true}; }

  std::vector<Start> starts() {
    const at::Tensor counts = many_.counts().to(at::kFloat);
    for (const bool odd : {false, true})
      for (const ShadowPeak& peak :
           defoci_from_shadows(counts, many_.positions(), mean_, aperture_, odd))
        add_peak({whole_defocus(peak), peak.strength});
    std::vector<Start> all_starts{lens(0)};
    if (own_) all_starts.push_back(of_scan());
    all_starts.insert(all_starts.end(), known_.begin(), known_.end());
    for (std::size_t i = 0; i < peaks_.size(); ++i) {
      const auto add = [&](double factor) {
        all_starts.push_back(lens(factor * peaks_[i].defocus));
      };
      if (i == 0)
        std::ranges::for_each(kOfFirstPeak, add);
      else
        std::ranges::for_each(kOfOtherPeaks, add);
    }
    return all_starts;
  }

  void add_peak(const ShadowPeak& peak) {
    const bool known = std::ranges::any_of(peaks_, [&](const ShadowPeak& other) {
      return are_alike(peak.defocus, other.defocus, kSameDefocus);
    });
    if (!known) peaks_.push_back(peak);
  }

  std::vector<Start> wider_starts() const {
    const double radius = contact_radius();
    std::vector<Start> all{disc(radius), disc(1.25 * radius), lens(0)};
    const double rim = 2 * aperture_.radius_px / static_cast<double>(own_probe_.size(-1));
    for (const double phase : {2., -2., 4., -4., 8., -8.}) {
      const double c = phase / (rim * rim);
      const bool tried = std::ranges::any_of(peaks_, [&](const ShadowPeak& peak) {
        return are_alike(c, peak.defocus, kTriedDefocus);
      });
      if (!tried) all.push_back(lens(c));
    }
    return all;
  }

  /// Radius of a disc without phase: R^2 = sum u^2 V / sum V, V the variance of the patterns'
  /// autocorrelations less that of the photon noise, which is the autocorrelation of |P|^2 whatever
  /// the sample. Far too small for a beam out of focus.
  double contact_radius() const {
    const std::int64_t size = few_.pattern_size();
    const at::Tensor change = few_.counts().to(at::kDouble) - mean_;
    const at::Tensor spectra = at::fft_ifft2(at::fft_ifftshift(change, {{1, 2}}));
    const double noise = mean_.sum().item<double>() / std::pow(static_cast<double>(size), 4);
    const at::Tensor variance = at::fft_fftshift(spectra.abs().square().mean(0)) - noise;
    const at::Tensor axis = at::arange(size, at::kDouble) - static_cast<double>(size / 2);
    const at::Tensor radius = at::hypot(axis.unsqueeze(1), axis.unsqueeze(0));
    const at::Tensor ring = radius.floor().to(at::kLong).reshape(-1);
    const at::Tensor profile = at::bincount(ring, variance.reshape(-1)) / at::bincount(ring);
    const double peak = profile.slice(0, 1, 4).max().item<double>();
    std::int64_t last = 3;
    while (last < size / 2 && profile[last].item<double>() > 0.01 * peak) ++last;
    const at::Tensor inside = radius.gt(0).logical_and(radius.lt(static_cast<double>(last)));
    const double above = (radius.square() * variance * inside).sum().item<double>();
    const double below = (variance * inside).sum().item<double>();
    return std::sqrt(std::max(above / below, 1.0));
  }

  std::vector<Ranked> heats(const std::vector<Start>& starts, const char* chain = "lsqml:10") {
    std::vector<std::pair<Start, Chain>> jobs;
    for (const Start& start : starts) jobs.emplace_back(start, chain_from(chain));
    return solved(few_, jobs);
  }

  std::vector<Ranked> decided(std::vector<Ranked> ranked) const {
    if (ranked.empty() || peaks_.empty() || peaks_[0].strength < kShadowDecides ||
        ranked[0].fit.explained() >= kKnowsNothing)
      return ranked;
    std::erase_if(ranked, [&](const Ranked& each) {
      return !each.start.own && !each.start.known && each.start.defocus != peaks_[0].defocus;
    });
    return ranked;
  }

  static bool same_valley(const Start& a, const Start& b) {
    return a.defocus && b.defocus && are_alike(*a.defocus, *b.defocus, kSameDefocus);
  }

  /// The best, and the best from another valley, each by two chains from its first probe: what the
  /// heat made of it has wild tails.
  std::vector<Ranked> finals(const std::vector<Ranked>& ranked) {
    if (ranked.empty()) return {};
    const Ranked& best = ranked[0];
    std::vector<Start> chosen{best.start};
    for (const Ranked& other : ranked) {
      if (&other == &best || same_valley(other.start, best.start)) continue;
      const double room = std::max(best.fit.mean_pattern - best.fit.deviance, 0.0);
      if (other.fit.deviance <= best.fit.deviance + kHopeless * room) chosen.push_back(other.start);
      break;
    }
    const bool own = std::ranges::any_of(chosen, [](const Start& each) { return each.own; });
    if (own_ && !own) chosen.push_back(of_scan());
    std::vector<std::pair<Start, Chain>> jobs;
    for (const Start& start : chosen)
      for (const char* chain : {"dm:15,lbfgs:15", "rpie:15,lbfgs:15"})
        jobs.emplace_back(start, chain_from(chain));
    return solved(many_, jobs);
  }

  void polish(std::vector<Ranked>& ranked) {
    for (int i = 0; i < kMostPolish && !ranked.empty(); ++i) {
      const HeldOutFit before = ranked[0].fit;
      if (!needs_more(before) && !leaves_much(before)) return;
      const Start from{ranked[0].start.what, ranked[0].probe, ranked[0].start.defocus};
      std::vector<Ranked> more = solved(
          many_, {{from, chain_from("rpie:10,lbfgs:40")}, {from, chain_from("dm:15,lbfgs:40")}});
      if (more.empty()) return;
      const bool gains = more[0].fit.deviance < kGains * before.deviance;
      more[0].start = ranked[0].start;
      ranked.push_back(more[0]);
      sort(ranked);
      if (!gains) return;
    }
  }

  static bool needs_more(const HeldOutFit& fit) {
    return fit.tells() && fit.explained() < kMostlyExplained && fit.deviance > kDone * fit.noise;
  }

  /// Stuck half way, with photons that would tell far more: a whole solve from such a probe stays
  /// behind by up to a half, and one from what more passes make of it does not.
  static bool leaves_much(const HeldOutFit& fit) {
    return fit.tells() && fit.explained() < kWellExplained && fit.deviance > kStuck * fit.noise;
  }

  /// What comes of each start, best first, without those that diverge.
  std::vector<Ranked> solved(const Scan& scan, const std::vector<std::pair<Start, Chain>>& jobs) {
    std::vector<std::optional<Ranked>> all(jobs.size());
    side_by_side(static_cast<std::int64_t>(jobs.size()), [&](std::int64_t i) {
      const auto& [start, chain] = jobs[static_cast<std::size_t>(i)];
      if (auto result = solve_shortly(scan, start.probe, chain))
        all[static_cast<std::size_t>(i)] = Ranked{start, result->fit, result->image.main_probe()};
    });
    if (interrupted()) throw Interrupted("stopped while a first probe was looked for");
    std::vector<Ranked> good;
    for (std::optional<Ranked>& each : all) {
      if (!each) continue;
      trials_.push_back({each->start.what, each->fit});
      good.push_back(std::move(*each));
    }
    sort(good);
    return good;
  }

  /// From the scan's own probe, and still like it, as far as there are photons to tell.
  bool stays_own(const Ranked& each) const {
    return each.start.own && (!each.fit.tells() || likeness(each.probe, few_.probe()) > kStillOwn);
  }

  FoundProbe found(const Ranked& best) const {
    const bool own = stays_own(best);
    return {.probe = own ? own_probe_ : probe_for_size(best.probe, own_probe_.size(-1)),
            .what = best.start.own && !own ? "the file's, changed by the solve" : best.start.what,
            .known = best.start.known ? best.start.known->name : "",
            .of_scan = own,
            .sure = best.fit.tells() && best.fit.explained() > kMostlyExplained,
            .fit = best.fit,
            .without_aberrations = best.start.aberrated ? without_aberrations_ : std::nullopt,
            .strength = peaks_.empty() ? 0 : peaks_[0].strength,
            .trials = trials_};
  }

  bool own_, aberrations_ = true, leaves_gaps_ = false;
  std::optional<HeldOutFit> without_aberrations_;
  at::Tensor own_probe_;  // on the whole detector
  Scan few_, many_;       // on what is enough of it
  at::Tensor mean_, square_;
  Aperture aperture_;
  std::vector<Start> known_;
  std::vector<ShadowPeak> peaks_;
  std::vector<ProbeTrial> trials_;
};

}  // namespace

FoundProbe find_probe(const Scan& scan, bool own, const std::vector<KnownProbe>& known,
                      bool aberrations) {
  require(!scan.geometry().near_field, "{}", "a first probe is looked for in the far field only");
  const std::int64_t used = scan.frames_with(FrameUse::used).size(0);
  require(used >= kLeastPatterns, "a first probe needs at least {} used patterns, found {}",
          kLeastPatterns, used);
  const CatchInterrupts catching;
  return Search(scan, own, known, aberrations).run();
}

}  // namespace ptyche
