#include "ptyche/model/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/engine/single_pattern.h"
#include "ptyche/nn/patch_network.h"
#include "ptyche/storage/onnx.h"

namespace ptyche {
namespace {

using Name = std::string;
using Facts = std::vector<std::pair<std::string, std::string>>;

struct ComplexName {
  Name real, imaginary;
};

/// How the model came about, for the metadata of both formats.
Facts facts_of(Model model) {
  Facts facts = {{"version", version()},
                 {"network", to_json(fields(model.network_options)).dump()},
                 {"stem", to_json(fields(model.stem_options)).dump()},
                 {"recipe", choice(model.recipe, recipe_names()).get()},
                 {"any_scan", model.any_scan ? "true" : "false"},
                 {"input_scale", fmt::format("{:.9g}", model.input_scale)},
                 {"photons", fmt::format("{:.9g}", model.photons)},
                 {"epochs", fmt::format("{}", model.history.size())},
                 {"seed", fmt::format("{}", model.seed)}};
  for (const auto& [name, value] : model.training)
    if (name == "loss" || name == "groups" || name == "group-size" || name == "merged")
      facts.emplace_back(name, value);
  nlohmann::json training = nlohmann::json::object();
  for (const auto& [name, value] : model.training) training[name] = value;
  facts.emplace_back("training", training.dump());
  return facts;
}

/// The physics stem as a graph: what `physics_stem` of nn/ and the reference engine compute, with
/// the transforms as products with their matrices, as not every runtime has a Fourier transform.
class StemGraph {
 public:
  StemGraph(OnnxGraph& graph, const Model& model, std::int64_t size)
      : graph_(graph), options_(model.stem_options), size_(size) {
    add_inputs(model);
    const at::Tensor pixel = at::arange(size, at::kDouble), frequency = (pixel - size / 2) / size;
    const at::Tensor angle = -2 * M_PI * frequency.unsqueeze(1) * pixel;
    const double unitary = 1 / std::sqrt(static_cast<double>(size));
    frequencies_ = graph.constant(frequency.to(at::kFloat));
    matrix_ = pair(angle.cos() * unitary, angle.sin() * unitary);
    transposed_ = pair(angle.cos().t() * unitary, angle.sin().t() * unitary);
    adjoint_ = pair(angle.cos().t() * unitary, -angle.sin().t() * unitary);
    adjoint_transposed_ = pair(angle.cos() * unitary, -angle.sin() * unitary);
  }

  /// (k, channels, N, N)
  Name channels() {
    const Name counted = graph_.add("Where", {"mask", "counts", number(0)});
    amplitudes_ = graph_.add("Sqrt", {counted});
    const ComplexName probes = moved_probes();
    const Name power = sum(power_of(probes), 1);
    const Name peak = largest(power);
    std::vector<Name> all = images(probes, power, peak);
    all.push_back(graph_.add("Sqrt", {divide(power, peak)}));
    all.push_back(multiply(amplitudes_, "input_scale"));
    if (options_.optics) add_optics(probes, counted, all);
    for (Name& channel : all) channel = unsqueeze(channel, {1});
    return graph_.add("Concat", all, {{"axis", std::int64_t{1}}});
  }

 private:
  void add_inputs(const Model& model) {
    const at::Tensor probe = model.any_scan ? at::Tensor() : at::view_as_real(model.stem_probe);
    const OnnxLength modes =
        probe.defined() ? OnnxLength{probe.size(0)} : OnnxLength{std::string("modes")};
    const std::string batch = "batch";
    graph_.input("counts", at::kFloat, {batch, size_, size_},
                 "photon counts, zero frequency at [N/2, N/2]");
    graph_.input("fractions", at::kFloat, {batch, std::int64_t{2}},
                 "(row, column) of each position less its nearest whole pixel, object pixels");
    graph_.input("mask", at::kBool, {size_, size_}, "true = counted",
                 at::ones({size_, size_}, at::kBool));
    graph_.input("probe", at::kFloat, {modes, size_, size_, std::int64_t{2}},
                 "real and imaginary part, sqrt(photon): its power is the photons of a pattern",
                 probe);
    graph_.input("input_scale", at::kFloat, {},
                 "1 / root mean square of sqrt(counts) over all patterns of the scan",
                 model.any_scan ? at::Tensor() : at::scalar_tensor(model.input_scale, at::kFloat));
  }

