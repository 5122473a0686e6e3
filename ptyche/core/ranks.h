// The processes that mpirun or srun start together for one run. Rank 0 is the program as a user
// knows it; the others answer its questions (solve/shares.h) and say nothing. A process that was
// started alone is rank 0 of 1 and opens no library for this.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace ptyche {

struct Ranks {
  int own = 0, all = 1;
  int on_host = 1;  ///< ranks on this one's host
  std::string host = {};

  bool several() const { return all > 1; }
};

/// What the environment says of how this process was started.
struct RanksStarted {
  int count = 1;              ///< processes started together, as far as it is known
  bool has_interface = true;  ///< whether MPI can find the others (PMI or PMIx)
};
/// Of mpirun (Open MPI, MPICH and their kin) and of Slurm's srun. A batch script under Slurm is one
/// process, whatever number of tasks its job has.
RanksStarted ranks_started();

/// A rank that could not do its part. Its message names rank and host.
class RankFailure : public std::exception {
 public:
  explicit RankFailure(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Once, before any work: where the process was started among others, opens the plug-in and joins
/// them; every rank takes its share of the host's cores and of its free memory unless the user has
/// chosen. Throws InvalidInput where there is no plug-in, or one of another MPI than that of
/// mpirun: each process would do the whole run and write the same files.
void join_ranks();
/// Once, at the end, of all ranks: rank 0 tells the others that there is no more work.
void leave_ranks();
/// Ends the processes of all ranks at once, where nothing else is left to do.
[[noreturn]] void end_all_ranks(int code);
/// Who this process is; rank 0 of 1 before join_ranks.
const Ranks& ranks();

/// Arrays between two ranks; undefined ones stay undefined. None means the end of the work.
using RankMessage = std::vector<at::Tensor>;
inline constexpr std::size_t kMostArrays = 24;  ///< of a message, of at most kMostAxes axes
inline constexpr std::int64_t kMostAxes = 4;

/// A text as an array of a message, (letters) uint8, and back.
at::Tensor as_bytes(const std::string& text);
std::string as_text(const at::Tensor& bytes);

/// From and to any rank, by one thread at a time.
void send_to(int rank, const RankMessage& message);
RankMessage receive_from(int rank);
/// What both have moved in this process, in bytes.
double bytes_between_ranks();

}  // namespace ptyche
