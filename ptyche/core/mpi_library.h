// What libptyche_mpi.so offers to the program: one table, found by name, so that the program itself
// links against no MPI. Plain C types alone, and no exception crosses the border.
#pragma once

#include <cstddef>

namespace ptyche::mpi {

/// Counted up with every change of what stands below.
inline constexpr int kInterface = 1;

struct Place {
  int rank = 0, ranks = 1;
  int ranks_on_host = 1;  ///< this one among them
  char host[256] = {};
};

struct Table {
  int interface_number = kInterface;
  std::size_t place_bytes = sizeof(Place);

  /// MPI_Init; `place` says who this process is. False where the library gives no threads.
  bool (*join)(Place& place) = nullptr;
  /// Both wait until the bytes are on their way, or here. Called by one thread at a time.
  void (*send)(int rank, const void* bytes, std::size_t size) = nullptr;
  void (*receive)(int rank, void* bytes, std::size_t size) = nullptr;
  /// MPI_Finalize, of all ranks together.
  void (*leave)() = nullptr;
  /// MPI_Abort: ends the processes of all ranks.
  void (*end_all)(int code) = nullptr;
};

}  // namespace ptyche::mpi

/// The plug-in's only symbol that is visible.
extern "C" const ptyche::mpi::Table* ptyche_mpi_plugin();