  ComplexName pair(const at::Tensor& real, const at::Tensor& imaginary) {
    return {graph_.constant(real.to(at::kFloat)), graph_.constant(imaginary.to(at::kFloat))};
  }
  Name number(double value) { return graph_.constant(at::scalar_tensor(value, at::kFloat)); }
  Name whole(const std::vector<std::int64_t>& values) {
    return graph_.constant(at::tensor(values, at::kLong));
  }
  Name multiply(const Name& a, const Name& b) { return graph_.add("Mul", {a, b}); }
  Name divide(const Name& a, const Name& b) { return graph_.add("Div", {a, b}); }
  Name plus(const Name& a, const Name& b) { return graph_.add("Add", {a, b}); }
  Name minus(const Name& a, const Name& b) { return graph_.add("Sub", {a, b}); }
  Name unsqueeze(const Name& x, const std::vector<std::int64_t>& axes) {
    return graph_.add("Unsqueeze", {x, whole(axes)});
  }
  Name sum(const Name& x, std::int64_t axis) {
    return graph_.add("ReduceSum", {x, whole({axis})}, {{"keepdims", std::int64_t{0}}});
  }
  Name sum_over_pixels(const Name& x) { return graph_.add("ReduceSum", {x, whole({1, 2})}); }
  Name largest(const Name& x) {
    return graph_.add("ReduceMax", {x}, {{"axes", std::vector<std::int64_t>{1, 2}}});
  }
  Name at_least(const Name& x, double least) { return graph_.add("Max", {x, number(least)}); }
  Name power_of(const ComplexName& x) {
    return plus(multiply(x.real, x.real), multiply(x.imaginary, x.imaginary));
  }
  ComplexName product(const ComplexName& a, const ComplexName& b, const std::string& operation) {
    const auto of = [&](const Name& x, const Name& y) { return graph_.add(operation, {x, y}); };
    return {minus(of(a.real, b.real), of(a.imaginary, b.imaginary)),
            plus(of(a.real, b.imaginary), of(a.imaginary, b.real))};
  }
  ComplexName transformed(const ComplexName& x) {
    return product(product(matrix_, x, "MatMul"), transposed_, "MatMul");
  }
  ComplexName transformed_back(const ComplexName& x) {
    return product(product(adjoint_, x, "MatMul"), adjoint_transposed_, "MatMul");
  }

  /// The probe moved by each position's fraction, (k, modes, N, N) each.
  ComplexName moved_probes() {
    const auto part = [&](std::int64_t which) {
      return graph_.add("Gather", {"probe", graph_.constant(at::scalar_tensor(which, at::kLong))},
                        {{"axis", std::int64_t{3}}});
    };
    const auto angles = [&](std::int64_t axis) {
      const Name shift =
          graph_.add("Gather", {"fractions", whole({axis})}, {{"axis", std::int64_t{1}}});
      return multiply(multiply(shift, frequencies_), number(-2 * M_PI));
    };
    const Name angle = plus(unsqueeze(angles(0), {1, 3}), unsqueeze(angles(1), {1, 2}));
    const ComplexName factors = {graph_.add("Cos", {angle}), graph_.add("Sin", {angle})};
    return transformed_back(product(transformed({part(0), part(1)}), factors, "Mul"));
  }

  /// Re, Im of O - 1 after each of the stem's steps, (k, N, N) each.
  std::vector<Name> images(const ComplexName& probes, const Name& power, const Name& peak) {
    const double alpha = options_.regularisation;
    const Name damped =
        unsqueeze(plus(multiply(power, number(1 - alpha)), multiply(peak, number(alpha))), {1});
    const ComplexName step = {divide(probes.real, damped),
                              divide(graph_.add("Neg", {probes.imaginary}), damped)};
    const Name none = multiply(power, number(0));
    ComplexName object = {plus(none, number(1)), none};
    std::vector<Name> taken;
    for (std::int64_t done = 1; done <= options_.steps.back(); ++done) {
      object = next_object(probes, step, object);
      if (done != options_.steps[taken.size() / 2]) continue;
      taken.push_back(minus(object.real, number(1)));
      taken.push_back(object.imaginary);
    }
    return taken;
  }

  ComplexName next_object(const ComplexName& probes, const ComplexName& step,
                          const ComplexName& object) {
    const ComplexName shared = {unsqueeze(object.real, {1}), unsqueeze(object.imaginary, {1})};
    const ComplexName waves = transformed(product(probes, shared, "Mul"));
    const Name modelled = graph_.add("Sqrt", {sum(power_of(waves), 1)});
    const Name missing = graph_.add("Where", {"mask", minus(amplitudes_, modelled), number(0)});
    const Name excess =
        unsqueeze(divide(missing, plus(modelled, number(kSinglePatternFloor))), {1});
    const ComplexName back =
        transformed_back({multiply(waves.real, excess), multiply(waves.imaginary, excess)});
    const ComplexName change = product(step, back, "Mul");
    return {plus(object.real, sum(change.real, 1)),
            plus(object.imaginary, sum(change.imaginary, 1))};
  }

