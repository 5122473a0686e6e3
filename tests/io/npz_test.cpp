#include "ptyche/io/npz.h"

#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

TEST(Npz, GivesBackEveryTypeThatItWrote) {
  const TestFolder folder;
  Arrays arrays;
  for (const at::ScalarType type :
       {at::kBool, at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kFloat, at::kDouble,
        at::kComplexFloat, at::kComplexDouble}) {
    arrays.emplace_back(at::toString(type), at::arange(6).reshape({2, 3}).to(type));
  }
  arrays.emplace_back("empty", at::empty({0, 3}));
  write_npz(folder / "a.npz", arrays);
  const NpzFile file(folder / "a.npz");
  EXPECT_EQ(file.names().size(), arrays.size());
  for (const auto& [name, expected] : arrays) {
    const at::Tensor found = file.read(name).values;
    EXPECT_EQ(found.scalar_type(), expected.scalar_type()) << name;
    EXPECT_TRUE(at::equal(found, expected)) << name;
  }
}

TEST(Npz, TheSameArraysGiveTheSameBytes) {
  const TestFolder folder;
  write_npz(folder / "a.npz", small_arrays());
  write_npz(folder / "b.npz", small_arrays());
  EXPECT_EQ(read_bytes(folder / "a.npz"), read_bytes(folder / "b.npz"));
}

TEST(Npz, SaysWhatIsThereAndWhatItLookedFor) {
  const TestFolder folder;
  write_npz(folder / "a.npz", {{"apple", at::ones({2})}, {"pear", at::ones({2})}});
  const NpzFile file(folder / "a.npz");
  const std::string message = refusal([&] { file.first_of({"diffraction", "diff3d"}); });
  for (const char* part : {"diffraction, diff3d", "apple, pear"}) {
    EXPECT_TRUE(contains(message, part)) << message;
  }
}

TEST(Npz, RefusesATruncatedArchiveAtEveryLength) {
  const TestFolder folder;
  write_npz(folder / "a.npz", small_arrays());
  const std::string whole = read_bytes(folder / "a.npz");
  for (std::size_t length = 0; length < whole.size(); length += 29) {
    write_raw(folder / "cut.npz", whole.substr(0, length));
    EXPECT_THROW(NpzFile(folder / "cut.npz").read("diffraction"), InvalidInput) << length;
  }
}

TEST(Npz, ADamagedByteGivesTheRightArrayOrAnError) {
  const TestFolder folder;
  write_npz(folder / "a.npz", small_arrays());
  const std::string whole = read_bytes(folder / "a.npz");
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); i += 5) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_raw(folder / "damaged.npz", damaged);
    try {
      EXPECT_TRUE(
          at::equal(NpzFile(folder / "damaged.npz").read("diffraction").values, small_counts()))
          << i;
    } catch (const InvalidInput&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Npz, RefusesASizeThatItsCompressedBytesCannotHold) {
  const TestFolder folder;
  write_npz(folder / "a.npz", {{"x", at::zeros({50})}});
  std::string bytes = read_bytes(folder / "a.npz");
  const std::size_t directory = bytes.rfind("PK\x01\x02");
  bytes.replace(directory + 24, 4, "\xf0\xff\xff\x7f");  // uncompressed size: 2 GB
  write_raw(folder / "lie.npz", bytes);
  EXPECT_THROW(NpzFile(folder / "lie.npz").read("x"), InvalidInput);
}

}  // namespace
}  // namespace ptyche
