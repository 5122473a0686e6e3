// The automatic chain goes on from what it has kept.
#include "ptyche/solve/kept_attempts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "ptyche/core/files.h"
#include "ptyche/solve/automatic.h"
#include "tests/support/plain_solver.h"
#include "tests/support/refusal.h"
#include "tests/support/rewritten.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

namespace fs = std::filesystem;

template <typename Work>
void expect_refused(const Work& work, const std::string& text) {
  const std::string said = message_of(work);
  EXPECT_NE(said.find(text), std::string::npos) << said;
}

class KeptAttemptsTest : public testing::Test {
 protected:
  AutomaticResult run(const fs::path& folder, bool resume, const ImageWatch& better = {}) const {
    return solve_automatically(scan_, {}, {}, better, {.folder = folder, .resume = resume});
  }

  static void expect_equal(const AutomaticResult& one, const AutomaticResult& other) {
    EXPECT_TRUE(at::equal(one.image.object, other.image.object));
    EXPECT_TRUE(at::equal(one.image.probe, other.image.probe));
    EXPECT_TRUE(at::equal(one.image.coverage, other.image.coverage));
    EXPECT_TRUE(at::equal(one.image.positions, other.image.positions));
    EXPECT_TRUE(at::equal(one.before_them.object, other.before_them.object));
    EXPECT_EQ(one.image.background.defined(), other.image.background.defined());
    EXPECT_EQ(one.image.loss, other.image.loss);
    EXPECT_EQ(one.image.origin_row, other.image.origin_row);
    ASSERT_EQ(one.attempts.size(), other.attempts.size());
    for (std::size_t i = 0; i < one.attempts.size(); ++i) {
      EXPECT_EQ(one.attempts[i].what, other.attempts[i].what);
      EXPECT_EQ(one.attempts[i].passes, other.attempts[i].passes);
      EXPECT_EQ(one.attempts[i].held_out_deviance, other.attempts[i].held_out_deviance)
          << one.attempts[i].what;
      EXPECT_EQ(one.attempts[i].kept, other.attempts[i].kept);
    }
  }

  /// Of so many runs in one folder the first ones are stopped after `passes` each.
  AutomaticResult stopped_and_resumed(const fs::path& folder, int passes) const {
    AutomaticResult result;
    do {
      std::atomic<int> left = passes;
      result = solve_automatically(
          scan_, {}, {}, {},
          {.folder = folder, .resume = true, .stop = [&](std::int64_t) { return --left == 0; }});
    } while (result.end == ChainEnd::interrupted);
    return result;
  }

  explicit KeptAttemptsTest(const Scan& scan = small_scan(25)) : scan_(scan) {}

  const Scan scan_;
  const TestFolder folder_;
};

TEST_F(KeptAttemptsTest, ARunThatEndsAnywhereComesToTheSameImage) {
  std::vector<fs::path> ends;  // the folder as a kill would have left it, at every better image
  const AutomaticResult whole = run(folder_ / "whole", false, [&](const Reconstruction&) {
    ends.push_back(folder_ / std::to_string(ends.size()));
    fs::copy(folder_ / "whole", ends.back());
  });
  ends.push_back(folder_ / "whole");
  ASSERT_GE(ends.size(), 3U);
  for (const fs::path& end : ends) expect_equal(run(end, true), whole);
}

TEST_F(KeptAttemptsTest, ARunThatIsStoppedInEveryAttemptComesToTheSameImage) {
  const AutomaticResult whole = run(folder_ / "whole", false);
  for (const int passes : {1, 4, 7})
    expect_equal(stopped_and_resumed(folder_ / std::to_string(passes), passes), whole);
}

/// With patterns that are left out on the way.
class KeptMisfitsTest : public KeptAttemptsTest {
 protected:
  KeptMisfitsTest() : KeptAttemptsTest(with_wrong_patterns()) {}

  static Scan with_wrong_patterns() {
    const Scan scan = small_scan(64);
    ScanFields fields = scan.fields();
    const at::Tensor wrong = at::tensor({18, 29, 45}, at::kLong);
    fields.counts =
        fields.counts.index_copy(0, wrong, scan.counts().index_select(0, wrong.roll(1)));
    return Scan(fields);
  }
};

TEST_F(KeptMisfitsTest, AreLeftOutAgainWhereverTheRunEnded) {
  const AutomaticResult whole = run(folder_ / "whole", false);
  ASSERT_GT(whole.left_out.size(0), 0);
  const AutomaticResult pieces = stopped_and_resumed(folder_ / "pieces", 7);
  expect_equal(pieces, whole);
  EXPECT_TRUE(at::equal(pieces.left_out, whole.left_out));
  EXPECT_TRUE(at::equal(pieces.image.frame_use, whole.image.frame_use));
  expect_equal(run(folder_ / "whole", true), whole);
}