  /// optics_channels of nn/physics_stem.cpp.
  void add_optics(const ComplexName& probes, const Name& counted, std::vector<Name>& all) {
    const auto first_of = [&](const Name& x) {
      return graph_.add("Gather", {x, graph_.constant(at::scalar_tensor(0, at::kLong))},
                        {{"axis", std::int64_t{1}}});
    };
    const ComplexName first = {first_of(probes.real), first_of(probes.imaginary)};
    const Name power = power_of(first);
    const ComplexName mean = {sum_over_pixels(multiply(first.real, power)),
                              sum_over_pixels(multiply(first.imaginary, power))};
    const Name length = at_least(graph_.add("Sqrt", {power_of(mean)}), 1e-30);
    const ComplexName turn = {divide(mean.real, length),
                              graph_.add("Neg", {divide(mean.imaginary, length)})};
    const ComplexName turned = product(first, turn, "Mul");
    const Name peak = graph_.add("Sqrt", {largest(power)});
    all.push_back(divide(turned.real, peak));
    all.push_back(divide(turned.imaginary, peak));
    const Name photons = at_least(sum_over_pixels(counted), 1);
    const Name dose = plus(multiply(graph_.add("Log", {photons}), number(1 / (1.5 * M_LN10))),
                           number(-4.5 / 1.5));
    all.push_back(plus(dose, multiply(power, number(0))));
  }

  OnnxGraph& graph_;
  StemOptions options_;
  std::int64_t size_;
  Name frequencies_, amplitudes_;
  ComplexName matrix_, transposed_, adjoint_, adjoint_transposed_;
};

/// Real and imaginary part of the patches, (k, 2, N, N), for channels of any N: as
/// patches_of_any_size of model.cpp.
Name add_network(OnnxGraph& graph, const Model& model, const Name& channels, std::int64_t size) {
  const std::int64_t multiple = required_multiple(model.network_options);
  const std::int64_t more = (multiple - size % multiple) % multiple, before = more / 2;
  if (more == 0) return model.network->add_to(graph, channels, size);
  const auto whole = [&](const std::vector<std::int64_t>& values) {
    return graph.constant(at::tensor(values, at::kLong));
  };
  const std::int64_t after = more - before;
  const Name padded =
      graph.add("Pad", {channels, whole({0, 0, before, before, 0, 0, after, after})},
                {{"mode", std::string("edge")}});
  return graph.add("Slice",
                   {model.network->add_to(graph, padded, size + more), whole({before, before}),
                    whole({before + size, before + size}), whole({2, 3})});
}

constexpr const char* kOnnxHelp =
    "Patches of a ptychography scan, each from its own pattern. Inside: the probe's move by each "
    "position's fraction, the physics stem (rPIE steps on each pattern alone) and the network. "
    "Left "
    "to the caller: whole-pixel positions, the probe, stitching (a weighted mean with |probe|^2), "
    "a "
    "background.";

}  // namespace

void write_onnx(const std::filesystem::path& file, const Model& model, std::int64_t pattern_size) {
  const std::int64_t size = pattern_size > 0 ? pattern_size : model.pattern_size();
  require(size == model.pattern_size() || model.any_scan,
          "--pattern-size: expected {}, that of the scan which the model was trained on, found {}",
          model.pattern_size(), size);
  require(size % 2 == 0 && size >= 16 && size <= 1024,
          "--pattern-size: expected an even number from 16 to 1024, found {}", size);
  const at::NoGradGuard no_grad;
  OnnxGraph graph;
  const Name channels = StemGraph(graph, model, size).channels();
  const Name image = with_context("network " + model.network_options.name,
                                  [&] { return add_network(graph, model, channels, size); });
  const Name last =
      graph.add("Transpose", {image}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  graph.output("object", last, {std::string("batch"), size, size, std::int64_t{2}},
               "real and imaginary part of each patch, in whole object pixels");
  Facts facts = facts_of(model);
  facts.emplace_back("pattern_size", fmt::format("{}", size));
  facts.emplace_back("stem_floor", fmt::format("{:g}", kSinglePatternFloor));
  write_text(file, graph.file(kOnnxHelp, facts));
}

void write_safetensors(const std::filesystem::path& file, const Model& model) {
  std::vector<std::pair<std::string, at::Tensor>> arrays;
  for (const auto& parameter : model.network->named_parameters())
    arrays.emplace_back(parameter.key(), parameter.value().detach());
  if (!model.any_scan) {
    arrays.emplace_back("stem_probe", at::view_as_real(model.stem_probe));
    arrays.emplace_back("probe", at::view_as_real(model.probe));
    if (model.background.defined()) arrays.emplace_back("background", model.background);
  }
  nlohmann::ordered_json header;
  for (const auto& [name, value] : facts_of(model)) header["__metadata__"][name] = value;
  std::string bytes;
  for (const auto& [name, array] : arrays) {
    const at::Tensor plain = array.to(at::kFloat).contiguous();
    const std::size_t first = bytes.size();
    bytes.append(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
    header[name] = {
        {"dtype", "F32"}, {"shape", plain.sizes().vec()}, {"data_offsets", {first, bytes.size()}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // readers map the file: numbers at whole addresses
  std::string length;
  for (int byte = 0; byte < 8; ++byte)
    length += static_cast<char>(text.size() >> (8 * byte) & 0xff);
  write_text(file, length + text + bytes);
}

}  // namespace ptyche
