// libptyche_mpi.so: messages between the processes of one run. A library of its own that the
// program opens (ranks.h); it knows nothing of LibTorch.
#include "ptyche/core/mpi_library.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace ptyche::mpi {
namespace {

constexpr int kTag = 1;
constexpr std::size_t kPiece = std::size_t{1} << 30;  // MPI counts with int

/// Open MPI's own plug-ins look for its symbols among those that the whole process sees.
void show_symbols_to_all() {
  Dl_info found{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &found) != 0 && found.dli_fname)
    dlopen(found.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

int ranks_on_this_host() {
  MPI_Comm host = MPI_COMM_NULL;
  int count = 1;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &count);
  MPI_Comm_free(&host);
  return count;
}

/// While a large message is on its way Open MPI waits in a loop, too, and gives the core to others
/// only where it has been started on fewer cores than ranks: with other work on the machine a
/// message took as long as the other rank was kept from its core (30 passes of rpie 7.9 s, then
/// 1.4).
void let_others_work() { setenv("OMPI_MCA_mpi_yield_when_idle", "1", /*overwrite=*/0); }

bool join(Place& place) {
  show_symbols_to_all();
  let_others_work();
  int there = 0, length = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &there);
  char host[MPI_MAX_PROCESSOR_NAME] = {};
  MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
  MPI_Get_processor_name(host, &length);
  std::snprintf(place.host, sizeof(place.host), "%s", host);
  place.ranks_on_host = ranks_on_this_host();
  return there >= MPI_THREAD_SERIALIZED;
}

/// MPI itself waits in a loop that takes a whole core, also from the rank that is waited for.
void wait_for_message(int rank) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  for (int here = 0;;) {
    MPI_Iprobe(rank, kTag, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
    if (here != 0) return;
    const auto waited = Clock::now() - begin;
    if (waited < std::chrono::microseconds(200))
      sched_yield();
    else
      usleep(waited < std::chrono::milliseconds(200) ? 50 : 1000);
  }
}

/// Calls `move(bytes, count)` for pieces whose length is an int.
template <class Byte, class Move>
void by_pieces(Byte* bytes, std::size_t size, const Move& move) {
  for (std::size_t done = 0; done < size;) {
    const std::size_t now = std::min(kPiece, size - done);
    move(bytes + done, static_cast<int>(now));
    done += now;
  }
}

void send(int rank, const void* bytes, std::size_t size) {
  by_pieces(static_cast<const char*>(bytes), size, [&](const char* from, int count) {
    MPI_Send(from, count, MPI_BYTE, rank, kTag, MPI_COMM_WORLD);
  });
}

void receive(int rank, void* bytes, std::size_t size) {
  by_pieces(static_cast<char*>(bytes), size, [&](char* to, int count) {
    wait_for_message(rank);
    MPI_Recv(to, count, MPI_BYTE, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

void leave() { MPI_Finalize(); }

void end_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

}  // namespace
}  // namespace ptyche::mpi

extern "C" __attribute__((visibility("default"))) const ptyche::mpi::Table* ptyche_mpi_plugin() {
  using namespace ptyche::mpi;
  static const Table table{
      .join = &join, .send = &send, .receive = &receive, .leave = &leave, .end_all = &end_all};
  return &table;
}
