#include "ptyche/storage/numpy.h"

#include "tests/io/scan_files.h"

namespace ptyche {
namespace {

/// A .npy stream as NumPy writes it.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  std::string text = dictionary;
  const std::size_t start = version == 1 ? 10 : 12;
  text.append((64 - (start + text.size() + 1) % 64) % 64, ' ').append("\n");
  std::string header = "\x93NUMPY";
  header +=
      {version, '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  if (version > 1) header += std::string(2, '\0');
  return header + text + data;
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                     fortran ? "True" : "False", shape);
}

FileArray read(const std::string& bytes) {
  std::size_t at = 0;
  const ByteSource source = [&](char* to, std::int64_t count) {
    const auto wanted = static_cast<std::size_t>(count);
    require(at + wanted <= bytes.size(), "truncated at {}", at);
    bytes.copy(to, wanted, at);
    at += wanted;
  };
  return read_npy(source, static_cast<std::int64_t>(bytes.size()));
}

TEST(Npy, ReadsBothByteOrders) {
  const std::string big("\x01\x02\xff\xfe", 4), little("\x02\x01\xfe\xff", 4);
  const at::Tensor expected = at::tensor({258, -2}).to(at::kShort);
  EXPECT_TRUE(at::equal(read(npy(dictionary(">i2", "(2,)"), big)).values, expected));
  EXPECT_TRUE(at::equal(read(npy(dictionary("<i2", "(2,)"), little)).values, expected));
}

TEST(Npy, SwapsTheTwoPartsOfAComplexNumberEach) {
  const std::string one_minus_two_i("\x3f\x80\x00\x00\xc0\x00\x00\x00", 8);
  const at::Tensor value = read(npy(dictionary(">c8", "(1,)"), one_minus_two_i)).values;
  EXPECT_EQ(at::real(value).item<float>(), 1);
  EXPECT_EQ(at::imag(value).item<float>(), -2);
}

TEST(Npy, NumbersOfTwoBytesAreReadAsFloat32) {
  const std::string little("\x00\x3e\x00\xc0\xff\x7b", 6);  // 1.5, -2, the largest
  const at::Tensor found = read(npy(dictionary("<f2", "(3,)"), little)).values;
  EXPECT_TRUE(at::equal(found, at::tensor({1.5F, -2.0F, 65504.0F})));
}

TEST(Npy, FortranOrderRunsDownTheColumns) {
  const at::Tensor array = read(npy(dictionary("|u1", "(2, 3)", true), "\1\2\3\4\5\6")).values;
  EXPECT_TRUE(at::equal(array, at::tensor({1, 3, 5, 2, 4, 6}).to(at::kByte).reshape({2, 3})));
}

TEST(Npy, KeepsUnsignedValuesAboveTheSignedRange) {
  const FileArray two = read(npy(dictionary("<u2", "(2,)"), std::string("\xff\xff\x01\x00", 4)));
  EXPECT_TRUE(at::equal(two.values, at::tensor({65535, 1}).to(at::kInt)));
  EXPECT_EQ(two.ceiling, 65535);
  const FileArray four = read(npy(dictionary("<u4", "(1,)"), "\xfe\xff\xff\xff"));
  EXPECT_EQ(four.values.item<std::int64_t>(), 4294967294);
  EXPECT_EQ(four.ceiling, 4294967295.0);
}

TEST(Npy, ReadsVersionsOneToThreeAndSingleNumbers) {
  for (const char version : {1, 2, 3}) {
    const FileArray number = read(npy(dictionary("|u1", "()"), "\7", version));
    EXPECT_EQ(number.values.dim(), 0);
    EXPECT_EQ(number.values.item<int>(), 7);
  }
}

TEST(Npy, AnyNonzeroByteOfABoolIsTrue) {
  const at::Tensor flags = read(npy(dictionary("|b1", "(3,)"), std::string("\0\1\2", 3))).values;
  EXPECT_TRUE(at::equal(flags, at::tensor({0, 1, 1}).to(at::kBool)));
}

TEST(Npy, WritesTheHeaderThatNumPyWrites) {
  // numpy.save of np.zeros(3, "f4"): 128 bytes before the data, the last a line feed.
  const std::string header = npy_header(at::zeros({3}));
  const std::string start(
      "\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, "
      "'shape': (3,), }",
      67);
  EXPECT_EQ(header.substr(0, start.size()), start);
  EXPECT_EQ(header.size(), 128u);
  EXPECT_EQ(header.back(), '\n');
}

TEST(Npy, RefusesWhatItCannotHold) {
  const std::vector<std::pair<std::string, std::string>> table = {
      {npy(dictionary("|O", "(1,)"), "pickled!"), "Python objects"},
      {npy(dictionary("<U3", "(1,)"), std::string(12, 'x')), "type <U3"},
      {npy(dictionary("|S3", "(1,)"), "abc"), "type |S3"},
      {npy(dictionary("<f3", "(1,)"), "abc"), "type <f3"},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd"), "descr"},
      {npy(dictionary("<f4", "(2,)"), "abcd"), "expected 8 bytes"},
      {npy(dictionary("<f4", "(-1,)"), "abcd"), "(-1,)"},
      {npy(dictionary("<f4", "(99999999999999999999,)"), "abcd"), "99999999999999999999"},
      {npy(dictionary("<f4", "(4000000000, 4000000000, 4000000000)"), "abcd"), "memory"},
      {npy(dictionary("<f4", "(1,)"), "abcd", 9), "version 1 to 3, found 9"},
      {std::string("\x93NUMPY\x02\x00\xff\xff\xff\x7f", 12) + "{", "at most 10000 bytes"},
      {"not a numpy file at all", "expected a NumPy array"},
      {"\x93NUM", "truncated"},
  };
  for (const auto& [bytes, part] : table) {
    const std::string message = message_of([&, &bytes = bytes] { read(bytes); });
    EXPECT_TRUE(contains(message, part)) << "expected " << part << " in: " << message;
  }
}

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
  const std::string message = message_of([&] { file.first_of({"diffraction", "diff3d"}); });
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
