// Probes of earlier runs: what is kept, for which scans, and what it changes.
#include "ptyche/prepare/probe_library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "ptyche/core/files.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/first_probe.h"
#include "ptyche/simulate/simulate.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

/// The value of an environment variable, put back at the end.
class Surroundings {
 public:
  explicit Surroundings(std::string name) : name_(std::move(name)) {
    if (const char* value = std::getenv(name_.c_str())) before_ = value;
  }
  ~Surroundings() { before_ ? set(*before_) : unset(); }
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;
  void set(const std::string& value) const { setenv(name_.c_str(), value.c_str(), 1); }
  void unset() const { unsetenv(name_.c_str()); }

 private:
  std::string name_;
  std::optional<std::string> before_;
};

class ProbeLibrary : public testing::Test {
 protected:
  ProbeLibrary() { named_.set((folder_ / "kept").string()); }
  TestFolder folder_;
  Surroundings named_{"PTYCHE_PROBES"};
};

/// Another seed is another sample; the optics are always the same.
Scan scan_of(std::uint64_t seed, double photons = 1e5) {
  const Scan scan =
      simulate({.pattern_size = 32, .frames = 64, .step_px = 3, .photons = photons, .seed = seed});
  ScanFields fields = scan.fields();
  fields.geometry = {.energy_ev = 8000, .distance_m = 2, .detector_pixel_m = 75e-6};
  fields.geometry.object_pixel_m = far_field_object_pixel_m(fields.geometry, 32);
  return Scan(std::move(fields));
}

Scan unlit(const Scan& scan) {
  ScanFields fields = scan.fields();
  fields.probe = probe_of_mean_pattern(scan.counts(), scan.mask(), at::arange(scan.frames()),
                                       /*near_field=*/false);
  fields.probe_given = false;
  return Scan(std::move(fields));
}

Scan with_geometry(const Scan& scan, const Geometry& geometry) {
  ScanFields fields = scan.fields();
  fields.geometry = geometry;
  return Scan(std::move(fields));
}

KeptProbe kept_of(const Scan& scan, const std::string& name = "zone-plate") {
  return {.name = name,
          .probe = scan.probe(),
          .geometry = scan.geometry(),
          .source = "first.cxi",
          .when = "2026-01-01"};
}

/// What the program says while it works.
template <typename Work>
std::string said(Work&& work) {
  testing::internal::CaptureStderr();
  work();
  return testing::internal::GetCapturedStderr();
}

TEST_F(ProbeLibrary, GivesBackWhatWasKept) {
  const Scan scan = scan_of(5);
  keep_in_library(kept_of(scan));
  const KeptProbe kept = read_kept_probe("zone-plate");
  EXPECT_TRUE(at::equal(kept.probe, scan.probe()));
  EXPECT_EQ(kept.geometry.energy_ev, 8000);
  EXPECT_EQ(kept.source, "first.cxi");
  EXPECT_EQ(kept_probe_names(), std::vector<std::string>{"zone-plate"});
}

TEST_F(ProbeLibrary, BeginsAScanOfAnotherSampleAndDoseWithTheProbeOfTheFirst) {
  const Scan first = scan_of(5);
  keep_in_library(kept_of(first));
  const Scan second = unlit(scan_of(6, 3e4));
  std::optional<FirstProbe> found;
  const std::string words = said([&] { found = with_first_probe(second, {.probe = "library"}); });
  ASSERT_TRUE(found->found);
  EXPECT_EQ(found->found->known, "zone-plate");
  EXPECT_EQ(found->found->trials.size(), 1U);  // no search
  EXPECT_NE(words.find("the library's zone-plate"), std::string::npos) << words;
  // The kept probe but for its power, which is that of the second scan's counts.
  const double power = probe_power(found->scan.probe());
  const double ratio = power / probe_power(first.probe());
  const double counted = second.counts().sum(at::kDouble).item<double>();
  EXPECT_NEAR(power * static_cast<double>(second.frames()) / counted, 1, 1e-3);
  EXPECT_LT(relative_difference(found->scan.probe(), first.probe() * std::sqrt(ratio)), 1e-5);
}

TEST_F(ProbeLibrary, ChangesNothingUnlessItIsAskedForAndIsToldOf) {
  const Scan second = unlit(scan_of(6));
  const FirstProbe before = with_first_probe(second, {});
  keep_in_library(kept_of(scan_of(5)));
  std::optional<FirstProbe> after;
  const std::string words = said([&] { after = with_first_probe(second, {}); });
  EXPECT_TRUE(at::equal(before.scan.probe(), after->scan.probe()));
  EXPECT_NE(words.find("not looked at: zone-plate"), std::string::npos) << words;
}

TEST_F(ProbeLibrary, WithoutAFittingProbeIsTheOrdinarySearchAndSaysSo) {
  const Scan scan = unlit(scan_of(6));
  std::optional<FirstProbe> asked;
  const std::string words = said([&] { asked = with_first_probe(scan, {.probe = "library"}); });
  EXPECT_TRUE(at::equal(asked->scan.probe(), with_first_probe(scan, {}).scan.probe()));
  EXPECT_NE(words.find("none of the library fits"), std::string::npos) << words;
}

