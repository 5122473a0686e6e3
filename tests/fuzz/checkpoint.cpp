// Checkpoints of solvers with other datasets than a chain leaves; what is read is solved on.
#include "ptyche/core/files.h"
#include "ptyche/solve/solve.h"
#include "tests/fuzz/changed_file.h"
#include "tests/support/plain_solver.h"
#include "tests/support/small_scan.h"

namespace {

const std::vector<std::string> kSolvers = {"ml", "lbfgs", "lsqml", "epie", "rpie", "dm", "raar"};

struct Chains {
  ptyche::Scan scan = ptyche::small_scan(16);
  std::map<std::string, std::string> bytes;

  ptyche::SolverOptions options(const std::string& solver) const {
    auto chosen = ptyche::plain({{solver, 4}}, ptyche::PositionFreedom::jitter, true);
    chosen.fixed_probe = false;
    return chosen;
  }
  ptyche::SolverWatch watch() const {
    return {.checkpoint = ptyche::fuzz::file_named(".h5"), .resume = true, .keep_checkpoint = true};
  }
  Chains() {
    const ptyche::Silence silence;
    ptyche::SolverWatch stopping = watch();
    stopping.stop = [](std::int64_t passes) { return passes == 2; };
    for (const std::string& solver : kSolvers) {
      std::filesystem::remove(stopping.checkpoint);
      ptyche::solve(scan, {}, options(solver), stopping);
      bytes[solver] = ptyche::read_bytes(stopping.checkpoint);
    }
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Chains chains;
  FuzzedDataProvider input(bytes, size);
  const std::string& solver =
      kSolvers[input.ConsumeIntegralInRange<std::size_t>(0, kSolvers.size() - 1)];
  const ptyche::fuzz::InputFile file(bytes, size, ".h5");
  ptyche::write_text(file.path, chains.bytes.at(solver));
  ptyche::fuzz::change(file.path, input);
  ptyche::fuzz::may_refuse(
      file.path, [&] { ptyche::solve(chains.scan, {}, chains.options(solver), chains.watch()); },
      /*works_on=*/true);
  return 0;
}
