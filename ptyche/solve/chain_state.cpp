#include "ptyche/solve/chain_state.h"

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/data/fingerprint.h"

namespace ptyche {
namespace {

constexpr const char* kGroup = "chain";
constexpr const char* kSolver = "chain/solver";

void write_state(Hdf5File& file, const std::string& group, const SolverState& state) {
  file.write(group + "/object", state.object);
  file.write(group + "/probe", state.probe);
  file.write(group + "/moves", state.moves);
  file.write(group + "/origin", at::tensor({state.origin_row, state.origin_col}, at::kLong));
  if (state.background_root.defined())
    file.write(group + "/background_root", state.background_root);
}

SolverState read_state(const Hdf5File& file, const std::string& group) {
  const at::Tensor origin = file.read(group + "/origin").values;
  SolverState state{.object = file.read(group + "/object").values,
                    .probe = file.read(group + "/probe").values,
                    .background_root = {},
                    .moves = file.read(group + "/moves").values,
                    .origin_row = origin[0].item<std::int64_t>(),
                    .origin_col = origin[1].item<std::int64_t>()};
  if (file.has(group + "/background_root"))
    state.background_root = file.read(group + "/background_root").values;
  return state;
}

at::Tensor counters(const ChainState& chain) {
  return at::tensor(
      {static_cast<double>(chain.link), static_cast<double>(chain.epoch),
       static_cast<double>(chain.total), chain.best_loss, static_cast<double>(chain.has_best),
       static_cast<double>(chain.stretch), chain.seconds},
      at::kDouble);
}

/// One row per look: (looks, 5) float64.
at::Tensor table_of(const std::vector<SolverLook>& looks) {
  std::vector<double> numbers;
  for (const SolverLook& look : looks)
    numbers.insert(numbers.end(),
                   {static_cast<double>(look.epoch), look.seconds, look.loss_per_photon,
                    look.held_out_r_factor, look.held_out_deviance_per_photon});
  return at::tensor(numbers, at::kDouble).view({-1, 5});
}

std::vector<SolverLook> looks_from(const at::Tensor& table) {
  std::vector<SolverLook> looks;
  const auto* number = table.const_data_ptr<double>();
  for (std::int64_t row = 0; row < table.size(0); ++row, number += 5)
    looks.push_back(
        {static_cast<std::int64_t>(number[0]), number[1], number[2], number[3], number[4]});
  return looks;
}

ChainState read_content(const Hdf5File& file, const SolverProblem& problem) {
  ChainState chain;
  chain.state = read_state(file, "chain/state");
  const at::Tensor values = file.read("chain/counters").values;
  require(values.numel() == 7, "chain/counters: expected 7 numbers, found {}", values.numel());
  const auto* value = values.const_data_ptr<double>();
  chain.link = static_cast<std::size_t>(value[0]);
  chain.epoch = static_cast<std::int64_t>(value[1]);
  chain.total = static_cast<std::int64_t>(value[2]);
  chain.best_loss = value[3];
  chain.has_best = value[4] != 0;
  chain.stretch = static_cast<std::int64_t>(value[5]);
  chain.seconds = value[6];
  if (file.has("chain/looks")) chain.looks = looks_from(file.read("chain/looks").values);
  if (chain.has_best) chain.best = read_state(file, "chain/best");
  const at::Tensor losses = file.read("chain/losses").values;
  chain.losses.assign(losses.const_data_ptr<double>(),
                      losses.const_data_ptr<double>() + losses.numel());
  chain.solver = make_solver(problem.options.chain.at(chain.link).solver);
  chain.solver->load(file, kSolver);
  return chain;
}

}  // namespace

std::string chain_key(const SolverProblem& problem, const std::optional<Reconstruction>& start) {
  const SolverOptions& o = problem.options;
  const auto* there = std::get_if<NearField>(&problem.propagation);
  const NearField near = there ? *there : NearField{};
  return fmt::format(
      "scan {}; start {} chain {} modes {} {} fixed {} background {} positions {} likelihood {} "
      "interpolation {} batch {} steps {} {} {} {} {} {} limits {} {} slope {} plateau {} seed {} "
      "near {} {} {}",
      fingerprint(problem.scan),
      start ? fmt::format("{:.17g}", fingerprint(start->object) + fingerprint(start->probe))
            : "flat",
      to_string(o.chain), o.modes, o.mode_power, o.fixed_probe, o.background,
      static_cast<int>(o.positions), o.likelihood ? static_cast<int>(*o.likelihood) : -1,
      to_string(o.interpolation), o.batch, o.object_step, o.probe_step, o.background_step,
      o.position_step, o.last_step, o.momentum.value_or(-1), o.max_amplitude, o.probe_support,
      o.object_slope, o.plateau, o.seed, near.wavelength_m, near.pixel_m, near.distance_m);
}

void write_chain(const std::filesystem::path& file, const ChainState& chain,
                 const std::string& key) {
  write_atomically(file, [&](const std::filesystem::path& path) {
    Hdf5File out = Hdf5File::create(path);
    out.make_group(kGroup);
    out.set(kGroup, "key", key);
    write_state(out, "chain/state", chain.state);
    if (chain.has_best) write_state(out, "chain/best", chain.best);
    out.write("chain/counters", counters(chain));
    out.write("chain/losses", at::tensor(chain.losses, at::kDouble));
    if (!chain.looks.empty()) out.write("chain/looks", table_of(chain.looks));
    chain.solver->save(out, kSolver);
    out.close();
  });
}

ChainState read_chain(const std::filesystem::path& file, const SolverProblem& problem,
                      const std::string& key) {
  return with_context(file.string(), [&] {
    const Hdf5File in = Hdf5File::open(file);
    const std::string found = in.text(kGroup, "key").value_or("no chain of solvers");
    require(found == key,
            "the checkpoint is of another run: expected\n  {}\nfound\n  {}\nremove it or repeat "
            "the options of that run",
            key, found);
    return read_content(in, problem);
  });
}

}  // namespace ptyche
