// Model files with something in them that no training leaves.
#include <gtest/gtest.h>

#include "ptyche/core/files.h"
#include "ptyche/model/model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/storage/hdf5.h"
#include "tests/support/checks.h"
#include "tests/support/refusal.h"
#include "tests/support/rewritten.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

class DamagedModel : public testing::Test {
 protected:
  void SetUp() override {
    Model model;
    model.network_options = completed({.name = "unet", .widths = {8, 16}}, 32, model.stem_options);
    model.network = make_network(model.network_options, 3);
    model.stem_probe = model.probe = random_tensor({1, 32, 32}, at::kComplexFloat, 1);
    model.history = {{1, 0.5, 0.1, 0.1, 0.001}};
    write_model(file_, model);
    bytes_ = read_bytes(file_);
  }

  /// What is said of the model with this dataset in place of its own.
  std::string with(const std::string& name, const at::Tensor& values) {
    write_text(file_, bytes_);
    rewrite(file_, {{"ptyche_model/" + name, values}});
    return message_of([&] { read_model(file_); });
  }
  std::string with_options(const std::string& from, const std::string& to) {
    write_text(file_, bytes_);
    std::string text = Hdf5File::open(file_).text("ptyche_model", "options").value();
    EXPECT_NE(text.find(from), std::string::npos) << text;
    rewrite_text(file_, "ptyche_model", "options", text.replace(text.find(from), from.size(), to));
    return message_of([&] { read_model(file_); });
  }
  /// How often the model is read after 1 to 16 of its bytes were damaged.
  int read_after_damage(std::uint64_t times) const {
    int read = 0;
    for (std::uint64_t seed = 0; seed < times; ++seed) {
      write_text(file_, bytes_);
      damage(file_, seed);
      read += message_of([&] { read_model(file_); }).empty() ? 1 : 0;
    }
    return read;
  }
  std::string a_weight() const {
    for (const std::string& path : Hdf5File::open(file_).datasets())
      if (path.find("/weights/") != std::string::npos) return path.substr(13);
    return "";
  }

  const TestFolder folder_;
  const std::filesystem::path file_ = folder_ / "model.ptyche";
  std::string bytes_;
};

TEST_F(DamagedModel, IsRefusedByFileAndDataset) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string weight = a_weight();
  const at::Tensor right = Hdf5File::open(file_).read("ptyche_model/" + weight).values;
  const struct {
    std::string name;
    at::Tensor values;
    std::string said;
  } cases[] = {
      {"history", at::ones({1, 2}, at::kDouble), "history: expected (n, 5) float64"},
      {"history", at::ones({1, 5}), "history: expected (n, 5) float64"},
      {"history", at::full({1, 5}, -1.0, at::kDouble), "history: epoch: expected a whole number"},
      {weight, at::full_like(right, nan), "expected numbers from"},
      {weight, right.unsqueeze(0).contiguous(), "expected ("},
      {weight, right.to(at::kDouble), "float32, found"},
      {weight, at::Tensor(), "expected a dataset of this name"},
      {"probe", at::zeros({1, 32, 32}, at::kComplexFloat), "probe: expected light"},
      {"probe", at::ones({1, 32, 16}, at::kComplexFloat), "probe: expected (modes, N, N)"},
      {"probe", at::ones({1, 64, 64}, at::kComplexFloat), "stem_probe: expected (n, 64, 64)"},
      {"stem_probe", at::ones({32, 32}, at::kComplexFloat), "stem_probe: expected (n, 32, 32)"},
      {"background", at::full({32, 32}, -1.0f), "background: expected numbers from 0"},
      {"moves", at::full({4, 2}, 1e4, at::kDouble), "moves: expected numbers from -32 to 32"},
  };
  for (const auto& [name, values, said] : cases) {
    const std::string message = with(name, values);
    EXPECT_NE(message.find("model.ptyche: ptyche_model/"), std::string::npos) << name << message;
    EXPECT_NE(message.find(said), std::string::npos) << message;
  }
}

TEST_F(DamagedModel, WithOptionsOfNoNetworkIsRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"\"seed\":1", "\"seed\":-1"},
      {"\"seed\":1", "\"seed\":1e300"},
      {"\"seed\":1", "\"seed\":" + std::string(100000, '[')},
      {"\"widths\":[8,16]", "\"widths\":[4096,4096]"},
      {"\"widths\":[8,16]", "\"widths\":[]"},
      {"\"channels\":6", "\"channels\":9999"},
      {"\"input_scale\":1.0", "\"input_scale\":-1.0"},
      {"\"name\":\"unet\"", "\"name\":\"none\""},
      {"\"stride\":1", "\"stride\":1024"},
      {"\"blocks\":1", "\"blocks\":64"},
  };
  for (const auto& [from, to] : cases) {
    const std::string message = with_options(from, to);
    EXPECT_EQ(message.find((folder_ / "model.ptyche: ").string()), 0u) << to << ": " << message;
  }
}

TEST_F(DamagedModel, IsFoundByItsSealAtAnyByte) { EXPECT_EQ(read_after_damage(100), 0); }

using DamagedModelSlow = DamagedModel;

TEST_F(DamagedModelSlow, IsFoundByItsSealTwoThousandTimes) {
  EXPECT_EQ(read_after_damage(2000), 0);
}

TEST_F(DamagedModel, ThatCouldNotBeReadIsNotWritten) {
  Model model = read_model(file_);
  model.probe = model.probe * std::numeric_limits<float>::infinity();
  EXPECT_NE(message_of([&] { write_model(folder_ / "other", model); }).find("probe: expected"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "other"));
}

}  // namespace
}  // namespace ptyche
