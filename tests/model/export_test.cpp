#include "ptyche/model/export.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "ptyche/core/files.h"
#include "ptyche/model/shipped_model.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/physics/forward_model.h"
#include "ptyche/storage/numpy.h"
#include "tests/support/refusal.h"
#include "tests/support/run_program.h"
#include "tests/support/shared.h"
#include "tests/support/small_scan.h"
#include "tests/support/test_folder.h"

namespace ptyche {
namespace {

constexpr int kNotThere = 77;  // NumPy or onnxruntime

void write_npy(const std::filesystem::path& file, const at::Tensor& values) {
  const at::Tensor plain = values.contiguous();
  write_text(file, npy_header(plain) +
                       std::string(static_cast<const char*>(plain.data_ptr()), plain.nbytes()));
}

/// A scan of which some pixels are masked, its counts where they are masked far off.
Scan masked_scan() {
  ScanFields fields = small_scan().fields();
  fields.mask = at::ones({16, 16}, at::kBool);
  fields.mask.narrow(0, 3, 2).fill_(false);
  fields.counts = fields.counts.clone();
  fields.counts.narrow(1, 3, 2).fill_(4e9);
  return Scan(std::move(fields));
}

/// Weights unlike those at the start, where blocks and head are zero: all of the network counts.
Model changed(Model model) {
  const at::NoGradGuard no_grad;
  std::int64_t seed = 0;
  for (at::Tensor& weight : model.network->parameters())
    weight.add_(0.2 * at::sin(at::arange(weight.numel()) * 1.7 + static_cast<double>(++seed))
                          .view(weight.sizes()));
  return model;
}

/// Writes the graph, inputs for five patterns, and the patches that the program makes of them.
void write_case(const TestFolder& folder, const Model& model, const Scan& scan) {
  const at::NoGradGuard no_grad;
  const at::Tensor frames = at::arange(2, 7, at::kLong);
  const at::Tensor patches = patches_of(model, scan, frames, input_channels(model, scan, frames));
  write_onnx(folder / "graph.onnx", model, scan.pattern_size());
  write_npy(folder / "expected.npy", at::view_as_real(patches.contiguous()));
  write_npy(folder / "counts.npy", to_centred(counts_in_fft_order(scan, frames)));
  write_npy(folder / "fractions.npy", position_fractions(scan, frames).to(at::kFloat));
  if (scan.mask().defined()) write_npy(folder / "mask.npy", scan.mask());
  if (!model.any_scan) return;
  write_npy(folder / "probe.npy", at::view_as_real(model.stem_probe.contiguous()));
  write_npy(folder / "input_scale.npy", at::scalar_tensor(model.input_scale, at::kFloat));
}

int check(const std::string& python, const TestFolder& folder, const std::string& option = "") {
  const std::string words = fmt::format("'{}' '{}/tests/model/onnx_check.py' '{}' {}", python,
                                        source_folder().string(), folder.path().string(), option);
  return WEXITSTATUS(std::system(words.c_str()));
}

struct OnnxCase {
  std::string name;
  Model model;
  Scan scan;
};

std::vector<OnnxCase> onnx_cases() {
  const Scan scan = small_scan(), masked = masked_scan();
  const at::Tensor two_modes =
      at::cat({scan.probe(), 0.4 * scan.probe().roll({2, 3}, {1, 2})}).contiguous();
  const NetworkOptions network{.widths = {8, 16}, .stride = 2};
  return {
      {"one scan, masked", changed(new_model(masked, two_modes, network, {}, 1)), masked},
      {"an edge to be continued",
       changed(new_model(scan, scan.probe(), {.widths = {8, 16, 24}, .stride = 3}, {}, 1)), scan},
      {"any scan", model_for(scan, shipped_model()), scan}};
}

TEST(Onnx, GraphComputedByNumPyAloneGivesTheProgramsPatches) {
  for (const OnnxCase& each : onnx_cases()) {
    const TestFolder folder;
    write_case(folder, each.model, each.scan);
    const int code = check(python_program(), folder);
    if (code == kNotThere) GTEST_SKIP() << "NumPy is not there";
    EXPECT_EQ(code, 0) << each.name;
  }
}

TEST(Onnx, OnnxruntimeGivesTheProgramsPatchesWhereAPythonThatHasItIsNamed) {
  const char* python = std::getenv("PTYCHE_ONNXRUNTIME_PYTHON");
  if (!python) GTEST_SKIP() << "PTYCHE_ONNXRUNTIME_PYTHON names no Python that has onnxruntime";
  for (const OnnxCase& each : onnx_cases()) {
    const TestFolder folder;
    write_case(folder, each.model, each.scan);
    EXPECT_EQ(check(python, folder, "--onnxruntime"), 0) << each.name;
  }
}

TEST(Onnx, NamesTheNetworkThatHasNoGraph) {
  const Scan scan = small_scan();
  const Model model = new_model(scan, scan.probe(), {.name = "supervised"}, {}, 1);
  const TestFolder folder;
  const std::string refusal = message_of([&] { write_onnx(folder / "a.onnx", model); });
  EXPECT_NE(refusal.find("network supervised: ONNX is written of the network unet alone"),
            std::string::npos)
      << refusal;
  EXPECT_FALSE(std::filesystem::exists(folder / "a.onnx"));
}

TEST(Onnx, OfAModelOfOneScanHasItsPatternSizeAlone) {
  const Scan scan = small_scan();
  const Model model = new_model(scan, scan.probe(), {.widths = {8, 16}}, {}, 1);
  const TestFolder folder;
  const std::string refusal = message_of([&] { write_onnx(folder / "a.onnx", model, 32); });
  EXPECT_NE(refusal.find("expected 16"), std::string::npos) << refusal;
}

/// A file as its format says: a length, a header, numbers.
struct Tensors {
  nlohmann::json header;
  std::string numbers;