TEST_F(KeptMisfitsTest, ThatAreMissingAreNotLookedForInAnImageThatIsGone) {
  run(folder_ / "whole", false);
  for (const auto& entry : fs::directory_iterator(folder_ / "whole"))
    if (entry.path().filename().string().starts_with("misfits")) fs::remove(entry.path());
  expect_refused([&] { run(folder_ / "whole", true); },
                 "whole: expected the image from which the search");
}

/// With half of the detector hidden, so that a prior follows from an image.
class KeptHalfSlowTest : public KeptAttemptsTest {
 protected:
  KeptHalfSlowTest() : KeptAttemptsTest(with_half_hidden()) {}

  static Scan with_half_hidden() {
    ScanFields fields = small_scan(25).fields();
    fields.mask = fields.mask.clone();
    fields.mask.slice(0, 0, fields.mask.size(0) / 2).fill_(false);
    return Scan(fields);
  }
};

TEST_F(KeptHalfSlowTest, APriorThatFollowedFromAnImageIsTheSameWhenThatImageIsGone) {
  const AutomaticResult whole = run(folder_ / "whole", false);
  ASSERT_TRUE(std::ranges::any_of(whole.attempts, [](const Attempt& each) {
    return each.kept && each.what.starts_with("amplitude tied");
  }));
  expect_equal(run(folder_ / "whole", true), whole);
  expect_equal(stopped_and_resumed(folder_ / "pieces", 7), whole);
}

TEST_F(KeptAttemptsTest, AnAttemptThatIsMissingIsMadeAgain) {
  const AutomaticResult whole = run(folder_ / "whole", false);
  std::int64_t last = 0;
  for (std::int64_t number = 0; number < 1000; ++number)
    if (fs::exists(folder_ / "whole" / fmt::format("attempt_{}.h5", number))) last = number;
  ASSERT_GT(last, 0);
  fs::remove(folder_ / "whole" / fmt::format("attempt_{}.h5", last));
  expect_equal(run(folder_ / "whole", true), whole);
}

TEST_F(KeptAttemptsTest, AnImageThatWasReplacedTakesNoRoom) {
  run(folder_ / "whole", false);
  std::int64_t large = 0;
  for (const auto& entry : fs::directory_iterator(folder_ / "whole"))
    large += entry.file_size() > 20'000 ? 1 : 0;
  EXPECT_LE(large, 2);  // the last one, and the one before the patterns came back
}

TEST_F(KeptAttemptsTest, AFolderOfAnotherRunIsRefused) {
  run(folder_ / "whole", false);
  const KeepOptions keep{.folder = folder_ / "whole", .resume = true};
  expect_refused([&] { solve_automatically(scan_, {}, {.seed = 2}, {}, keep); },
                 "seed is 2 and was 1");
  expect_refused([&] { solve_automatically(small_scan(16), {}, {}, {}, keep); }, "run.h5");
}

TEST_F(KeptAttemptsTest, ADamagedAttemptIsRefusedByName) {
  run(folder_ / "whole", false);
  const fs::path file = folder_ / "whole" / "attempt_0.h5";
  const std::string bytes = read_bytes(file);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    write_text(file, bytes);
    damage(file, seed);
    expect_refused([&] { run(folder_ / "whole", true); }, "attempt_0.h5");
  }
}

TEST_F(KeptAttemptsTest, AnAttemptWithOtherArraysIsRefusedByName) {
  run(folder_ / "whole", false, [&](const Reconstruction&) {
    if (!fs::exists(folder_ / "early")) fs::copy(folder_ / "whole", folder_ / "early");
  });
  const fs::path file = folder_ / "early" / "attempt_0.h5";
  const std::string bytes = read_bytes(file);
  for (const char* name : {"attempt/numbers", "image/probe", "image/coverage", "image/positions",
                           "image/frame_use", "image/origin", "image/background"})
    for (const at::Tensor& other : {at::zeros({3}), at::full({5, 5}, NAN), at::Tensor()}) {
      write_text(file, bytes);
      rewrite(file, {{name, other}});
      if (!other.defined() && std::string(name) == "image/background") continue;  // may be missing
      expect_refused([&] { run(folder_ / "early", true); }, "attempt_0.h5");
    }
}

}  // namespace
}  // namespace ptyche
