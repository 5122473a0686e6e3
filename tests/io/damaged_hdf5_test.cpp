// HDF5 files with damaged bytes: ours by their seal, those of other programs by a trial process.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "ptyche/core/files.h"
#include "ptyche/io/cxi.h"
#include "ptyche/io/product.h"
#include "ptyche/io/readers.h"
#include "ptyche/stitch/stitch.h"
#include "ptyche/storage/layout.h"
#include "ptyche/storage/seal.h"
#include "ptyche/storage/trial.h"
#include "tests/support/refusal.h"
#include "tests/support/rewritten.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

Reconstruction some_image() {
  Reconstruction image = empty_reconstruction(small_scan(), Interpolation::bilinear);
  image.provenance.source = "a scan with a name of some length";
  image.provenance.command = "ptyche reconstruct";
  image.provenance.options_json = "{\"a\": 1, \"text\": \"of some length, too\"}";
  image.loss = {3, 2, 1};
  return image;
}

bool same(const Reconstruction& a, const Reconstruction& b) {
  return at::equal(a.object, b.object) && at::equal(a.probe, b.probe) &&
         at::allclose(a.positions, b.positions) &&
         a.provenance.options_json == b.provenance.options_json && a.loss == b.loss;
}

/// 1 to 16 damaged bytes, `count` times: how often the file was read, although not as it was.
int read_otherwise(const std::filesystem::path& file, int count) {
  const Reconstruction image = some_image();
  write_reconstruction(file, image);
  const std::string bytes = read_bytes(file);
  int wrong = 0;
  for (int seed = 0; seed < count; ++seed) {
    write_text(file, bytes);
    damage(file, static_cast<std::uint64_t>(seed));
    try {
      if (!same(read_reconstruction(file), image)) ++wrong;
    } catch (const InvalidInput&) {
    }
  }
  return wrong;
}

TEST(Seal, FindsEveryDamageOfAProduct) {
  const TestFolder folder;
  EXPECT_EQ(read_otherwise(folder / "product.h5", 100), 0);
}

TEST(SealSlow, FindsEveryDamageOfAProductTwoThousandTimes) {
  const TestFolder folder;
  EXPECT_EQ(read_otherwise(folder / "product.h5", 2000), 0);
}