TEST_F(ProbeLibrary, AProbeThatExplainsNothingLosesTheRace) {
  const Scan scan = unlit(scan_of(6));
  KeptProbe wrong = kept_of(scan_of(5));
  wrong.probe = wrong.probe.flip({1}).conj().roll({10, 5}, {1, 2}).resolve_conj().contiguous();
  wrong.probe = at::fft_fftshift(at::fft_fft2(wrong.probe), {{1, 2}}).contiguous();
  keep_in_library(wrong);
  const FirstProbe found = with_first_probe(scan, {.probe = "library"});
  EXPECT_EQ(found.found->known, "") << found.found->what;
  EXPECT_GT(found.found->fit.explained(), 0.7);
}

TEST_F(ProbeLibrary, IsForTheSameEnergyDistancePixelAndSizeAlone) {
  const Scan scan = scan_of(5);
  const KeptProbe kept = kept_of(scan);
  EXPECT_TRUE(fits(kept, scan));
  for (double Geometry::*member :
       {&Geometry::energy_ev, &Geometry::distance_m, &Geometry::object_pixel_m}) {
    for (const double factor : {1.02, 0.0}) {
      Geometry other = scan.geometry();
      other.*member *= factor;
      EXPECT_FALSE(fits(kept, with_geometry(scan, other))) << factor;
    }
  }
  Geometry near_enough = scan.geometry();
  near_enough.energy_ev += 1;
  EXPECT_TRUE(fits(kept, with_geometry(scan, near_enough)));
  KeptProbe smaller = kept;
  smaller.probe = probe_for_size(kept.probe, 16);
  EXPECT_FALSE(fits(smaller, scan));
}

TEST_F(ProbeLibrary, RefusesNamesThatAreTakenOrNoneAndProbesOfUnknownLengths) {
  const Scan scan = scan_of(5);
  keep_in_library(kept_of(scan));
  EXPECT_NE(message_of([&] { keep_in_library(kept_of(scan)); }).find("not taken"),
            std::string::npos);
  for (const char* name : {"", "../up", "a/b", ".hidden", "with space"})
    EXPECT_NE(message_of([&] { keep_in_library(kept_of(scan, name)); }).find("expected a name"),
              std::string::npos)
        << name;
  const KeptProbe nowhere = kept_of(with_geometry(scan, {}), "other");
  EXPECT_NE(message_of([&] { keep_in_library(nowhere); }).find("energy, distance and pixel"),
            std::string::npos);
  EXPECT_EQ(kept_probe_names().size(), 1U);
}

TEST_F(ProbeLibrary, ADamagedFileIsRefusedByNameAndPassedOverWithAWarning) {
  const Scan scan = scan_of(5);
  keep_in_library(kept_of(scan, "a"));
  keep_in_library(kept_of(scan, "b"));
  const std::filesystem::path file = kept_probe_file("a");
  const std::string bytes = read_bytes(file);
  for (const std::string& damaged :
       {std::string(), bytes.substr(0, bytes.size() / 2), std::string(5000, 'x')}) {
    write_text(file, damaged);
    EXPECT_NE(message_of([] { read_kept_probe("a"); }).find(file.string()), std::string::npos);
    std::vector<KeptProbe> fitting;
    const std::string words = said([&] { fitting = kept_probes_for(scan); });
    ASSERT_EQ(fitting.size(), 1U);
    EXPECT_EQ(fitting[0].name, "b");
    EXPECT_NE(words.find(file.string()), std::string::npos) << words;
  }
}

TEST_F(ProbeLibrary, ItsFilesAreProbesLikeAnyOther) {
  const Scan scan = scan_of(5);
  keep_in_library(kept_of(scan));
  EXPECT_TRUE(at::equal(read_any_probe(kept_probe_file("zone-plate")), scan.probe()));
}

TEST_F(ProbeLibrary, IsInTheUsersDataFolderAndNowhereWithoutOne) {
  const Surroundings data("XDG_DATA_HOME"), home("HOME");
  named_.unset();
  data.set("/data");
  EXPECT_EQ(probe_library(), "/data/ptyche/probes");
  data.unset();
  home.set("/home/me");
  EXPECT_EQ(probe_library(), "/home/me/.local/share/ptyche/probes");
  home.unset();
  EXPECT_EQ(probe_library(), std::nullopt);
  EXPECT_TRUE(kept_probe_names().empty());
  const Scan scan = scan_of(5);
  EXPECT_TRUE(at::equal(with_first_probe(scan, {}).scan.probe(), scan.probe()));
  EXPECT_NE(message_of([&] { keep_in_library(kept_of(scan)); }).find("PTYCHE_PROBES"),
            std::string::npos);
}

}  // namespace
}  // namespace ptyche
