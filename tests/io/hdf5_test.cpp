#include "ptyche/storage/hdf5.h"

#include "ptyche/core/system_memory.h"
#include "tests/io/scan_files.h"
#include "tests/support/rewritten.h"

/// HDF5 1.10 loses 128 bytes of its own when it refuses a damaged file; leaks of ours still count.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace ptyche {
namespace {

TEST(Hdf5, GivesBackEveryTypeThatItWrote) {
  const TestFolder folder;
  const auto types = {at::kBool,  at::kByte,   at::kShort,        at::kInt,          at::kLong,
                      at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble};
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  for (const at::ScalarType type : types) {
    const at::Tensor array = at::arange(6).reshape({2, 3}).to(type);
    out.write(std::string("deep/er/") + at::toString(type), array);
    out.write(std::string("packed/") + at::toString(type), array, Hdf5File::Storage::deflated);
  }
  out.close();
  const Hdf5File in = Hdf5File::open(folder / "a.h5");
  for (const at::ScalarType type : types) {
    for (const std::string group : {"deep/er/", "packed/"}) {
      const at::Tensor array = in.read(group + at::toString(type)).values;
      EXPECT_EQ(array.scalar_type(), type);
      EXPECT_TRUE(at::equal(array, at::arange(6).reshape({2, 3}).to(type))) << group << type;
    }
  }
}

TEST(Hdf5, KeepsTextsNumbersAndEmptyArrays) {
  const TestFolder folder;
  const std::string text = "{\"angle\": \"5 \xc2\xb0\"}", long_text(100000, 'x');
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  out.make_group("g");
  out.set("g", "text", text);
  out.set("g", "long", long_text);
  out.set("/", "number", 0.1);
  out.set("/", "number", 0.2);  // replaces
  out.set("/", "whole", std::int64_t{7});
  out.write_text("g/text", long_text);
  out.write("g/empty", at::empty({0}, at::kDouble));
  out.close();
  const Hdf5File in = Hdf5File::open(folder / "a.h5");
  EXPECT_EQ(in.text("g", "text"), text);
  EXPECT_EQ(in.text("g", "long"), long_text);
  EXPECT_EQ(in.number("/", "number"), 0.2);
  EXPECT_EQ(in.number("/", "whole"), 7);
  EXPECT_EQ(text_dataset(folder / "a.h5", "g/text"), long_text);
  EXPECT_EQ(in.read("g/empty").values.numel(), 0);
  EXPECT_EQ(in.number("g", "absent"), std::nullopt);
  EXPECT_THROW(in.number("g", "text"), InvalidInput);
  EXPECT_THROW(in.text("/", "number"), InvalidInput);
  EXPECT_THROW(in.read("g/text"), InvalidInput);
}

TEST(Hdf5, HoldsNothingOfWhatItHasWritten) {
  const TestFolder folder;
  const at::Tensor array = at::ones({1 << 21});  // 8 MB
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  const double before = resident_bytes();
  for (int i = 0; i < 8; ++i) out.write("array" + std::to_string(i), array);
  out.close();
  EXPECT_LT(resident_bytes() - before, 16e6);
  EXPECT_TRUE(at::equal(Hdf5File::open(folder / "a.h5").read("array7").values, array));
}

TEST(Hdf5, OpenedToBeReadIsNotWrittenTo) {
  const TestFolder folder;
  Hdf5File::create(folder / "a.h5").close();
  Hdf5File in = Hdf5File::open(folder / "a.h5");
  EXPECT_THROW(in.write("array", at::ones({2})), InvalidInput);
}

TEST(Hdf5, KnowsWhatIsThere) {
  const TestFolder folder;
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  out.write("a/b", at::ones({2}));
  out.close();
  const Hdf5File in = Hdf5File::open(folder / "a.h5");
  EXPECT_TRUE(in.has("a/b"));
  EXPECT_TRUE(in.has("a"));
  EXPECT_FALSE(in.has("a/c"));
  EXPECT_FALSE(in.has("x/y/z"));
  EXPECT_EQ(in.datasets(), std::vector<std::string>{"a/b"});
  const std::string message = message_of([&] { in.read("x/y"); });
  EXPECT_TRUE(contains(message, "x/y: expected") && contains(message, "found a/b")) << message;
}

TEST(Hdf5, TheSameContentGivesTheSameBytes) {
  const TestFolder folder;
  for (const char* name : {"a.h5", "b.h5"}) {
    Hdf5File out = Hdf5File::create(folder / name);
    out.write("g/data", at::arange(100).reshape({10, 10}), Hdf5File::Storage::deflated);
    out.write_text("g/text", "text");
    out.close();
  }
  EXPECT_EQ(read_bytes(folder / "a.h5"), read_bytes(folder / "b.h5"));
}

TEST(Hdf5, ATruncatedOrDamagedFileIsRefusedAndNeverACrash) {
  const TestFolder folder;
  Hdf5File out = Hdf5File::create(folder / "a.h5");
  out.write("g/data", small_counts(), Hdf5File::Storage::deflated);
  out.close();
  remove_seal(folder / "a.h5");  // else that alone would refuse every damage
  const std::string whole = read_bytes(folder / "a.h5");
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); i += 61) {
    write_raw(folder / "cut.h5", whole.substr(0, i));
    EXPECT_THROW(Hdf5File::open(folder / "cut.h5").read("g/data"), InvalidInput) << i;
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    write_raw(folder / "damaged.h5", damaged);
    refused +=
        message_of([&] { Hdf5File::open(folder / "damaged.h5").read("g/data"); }).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace ptyche
