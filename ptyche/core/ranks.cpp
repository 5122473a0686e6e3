#include "ptyche/core/ranks.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/mpi_library.h"
#include "ptyche/core/plugin.h"

namespace ptyche {
namespace {

constexpr const char* kHowMade = "./run build mpi makes it";
constexpr const char* kAlone =
    "without it each of them would do the whole run and write the same files; start one process, "
    "or build the plug-in";

/// The one place that knows of the others.
struct Joined {
  const mpi::Table* table = nullptr;
  Ranks place;
  std::atomic<double> bytes = 0;
};

Joined& joined() {
  static Joined all;
  return all;
}

int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : 0;
}

const mpi::Table& opened_table(int started) {
  const std::filesystem::path file = plugin_file("libptyche_mpi.so", "PTYCHE_MPI_PLUGIN");
  const Plugin opened = open_plugin(file, "ptyche_mpi_plugin", kHowMade);
  require(opened.table != nullptr, "started as one of {} processes: {}; {}", started, opened.fault,
          kAlone);
  const auto* table = static_cast<const mpi::Table*>(opened.table);
  require(table->interface_number == mpi::kInterface && table->place_bytes == sizeof(mpi::Place),
          "started as one of {} processes: {}; {}", started, other_version(file), kAlone);
  return *table;
}

/// The cores that this process may use, shared by the ranks of its host. Where the starter has
/// bound the process to some cores, these are its own.
int own_threads(const Ranks& place) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  const auto there = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const int mine = CPU_COUNT(&set);
  return std::max(1, mine < there ? mine : there / place.on_host);
}

/// Rank 0 decides when the run ends; the others must be there until it has.
void leave_signals_to_rank_0() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
}

// A message: kHeader numbers (how many arrays; of each its type, its number of axes and their
// lengths), then the bytes of each.

constexpr std::int64_t kUndefined = -1;
constexpr std::size_t kPerArray = 2 + static_cast<std::size_t>(kMostAxes);
constexpr std::size_t kHeader = 1 + kMostArrays * kPerArray;
using Header = std::array<std::int64_t, kHeader>;

Header header_of(const RankMessage& message) {
  Header header{};
  header[0] = static_cast<std::int64_t>(message.size());
  for (std::size_t i = 0; i < message.size(); ++i) {
    std::int64_t* own = header.data() + 1 + i * kPerArray;
    own[0] =
        message[i].defined() ? static_cast<std::int64_t>(message[i].scalar_type()) : kUndefined;
    if (!message[i].defined()) continue;
    own[1] = message[i].dim();
    std::copy_n(message[i].sizes().begin(), own[1], own + 2);
  }
  return header;
}

at::Tensor room_for_array(const std::int64_t* own) {
  if (own[0] == kUndefined) return {};
  return at::empty(at::IntArrayRef(own + 2, static_cast<std::size_t>(own[1])),
                   static_cast<at::ScalarType>(own[0]));
}

}  // namespace

RanksStarted ranks_started() {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (number_in(size) > 0) return {number_in(size), true};
  const int tasks = number_in("SLURM_STEP_NUM_TASKS");
  const bool in_step = tasks > 0 && std::getenv("SLURM_STEP_ID") != nullptr;
  if (in_step)
    return {tasks, std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_FD") != nullptr};
  return {};
}

void join_ranks() {
  const RanksStarted started = ranks_started();
  if (started.count <= 1) return;
  require(started.has_interface,
          "started by srun as one of {} processes that cannot find each other: expected srun "
          "--mpi=pmix or --mpi=pmi2 (srun --mpi=list names what there is), found none of them",
          started.count);
  Joined& all = joined();
  const mpi::Table& table = opened_table(started.count);
  mpi::Place place;
  const bool threads = table.join(place);
  require(place.ranks == started.count,
          "started as one of {} processes, but the plug-in's MPI sees {}: it is another MPI than "
          "that of mpirun or srun; {}",
          started.count, place.ranks, kHowMade);
  require(threads, "{}: this MPI does not allow several threads; expected one that does",
          place.host);
  all.place = {place.rank, place.ranks, place.ranks_on_host, place.host};
  all.table = &table;
  if (std::getenv("OMP_NUM_THREADS") == nullptr) at::set_num_threads(own_threads(all.place));
  if (place.rank > 0) leave_signals_to_rank_0();
}

void leave_ranks() {
  Joined& all = joined();
  if (all.table == nullptr) return;
  if (all.place.own == 0)
    for (int rank = 1; rank < all.place.all; ++rank) send_to(rank, {});
  all.table->leave();
  all.table = nullptr;
}

void end_all_ranks(int code) {
  if (joined().table != nullptr) joined().table->end_all(code);
  std::_Exit(code);
}

const Ranks& ranks() { return joined().place; }

void send_to(int rank, const RankMessage& message) {
  TORCH_INTERNAL_ASSERT(message.size() <= kMostArrays, "a message of too many arrays");
  for (const at::Tensor& array : message)
    TORCH_INTERNAL_ASSERT(!array.defined() || array.dim() <= kMostAxes, "too many axes");
  const Header header = header_of(message);
  Joined& all = joined();
  all.table->send(rank, header.data(), sizeof(header));
  for (const at::Tensor& array : message) {
    if (!array.defined() || array.numel() == 0) continue;
    const at::Tensor dense = array.contiguous();
    all.table->send(rank, dense.const_data_ptr(), dense.nbytes());
    all.bytes += static_cast<double>(dense.nbytes());
  }
}

RankMessage receive_from(int rank) {
  Joined& all = joined();
  Header header{};
  all.table->receive(rank, header.data(), sizeof(header));
  RankMessage message;
  for (std::size_t i = 0; i < static_cast<std::size_t>(header[0]); ++i) {
    message.push_back(room_for_array(header.data() + 1 + i * kPerArray));
    const at::Tensor& array = message.back();
    if (!array.defined() || array.numel() == 0) continue;
    all.table->receive(rank, array.mutable_data_ptr(), array.nbytes());
    all.bytes += static_cast<double>(array.nbytes());
  }
  return message;
}

at::Tensor as_bytes(const std::string& text) {
  const at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<std::uint8_t>());
  return bytes;
}

std::string as_text(const at::Tensor& bytes) {
  const auto* first = bytes.const_data_ptr<std::uint8_t>();
  return {first, first + bytes.numel()};
}

double bytes_between_ranks() { return joined().bytes; }

}  // namespace ptyche