TEST(Seal, IsNotSeenByOtherReadersAndCutOffByOtherWriters) {
  const TestFolder folder;
  write_cxi(folder / "scan.cxi", small_scan());
  EXPECT_EQ(check_seal(folder / "scan.cxi"), Seal::whole);
  {
    const Hdf5Id file(H5Fopen((folder / "scan.cxi").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    ASSERT_TRUE(file.valid());
    const Hdf5Id group(H5Gcreate2(file.get(), "added", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Gclose);
    ASSERT_TRUE(group.valid());
  }
  EXPECT_EQ(check_seal(folder / "scan.cxi"), Seal::none);
  EXPECT_TRUE(Hdf5File::open(folder / "scan.cxi").has("entry_1/data_1/data"));
}

TEST(Seal, ThatIsBrokenIsSaidWithTheFilesName) {
  const TestFolder folder;
  write_reconstruction(folder / "product.h5", some_image());
  std::fstream(folder / "product.h5", std::ios::in | std::ios::out | std::ios::binary)
      .seekp(3000)
      .put('\x5a')
      .put('\xa5');
  const std::string message = message_of([&] { read_reconstruction(folder / "product.h5"); });
  EXPECT_NE(message.find("product.h5: the file is damaged: expected the SHA-256"),
            std::string::npos)
      << message;
}

/// Reads the file, with whatever outcome but a crash.
void read_or_refuse(const std::filesystem::path& file) {
  try {
    read_reconstruction(file);
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find(file.filename().string()), std::string::npos);
  }
}

/// Damage around the texts' heap and the attributes that point into it, in a file without a seal.
void damage_texts(const std::filesystem::path& file, std::size_t step) {
  write_reconstruction(file, some_image());
  remove_seal(file);
  const std::string bytes = read_bytes(file);
  std::size_t tried = 0;
  for (std::size_t heap = bytes.find("GCOL"); heap != std::string::npos;
       heap = bytes.find("GCOL", heap + 1))
    for (std::size_t place = heap; place < std::min(heap + 600, bytes.size()); place += step) {
      std::string other = bytes;
      other[place] = static_cast<char>(other[place] ^ 0xff);
      other[std::min(place + 9, other.size() - 1)] ^= 0x41;
      write_text(file, other);
      read_or_refuse(file);
      ++tried;
    }
  EXPECT_GT(tried, 10u);
}

TEST(Hdf5Trial, DamagedTextsOfAForeignFileCrashNobody) {
  const TestFolder folder;
  damage_texts(folder / "foreign.h5", 37);
}

TEST(Hdf5TrialSlow, DamagedTextsOfAForeignFileCrashNobodyAtAnyPlace) {
  const TestFolder folder;
  damage_texts(folder / "foreign.h5", 1);
}

TEST(Hdf5Trial, AnyDamageOfAForeignFileIsReadOrRefusedByName) {
  const TestFolder folder;
  write_reconstruction(folder / "foreign.h5", some_image());
  remove_seal(folder / "foreign.h5");
  const std::string bytes = read_bytes(folder / "foreign.h5");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    write_text(folder / "foreign.h5", bytes);
    damage(folder / "foreign.h5", seed);
    read_or_refuse(folder / "foreign.h5");
  }
}

TEST(Hdf5Trial, LetsEveryWholeFilePassAndTriesItOnce) {
  const TestFolder folder;
  write_cxi(folder / "scan.cxi", small_scan());
  remove_seal(folder / "scan.cxi");
  EXPECT_NO_THROW(require_sound_hdf5(folder / "scan.cxi"));
  EXPECT_NO_THROW(require_sound_hdf5(folder / "scan.cxi"));
  EXPECT_EQ(Hdf5File::open(folder / "scan.cxi").read("entry_1/data_1/data").values.size(0), 36);
}

TEST(Hdf5, AnArrayThatIsDeclaredAndNotStoredIsRefusedBeforeMemoryIsTaken) {
  const TestFolder folder;
  {
    const Hdf5Id file(
        H5Fcreate((folder / "empty.h5").c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
        H5Fclose);
    const hsize_t shape[] = {100000, 64, 64};
    const Hdf5Id space(H5Screate_simple(3, shape, nullptr), H5Sclose);
    const Hdf5Id dataset(H5Dcreate2(file.get(), "data", H5T_NATIVE_UINT16, space.get(), H5P_DEFAULT,
                                    H5P_DEFAULT, H5P_DEFAULT),
                         H5Dclose);
    ASSERT_TRUE(dataset.valid());
  }
  const std::string message = message_of([&] { Hdf5File::open(folder / "empty.h5").read("data"); });
  EXPECT_NE(message.find("data: declares 819200000 bytes of values and holds 0"), std::string::npos)
      << message;
}

TEST(Trial, OfAFileThatIsOnlyWaitedForIsBegunAnew) {
  const TestFolder folder;
  write_text(folder / "file", "file");
  const auto waits_once = [&](const char*) {
    const std::filesystem::path begun = folder / "begun";
    if (std::filesystem::exists(begun)) return TrialEnd::sound;
    write_text(begun, "begun");
    while (true) pause();
  };
  // Long enough for a busy machine to begin the child within the first of them.
  const std::vector<std::chrono::milliseconds> patience = {std::chrono::seconds(2),
                                                           std::chrono::seconds(60)};
  EXPECT_EQ(fault_in_trial(folder / "file", waits_once, patience), "");
  const auto waits_always = [](const char*) -> TrialEnd {
    while (true) pause();
  };
  const std::vector<std::chrono::milliseconds> short_patience(2, std::chrono::milliseconds(100));
  const std::string message =
      message_of([&] { fault_in_trial(folder / "file", waits_always, short_patience); });
  EXPECT_NE(message.find("file: it could not be tried"), std::string::npos) << message;
  EXPECT_EQ(message.find("damaged"), std::string::npos) << message;
}

TEST(Readers, RefuseWhatIsNoRegularFileWithoutOpeningIt) {
  const TestFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  std::filesystem::create_symlink(folder / "loop", folder / "loop");
  const auto message = [&](const std::filesystem::path& file) {
    return message_of([&] { read_object_file(file); });
  };
  EXPECT_NE(message(folder / "fifo").find("fifo: expected a file, found a FIFO"),
            std::string::npos);
  EXPECT_NE(message(folder / "loop").find("found a loop of symbolic links"), std::string::npos);
  EXPECT_NE(message(folder / std::string(300, 'n')).find("found a name that is too long"),
            std::string::npos);
  EXPECT_NE(message("/dev/zero").find("found a device"), std::string::npos);
}

TEST(Layout, NamesDatasetWhatIsExpectedAndWhatIsThere) {
  const DatasetLayout layout{"a/b", at::kFloat, {kAnyLength, 2}, 0, 5};
  const auto message = [&](const at::Tensor& values) {
    return message_of([&] { require_layout(values, layout); });
  };
  EXPECT_EQ(message(at::ones({3, 2})), "");
  EXPECT_EQ(message(at::ones({2})), "a/b: expected (n, 2) float32, found (2) float32");
  EXPECT_EQ(message(at::ones({3, 2}, at::kDouble)),
            "a/b: expected (n, 2) float32, found (3, 2) float64");
  EXPECT_EQ(message(at::full({3, 2}, 6.0f)), "a/b: expected numbers from 0 to 5, found 6 to 6");
  EXPECT_NE(message(at::full({3, 2}, std::nanf(""))), "");
}

}  // namespace
}  // namespace ptyche