  at::Tensor at_name(const std::string& name) const {
    const auto& entry = header.at(name);
    const std::vector<std::int64_t> shape = entry.at("shape");
    at::Tensor values = at::empty(shape, at::kFloat);
    const std::size_t first = entry.at("data_offsets")[0], end = entry.at("data_offsets")[1];
    EXPECT_EQ(end - first, values.nbytes());
    std::memcpy(values.data_ptr(), numbers.data() + first, values.nbytes());
    return values;
  }
};

Tensors read_tensors(const std::filesystem::path& file) {
  static_assert(std::endian::native == std::endian::little);
  const std::string bytes = read_bytes(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  return {nlohmann::json::parse(bytes.substr(8, length)), bytes.substr(8 + length)};
}

TEST(Safetensors, HoldEveryWeightOfEveryNetworkAndTheProbe) {
  const Scan scan = small_scan();
  for (const char* name : {"unet", "supervised"}) {
    const Model model = new_model(scan, scan.probe(), {.name = name, .widths = {8, 16}}, {}, 3);
    const TestFolder folder;
    write_safetensors(folder / "a.safetensors", model);
    const Tensors read = read_tensors(folder / "a.safetensors");
    for (const auto& weight : model.network->named_parameters())
      EXPECT_TRUE(at::equal(read.at_name(weight.key()), weight.value().detach())) << weight.key();
    EXPECT_TRUE(at::equal(at::view_as_complex(read.at_name("probe")), model.probe));
    EXPECT_FALSE(read.header.contains("background"));
    std::size_t most = 0;
    for (const auto& [key, entry] : read.header.items())
      if (key != "__metadata__") most = std::max<std::size_t>(most, entry.at("data_offsets")[1]);
    EXPECT_EQ(most, read.numbers.size());
  }
}

TEST(Safetensors, SayHowTheModelWasTrained) {
  const Scan scan = small_scan();
  Model model = new_model(scan, scan.probe(), {.widths = {8, 16}}, {}, 3);
  model.training = {{"loss", "poisson"}, {"group-size", "32"}, {"groups", "drawn in every epoch"}};
  model.history.resize(7);
  const TestFolder folder;
  write_safetensors(folder / "a.safetensors", model);
  const nlohmann::json facts = read_tensors(folder / "a.safetensors").header.at("__metadata__");
  EXPECT_EQ(facts.at("loss"), "poisson");
  EXPECT_EQ(facts.at("group-size"), "32");
  EXPECT_EQ(facts.at("epochs"), "7");
  EXPECT_EQ(nlohmann::json::parse(facts.at("network").get<std::string>()).at("name"), "unet");
  for (const auto& [key, value] : facts.items()) EXPECT_TRUE(value.is_string()) << key;
}

TEST(Safetensors, OfTheProgramsNetworkHaveNoProbe) {
  const TestFolder folder;
  write_safetensors(folder / "a.safetensors", shipped_model());
  const Tensors read = read_tensors(folder / "a.safetensors");
  EXPECT_FALSE(read.header.contains("probe"));
  EXPECT_TRUE(read.header.contains("entry.weight"));
}

}  // namespace
}  // namespace ptyche
