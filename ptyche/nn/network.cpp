#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>

#include "ptyche/nn/patch_network.h"
#include "ptyche/nn/ptychopinn_network.h"
#include "ptyche/nn/supervised_network.h"
#include "ptyche/nn/unet.h"

namespace ptyche {
namespace {

/// Every network that there is; add a line to add one.
constexpr std::array kRegistry{
    network_entry<UNet>("unet"),
    network_entry<PtychoPinnNetwork>("ptychopinn"),
    network_entry<SupervisedNetwork>("supervised"),
};

const NetworkEntry& entry_of(const std::string& name) {
  for (const NetworkEntry& known : kRegistry)
    if (name == known.name) return known;
  throw InvalidInput(
      fmt::format("network: expected one of {}, found {}", fmt::join(network_names(), ", "), name));
}

/// "unet: ours; ..." for the help.
std::string summaries() {
  std::string text;
  for (const NetworkEntry& known : kRegistry)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", known.name, known.traits.summary);
  return text;
}

bool has_field(const NetworkEntry& network, const std::string& name) {
  NetworkOptions any;
  const std::vector<Field> own = network.own_fields(any);
  return find_field(own, name) != nullptr;
}

/// The networks that have an option, "a, b"; empty for none.
std::string owners(const std::string& name) {
  std::vector<std::string> names;
  for (const NetworkEntry& network : kRegistry)
    if (has_field(network, name)) names.emplace_back(network.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

at::Tensor PatchNetwork::maps(const at::Tensor&) {
  assert(!"only supervised networks have maps");
  return {};
}

std::string PatchNetwork::add_to(OnnxGraph&, const std::string&, std::int64_t) const {
  throw InvalidInput(
      "ONNX is written of the network unet alone; safetensors has the weights of every network");
}

std::vector<std::string> network_names() {
  std::vector<std::string> names;
  for (const NetworkEntry& known : kRegistry) names.emplace_back(known.name);
  return names;
}

std::vector<Field> fields(NetworkOptions& options) {
  std::vector<Field> all = {
      {.name = "network",
       .target = &options.name,
       .help = summaries(),
       .choices = network_names(),
       .record_name = "name"},
      {.name = "channels", .target = &options.channels, .range = {1, 1e4}, .internal = true},
      {.name = "pattern-size",
       .target = &options.pattern_size,
       .range = {0, 1e6},
       .internal = true}};
  for (const NetworkEntry& network : kRegistry)
    for (Field& field : network.own_fields(options))
      if (!find_field(all, field.name)) all.push_back(std::move(field));
  return all;
}

NetworkTraits traits_of(const NetworkOptions& options) { return entry_of(options.name).traits; }

void require_own_options(const NetworkOptions& options) {
  NetworkOptions asked = options, defaults;
  const NetworkEntry& network = entry_of(options.name);
  for (const std::string& name : given(fields(asked), fields(defaults)))
    require(name == "network" || has_field(network, name),
            "--{}: it is an option of the networks {}, not of {} (--network names one)", name,
            owners(name), options.name);
}

NetworkOptions completed(const NetworkOptions& asked, std::int64_t pattern_size,
                         const StemOptions& stem) {
  NetworkOptions options = asked;
  options.pattern_size = pattern_size;
  return entry_of(asked.name).completed(std::move(options), stem);
}

std::int64_t required_multiple(const NetworkOptions& options) {
  return entry_of(options.name).required_multiple(options);
}

std::shared_ptr<PatchNetwork> make_network(const NetworkOptions& options, std::uint64_t seed) {
  const NetworkEntry& found = entry_of(options.name);
  found.check(options);
  auto network = found.make(options);
  found.draw_weights(*network, seed);
  network->to(at::kFloat);
  for (at::Tensor& parameter : network->parameters())
    if (parameter.dim() == 4)
      parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
  return network;
}

void move_network(PatchNetwork& network, at::Device device) {
  for (const at::Tensor& parameter : network.parameters()) {
    if (parameter.device() == device) continue;
    // What Module::to does, which refuses devices beyond LibTorch's own list.
    const at::Tensor there = parameter.detach().to(device);
    c10::TensorImpl& own = *parameter.unsafeGetTensorImpl();
    own._change_backend_component_keys(device);
    own.set_storage_keep_dtype(there.storage());
    own.set_sizes_and_strides(there.sizes(), there.strides(), there.storage_offset());
  }
}

}  // namespace ptyche
