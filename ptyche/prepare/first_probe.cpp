#include "ptyche/prepare/first_probe.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/parallel.h"
#include "ptyche/core/progress.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/io/readout_noise.h"
#include "ptyche/io/result.h"
#include "ptyche/prepare/examine.h"
#include "ptyche/prepare/orientation_energy.h"
#include "ptyche/prepare/position_search.h"
#include "ptyche/prepare/probe_library.h"
#include "ptyche/prepare/scan_rotation.h"
#include "ptyche/prepare/short_solve.h"
#include "ptyche/storage/hdf5.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/numpy.h"
#include "ptyche/storage/with_file.h"

namespace ptyche {
namespace {

constexpr std::int64_t kRefinedBy = 512;    // patterns
constexpr std::int64_t kGainPatterns = 48;  // whose noise tells what a photon counts
constexpr std::array<std::int64_t, 2> kRefinedModes{1, 3};
constexpr double kWorthModes = 0.01;  // of what the patterns have to tell
// Explained: of right values .95 and more without noise, of the other reading .68 to .89.
constexpr double kMoreOtherwise = 0.07;
constexpr double kAlreadyPhotons = 1.5;  // a gain within this factor of 1
// Explained of a raster that lies as is said: .98 and more, .73 of a lattice; turned by 8 degrees
// .89, by 15 .64, by 22 .37.
constexpr double kRasterRight = 0.92, kMoreByTurn = 0.04;
constexpr double kSameAxes = 5, kHardlyTurned = 1;  // degrees
constexpr const char* kBrightChain = "rpie:5,lbfgs:10";

std::string certainty(const FoundProbe& found) {
  if (found.sure) return "";
  return found.fit.tells() ? "; not sure: little of the patterns is explained"
                           : "; not sure: too few photons to tell";
}

void say(const FoundProbe& found) {
  for (const ProbeTrial& each : found.trials)
    detail("probe from {}: {:.0f} % explained", each.what, 100 * each.fit.explained());
  detail(
      "probe: {}{} (held-out deviance {:.4g} per photon; mean pattern {:.4g}, photon noise {:.4g})",
      found.of_scan ? "the file's" : "found from the patterns, start " + found.what,
      certainty(found), found.fit.deviance, found.fit.mean_pattern, found.fit.noise);
}

Scan calibrated(const Scan& scan, const at::Tensor& probe) {
  const at::Tensor mean = mean_pattern(scan, scan.frames_with(FrameUse::used));
  return scan.with_probe(calibrated_to(probe, mean, scan.mask(), 0));
}

// What a search came to, kept on the disk until the run that asked for it has ended.

constexpr const char* kGroup = "search";
const DatasetLayout kNumbers{"search/numbers", at::kDouble, {7}};
const DatasetLayout kTurn{"search/positions", at::kDouble, {2, 2}};  // 0 = as they were
const DatasetLayout kValues{"search/values", at::kDouble, {6}};      // only where they were changed

DatasetLayout probe_layout(const Scan& scan) {
  const std::int64_t size = scan.pattern_size();
  return {"search/probe", at::kComplexFloat, {kAnyLength, size, size}};
}

at::Tensor numbers_of(const FirstProbe& first) {
  const FoundProbe& found = *first.found;
  return at::tensor(
      {static_cast<double>(found.of_scan), static_cast<double>(found.sure), found.fit.deviance,
       found.fit.noise, found.fit.mean_pattern, found.strength, first.seconds},
      at::kDouble);
}

at::Tensor numbers_of(const std::optional<TurnPositions>& turn) {
  if (!turn) return at::zeros({2, 2}, at::kDouble);
  const auto& m = turn->matrix;
  return at::tensor({m[0][0], m[0][1], m[1][0], m[1][1]}, at::kDouble).view({2, 2});
}

std::optional<TurnPositions> turn_of(const at::Tensor& numbers) {
  require(numbers.abs().le(2).all().item<bool>(), "search/positions: expected {}, found others",
          "numbers from -2 to 2");
  if (!numbers.any().item<bool>()) return std::nullopt;
  const auto* m = numbers.const_data_ptr<double>();
  return TurnPositions{{{m[0], m[1]}, {m[2], m[3]}}};
}

Scan turned(const Scan& scan, const std::optional<TurnPositions>& turn,
            const ExamineOptions& options = {}) {
  return turn ? mended(scan, *turn, options) : scan;
}

std::optional<ChangeValues> values_of(const Hdf5File& in) {
  if (!in.has(kValues.path)) return std::nullopt;
  const CountsChange change = counts_change_of(read(in, kValues));
  const auto* values = std::get_if<ChangeValues>(&change);
  require(values != nullptr, "search/values: expected a change of values, found {}", "another");
  return *values;
}

Scan with_values(const Scan& scan, const std::optional<ChangeValues>& values,
                 const ExamineOptions& options) {
  return values ? mended(scan, *values, options) : scan;
}

FirstProbe read_first(const Hdf5File& in, const Scan& scan, const ExamineOptions& options) {
  require(in.text(kGroup, "scan").value_or("") == fingerprint(scan), "{}",
          "expected the probe that was found for this scan, found that of another one, or of the "
          "scan read with other options");
  const at::Tensor numbers = read(in, kNumbers), probe = read(in, probe_layout(scan));
  require(probe.size(0) > 0 && probe_power(probe) > 0, "search/probe: expected light, found {}",
          "none");
  const auto* number = numbers.const_data_ptr<double>();
  const bool of_scan = whole_number(number[0], "search/numbers: of the scan", 0, 1) == 1;
  FoundProbe found{.probe = probe,
                   .what = in.text(kGroup, "what").value_or(""),
                   .of_scan = of_scan,
                   .sure = whole_number(number[1], "search/numbers: sure", 0, 1) == 1,
                   .fit = {number[2], number[3], number[4]},
                   .strength = number[5]};
  const std::optional<TurnPositions> turn = turn_of(read(in, kTurn));
  const std::optional<ChangeValues> values = values_of(in);
  const Scan basis = with_values(scan, values, options);
  Scan with = turned(basis, turn).with_probe(of_scan && !turn ? basis.probe() : probe);
  FirstProbe first{.scan = std::move(with),
                   .found = std::move(found),
                   .seconds = number[6],
                   .turn = turn,
                   .values = values,
                   .doubt = in.text(kGroup, "doubt").value_or("")};
  first.remarks = remarks_from(in.text(kGroup, "remarks").value_or("[]"), "search/remarks");
  return first;
}

/// A file that cannot be written is a warning. `scan` is the one that was searched.
void keep_probe(const std::filesystem::path& file, const Scan& scan, const FirstProbe& first) {
  try {
    write_atomically(file, [&](const std::filesystem::path& path) {
      Hdf5File out = Hdf5File::create(path);
      out.make_group(kGroup);
      out.set(kGroup, "scan", fingerprint(scan));
      out.set(kGroup, "what", first.found->what);
      if (!first.doubt.empty()) out.set(kGroup, "doubt", first.doubt);
      out.set(kGroup, "remarks", to_text(first.remarks));
      write(out, probe_layout(scan), first.scan.probe());
      write(out, kNumbers, numbers_of(first));
      write(out, kTurn, numbers_of(first.turn));
      if (first.values) write(out, kValues, as_numbers(*first.values));
      out.close();
    });
  } catch (const std::exception& error) {
    warn("{}: the probe could not be kept, --resume would look for it again: {}", file.string(),
         error.what());
  }
}

/// Throws InvalidInput for a damaged file and that of another scan.
FirstProbe kept_probe(const std::filesystem::path& file, const Scan& scan,
                      const ExamineOptions& options) {
  return with_file(file, [&] { return read_first(Hdf5File::open(file), scan, options); });
}

/// Fractions are amplitudes in some programs' files and counts in others': what makes of the one
/// the other, as photons by their noise. Nothing where the file or the user says what they are.
std::optional<ChangeValues> other_reading(const Scan& scan) {
  const double factor = scan.fields().squared_by;
  if (factor <= 0 && !scan.fields().may_be_roots) return std::nullopt;
  const at::Tensor some = counts_of(scan, middle_frames(scan, kGainPatterns)).to(at::kDouble);
  const bool squared = factor > 0;
  double gain = photon_gain(squared ? (some / factor).sqrt() : some.square(), scan.mask());
  if (gain < kAlreadyPhotons && gain > 1 / kAlreadyPhotons) gain = 1;
  if (squared) return ChangeValues{ChangeValues::Way::root, factor * gain * gain};
  return ChangeValues{ChangeValues::Way::square, std::sqrt(gain)};
}

/// The file's own photons stay where its probe does.
FirstProbe found_probe(const Scan& scan, const std::vector<KnownProbe>& known) {
  FoundProbe found = find_probe(scan, scan.probe_given(), known);
  Scan with = found.of_scan ? scan : calibrated(scan, found.probe);
  return {std::move(with), std::move(found)};
}

/// With the values read the other way, if a search explains clearly more so.
FirstProbe with_better_values(const Scan& scan, FirstProbe first,
                              const std::vector<KnownProbe>& known, const ExamineOptions& options) {
  const double as_read = first.found->fit.explained();
  if (as_read > 1 - kMoreOtherwise) return first;
  const std::optional<ChangeValues> change = other_reading(scan);
  if (!change) return first;
  FirstProbe other = found_probe(with_values(scan, change, options), known);
  const double as_others = other.found->fit.explained();
  if (!other.found->sure || as_others < as_read + kMoreOtherwise) return first;
  const bool squared = change->way == ChangeValues::Way::square;
  const std::string read = squared ? "counts" : "amplitudes",
                    are = squared ? "amplitudes" : "counts";
  const Finding finding{
      Level::mend, fmt::format("values: {} taken for {}", are, read),
      fmt::format("as {} {:.0f} % of the patterns are explained, as {} {:.0f} %: they are {} "
                  "(--domain {} says otherwise)",
                  are, 100 * as_others, read, 100 * as_read, are, squared ? "counts" : "amplitude"),
      *change};
  other.remarks.push_back(remark_of(with_words(finding, scan, other.scan)));
  other.values = change;
  return other;
}

void say(const std::vector<PositionTrial>& trials) {
  for (const PositionTrial& each : trials)
    detail("positions {}: {:.0f} % explained", each.what, 100 * each.fit.explained());
}

/// What short solves say of the positions; of a scan without a probe also searches.
std::optional<Finding> finding_about_positions(const Scan& scan, const HeldOutFit& given,
                                               const ExamineOptions& options) {
  const std::vector<PositionTrial> trials = try_positions(scan);
  say(trials);
  const std::optional<Finding> finding = finding_of(trials, options);
  if (finding || scan.probe_given()) return finding;
  const std::vector<PositionTrial> searches = search_at_positions(scan, given);
  say(searches);
  return finding_of(searches, options);
}

/// What a search comes to with the finding's remedy, where it has one.
std::optional<FirstProbe> with_remedy(const Scan& scan, const Finding& finding,
                                      const ExamineOptions& options) {
  if (!finding.remedy) return std::nullopt;
  const TurnPositions turn = std::get<TurnPositions>(*finding.remedy);
  FirstProbe other = found_probe(turned(scan, turn, options), {});
  other.turn = turn;
  return other;
}

/// With the remark of what led from `scan` to it.
FirstProbe corrected(const Scan& scan, FirstProbe first, const Finding& finding) {
  first.remarks.push_back(remark_of(with_words(finding, scan, first.scan)));
  return first;
}

/// With positions that short solves say more for, if the search explains more by them. A lens
/// with two foci of opposite signs casts the shadows of one without at positions with an axis
/// flipped, so where one was found it is enough that they explain any more.
FirstProbe with_solved_positions(const Scan& scan, FirstProbe first,
                                 const ExamineOptions& options) {
  const HeldOutFit fit = first.found->fit;
  const std::optional<HeldOutFit>& plain = first.found->without_aberrations;
  if (!fit.tells()) return first;
  const std::optional<Finding> finding =
      finding_about_positions(scan, plain.value_or(fit), options);
  if (!finding) return first;
  std::optional<FirstProbe> other = with_remedy(scan, *finding, options);
  const double least = fit.explained() + (plain ? 0 : kClearlyMore);
  if (!other) first.remarks.push_back(remark_of(*finding));
  if (!other || other->found->fit.explained() < least) return first;
  return corrected(scan, *std::move(other), *finding);
}

/// With the positions on which all patterns agree, as they are or turned; nothing where they agree
/// on none, or a search that could tell explains less so.
std::optional<FirstProbe> with_agreed_positions(const Scan& scan, FirstProbe first,
                                                const ExamineOptions& options) {
  const HeldOutFit& fit = first.found->fit;
  const std::vector<OrientationEnergy> energies = orientation_energies(scan);
  if (!stands_out(energies)) return std::nullopt;
  const std::optional<Finding> finding = finding_of(energies, options);
  if (!finding) return bears_out(fit, fit) ? std::optional(first) : std::nullopt;
  std::optional<FirstProbe> other = with_remedy(scan, *finding, options);
  if (!other) first.remarks.push_back(remark_of(*finding));
  if (!other) return first;
  if (!bears_out(other->found->fit, fit)) return std::nullopt;
  return corrected(scan, *std::move(other), *finding);
}

/// With other positions, where little is explained.
FirstProbe with_better_positions(const Scan& scan, FirstProbe first,
                                 const ExamineOptions& options) {
  const HeldOutFit& fit = first.found->fit;
  const HeldOutFit& plain = first.found->without_aberrations.value_or(fit);
  if (fit.tells() && plain.explained() > kMostlyExplained) return first;
  if (!scan.probe_given())
    if (std::optional<FirstProbe> agreed = with_agreed_positions(scan, first, options))
      return *std::move(agreed);
  return with_solved_positions(scan, std::move(first), options);
}

/// Where the file's probe was put aside, or explained much only by a solve that was long enough to
/// bend it, but fits positions of another scale or turned by 180 degrees.
void doubt_positions(const Scan& scan, FirstProbe& first) {
  const std::vector<PositionTrial> trials = try_scales(scan, first.found->probe);
  say(trials);
  const std::optional<Finding> finding = scale_finding(trials);
  if (!finding) return;
  first.remarks.push_back(remark_of(*finding));
  first.doubt = finding->cause + ": " + finding->text;
}

/// A raster of which nobody says how it lies against the detector, as the patterns say, if a search
/// explains more so.
FirstProbe with_better_raster(const Scan& scan, FirstProbe first,
                              const std::vector<KnownProbe>& known, const ExamineOptions& options) {
  const auto typed = [&](const std::string& name) { return options.given.contains(name); };
  const double unturned = first.found->fit.explained();
  if (!typed("scan-step") || std::ranges::any_of(axis_options(), typed) ||
      !first.found->fit.tells() || unturned > kRasterRight)
    return first;
  detail("{:.0f} % explained: the raster's turn against the detector is looked for",
         100 * unturned);
  const std::optional<ScanRotation> rotation = find_scan_rotation(scan, evidence_of(scan));
  if (!rotation) return first;
  FirstProbe other = found_probe(with_raster_turned(scan, *rotation), known);
  const double turned = other.found->fit.explained();
  if (turned < unturned + kMoreByTurn) return first;
  other.turn = turn_of(*rotation);
  const Finding finding{
      Level::mend, "positions: raster turned",
      fmt::format("at {} {:.0f} % of the patterns are explained, unturned {:.0f} % "
                  "(--scan-rotation 0 keeps it so); {}",
                  in_words(*rotation), 100 * turned, 100 * unturned, twin_in_words(*rotation)),
      *other.turn};
  return corrected(scan, std::move(other), finding);
}

/// With what short solves say of its values and positions.
FirstProbe with_better_scan(const Scan& scan, FirstProbe first,
                            const std::vector<KnownProbe>& known, const ExamineOptions& options) {
  first = with_better_values(scan, std::move(first), known, options);
  const std::optional<ChangeValues> values = first.values;
  const Scan basis = with_values(scan, values, options);
  std::vector<Remark> remarks = std::exchange(first.remarks, {});
  first = with_better_raster(basis, std::move(first), known, options);
  if (!first.turn) first = with_better_positions(basis, std::move(first), options);
  first.values = values;
  first.remarks.insert(first.remarks.begin(), remarks.begin(), remarks.end());
  const bool trusted = first.found->of_scan && !first.found->on_second_look;
  if (scan.probe_given() && !trusted && !first.turn) doubt_positions(basis, first);
  return first;
}

/// Of electrons out of focus, from the shifts of bright-field images: how the scan lies against the
/// detector, and the probe of their defocus. Nothing where these are not sure, where the file has a
/// probe, or where the axes that the user gave contradict them, which is warned of.
std::optional<FirstProbe> by_bright_field(const Scan& scan, const ExamineOptions& options) {
  if (scan.probe_given()) return std::nullopt;
  const std::optional<BrightField> field = bright_field(scan);
  if (!field) return std::nullopt;
  detail("bright field: {}", in_words(*field));
  if (!field->sure()) return std::nullopt;
  const bool as_given = std::ranges::any_of(
      axis_options(), [&](const std::string& name) { return options.given.contains(name); });
  const bool may_lie_so = !field->mirrored && std::abs(field->degrees) <
                                                  std::max(kHardlyTurned, 2 * field->degrees_error);
  if (as_given && (field->mirrored || std::abs(field->degrees) > kSameAxes)) {
    warn("bright field: {}; the axes that were given are kept", in_words(*field));
    return std::nullopt;
  }
  const bool stays = as_given || may_lie_so;
  const TurnPositions turn = stays ? TurnPositions{} : field->turn;
  Scan with = turned(scan, turn, options);
  at::Tensor probe;
  try {
    probe = probe_of_optics("electron", {.defocus_m = field->defocus_m}, with);
  } catch (const InvalidInput& error) {  // it leaves the window
    detail("bright field: no probe of that defocus: {}", error.what());
    return std::nullopt;
  }
  const auto solved =
      solve_shortly(middle_of(with, kFinalPatterns), probe, chain_from(kBrightChain));
  if (!solved) return std::nullopt;
  FirstProbe first{
      .scan = calibrated(with, probe),
      .found = FoundProbe{.probe = probe,
                          .what = "defocus " + defocus_in_words(*field) + ", from bright field",
                          .sure = true,
                          .fit = solved->fit}};
  first.remarks.push_back(
      {.kind = Remark::Kind::note, .text = in_words(*field), .cause = "bright field"});
  first.bright_field = *field;
  if (stays) return first;
  first.turn = turn;
  return corrected(scan, std::move(first),
                   {Level::mend, "positions: raster turned",
                    fmt::format("by {}{} (--scan-rotation 0 keeps it so)", degrees_in_words(*field),
                                field->mirrored ? ", turned over" : ""),
                    turn});
}

/// What the library has for this scan. Unless it is asked for, it changes nothing and is only told
/// of.
std::vector<KnownProbe> known_probes(const Scan& scan, bool asked) {
  std::vector<KnownProbe> known;
  std::vector<std::string> names;
  for (KeptProbe& kept : kept_probes_for(scan)) {
    names.push_back(kept.name);
    known.push_back({std::move(kept.name), std::move(kept.probe)});
  }
  if (asked && known.empty())
    note("probe: none of the library fits the scan's pattern size, energy, distance and pixel");
  if (!asked && !known.empty())
    note("probe: kept ones fit this scan and are not looked at: {} (--probe library tries them)",
         fmt::join(names, ", "));
  return asked ? known : std::vector<KnownProbe>{};
}

void say_known(const FoundProbe& found) {
  if (!found.known.empty())
    note("probe: the library's {} is what it begins with; {:.0f} % of the patterns is explained",
         found.known, 100 * found.fit.explained());
}

void say_found(const FirstProbe& first) {
  for (const Remark& remark : first.remarks) say(remark);
  say(*first.found);
}

FirstProbe searched(const Scan& scan, bool library, const KeepProbe& keep,
                    const std::optional<ExamineOptions>& positions) {
  const Stopwatch watch;
  if (keep.resume && !keep.file.empty() && std::filesystem::exists(keep.file)) {
    FirstProbe first = kept_probe(keep.file, scan, positions.value_or(ExamineOptions{}));
    say_found(first);
    return first;
  }
  if (positions && !library)
    if (std::optional<FirstProbe> seen = by_bright_field(scan, *positions)) {
      say_found(*seen);
      seen->seconds = watch.seconds();
      if (!keep.file.empty()) keep_probe(keep.file, scan, *seen);
      return *std::move(seen);
    }
  const std::vector<KnownProbe> known = known_probes(scan, library);
  FirstProbe first = found_probe(scan, known);
  say_known(*first.found);
  if (positions) first = with_better_scan(scan, std::move(first), known, *positions);
  say_found(first);
  first.seconds = watch.seconds();
  if (!keep.file.empty()) keep_probe(keep.file, scan, first);
  return first;
}

bool is_kind(const std::string& word) {
  return std::ranges::find(optics_kinds(), word) != optics_kinds().end();
}

at::Tensor probe_of_file(const std::filesystem::path& file, const Scan& scan) {
  const at::Tensor probe = read_any_probe(file);
  require(probe.size(-1) == scan.pattern_size(),
          "{0}: expected a probe (modes, {1}, {1}), the patterns' size, found {2}", file.string(),
          scan.pattern_size(), describe(probe));
  return probe;
}

/// Throws InvalidInput for numbers of an instrument that nothing looks at.
void require_used_optics(ProbeChoice choice) {
  Optics usual;
  const std::vector<std::string> names = given(fields(choice.optics), fields(usual));
  require(names.empty() || is_kind(choice.probe), "--{}: nothing looks at it without --probe {}",
          names.empty() ? "" : names.front(), fmt::join(optics_kinds(), ", "));
}

FirstProbe automatic(const Scan& scan, bool library, const KeepProbe& keep,
                     const std::optional<ExamineOptions>& positions) {
  // Near by, the root of the mean pattern is the probe but for its own diffraction: taken back to
  // the sample with a flat phase, a disk was less like the truth (.962 after .984).
  if (scan.geometry().near_field) return {scan};
  const std::int64_t used = scan.frames_with(FrameUse::used).size(0);
  if (used >= kLeastPatterns) return searched(scan, library, keep, positions);
  if (!scan.probe_given()) warn("probe: {} patterns are too few to look for one", used);
  return {scan};
}

FirstProbe chosen(const Scan& scan, const ProbeChoice& choice, const KeepProbe& keep,
                  const std::optional<ExamineOptions>& positions) {
  if (choice.probe == "scan") return {scan};
  const bool library = choice.probe == "library";
  if (library || choice.probe == "auto") return automatic(scan, library, keep, positions);
  const at::Tensor probe = said_probe(scan, choice).value();
  return {with_context("--probe", [&] { return calibrated(scan, probe); })};
}

/// Where patterns do not overlap. The file's probe is asked, too: a solve that nothing holds makes
/// a wider one of it.
void doubt_overlap(const Scan& scan, FirstProbe& first) {
  const double step = median_step_px(
      first.scan.positions().index_select(0, first.scan.frames_with(FrameUse::used)));
  double diameter = probe_diameter_px(first.scan.probe());
  if (scan.probe_given()) diameter = std::min(diameter, probe_diameter_px(scan.probe()));
  if (step <= diameter) return;
  const std::string why = fmt::format(
      "no pattern overlaps another (the next one is {:.1f} px away, the probe {:.1f} px wide): "
      "nothing ties the parts of the image together, and no test here can see it",
      step, diameter);
  first.doubt = first.doubt.empty() ? why : first.doubt + "; " + why;
}

/// In focus nothing contradicts axes that are flipped.
void tell_twin(const Scan& scan) {
  if (likeness_to_twin(scan.probe()) > kOwnTwin)
    note(
        "probe: in focus, so that no pattern tells whether positions or patterns are turned by 180 "
        "degrees; they are taken as they are, else the image would be turned by 180 degrees or "
        "its phase reversed");
}

}  // namespace

std::vector<Field> fields(ProbeChoice& choice) {
  return joined(
      {{{.name = "probe",
         .target = &choice.probe,
         .help = "first probe: auto (the file's, or one found from the patterns where the file has "
                 "none or that one explains more), library (auto, kept ones first: see probes), "
                 "scan (the file's), zone-plate, electron, disk, gaussian (by their own options), "
                 "or the path of a result or of an .npy file"}},
       fields(choice.optics)});
}

std::optional<at::Tensor> said_probe(const Scan& scan, const ProbeChoice& choice) {
  const std::string& probe = choice.probe;
  if (probe == "auto" || probe == "library" || probe == "scan") return std::nullopt;
  return is_kind(probe) ? probe_of_optics(probe, choice.optics, scan) : probe_of_file(probe, scan);
}

FirstProbe with_first_probe(const Scan& scan, const ProbeChoice& choice, const KeepProbe& keep,
                            const std::optional<ExamineOptions>& positions) {
  require_used_optics(choice);
  FirstProbe first = chosen(scan, choice, keep, positions);
  if (!first.scan.probe_given() && !first.found) return first;
  if (scan.probe_given() && first.found && !first.found->of_scan) {
    say({.text = fmt::format("one found from the patterns explains more than the file's, {:.0f} %: "
                             "it is taken (--probe scan holds the file's)",
                             100 * first.found->fit.explained()),
         .cause = "probe: not the file's"});
    if (!first.turn) first.put_aside = with_values(scan, first.values, {}).probe();
  }
  doubt_overlap(scan, first);
  if (!scan.geometry().near_field && !first.turn) tell_twin(first.scan);
  return first;
}

at::Tensor read_any_probe(const std::filesystem::path& named) {
  std::filesystem::path file = result_file(named);
  if (file != named && !std::filesystem::exists(file)) file = named / "model.ptyche";
  if (!is_hdf5(file)) return as_probe(read_npy_file(file).values, file.string());
  const Hdf5File opened = Hdf5File::open(file);
  for (const char* own : {"ptyche_model/probe", "ptyche_probe/probe"})
    if (opened.has(own)) return as_probe(opened.read(own).values, file.string() + ": " + own);
  return read_probe_file(file);
}

RefinedProbe with_refined_probe(const Scan& scan, bool background) {
  const CatchInterrupts catching;
  const Chain chain{{"rpie", 10}, {"lbfgs", 20}};
  const Scan part = middle_of(scan, kRefinedBy);
  std::array<std::optional<ShortSolve>, kRefinedModes.size()> solves;
  side_by_side(std::ssize(solves), [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    solves[at] = solve_shortly(
        part, scan.probe(),
        SolverOptions{.chain = chain, .modes = kRefinedModes[at], .background = background});
  });
  if (interrupted()) throw Interrupted("stopped while the probe was refined");
  const auto explained = [](const std::optional<ShortSolve>& each) {
    return each ? each->fit.explained() : 0;
  };
  const std::optional<ShortSolve>& best =
      explained(solves[1]) > explained(solves[0]) + kWorthModes ? solves[1] : solves[0];
  if (explained(best) <= 0) return {scan, {}};
  return {calibrated(scan, best->image.main_probe()), best->image.background};
}

std::optional<ProbeScore> score_of(const FirstProbe& first) {
  if (!first.found) return std::nullopt;
  const FoundProbe& found = *first.found;
  return ProbeScore{.of_file = found.of_scan,
                    .sure = found.sure,
                    .deviance = found.fit.deviance,
                    .noise = found.fit.noise,
                    .mean_pattern = found.fit.mean_pattern,
                    .seconds = first.seconds};
}

}  // namespace ptyche
