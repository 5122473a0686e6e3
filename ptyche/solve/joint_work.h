// Work that all ranks do in step, each on its own share: rank 0 asks the others for it; then each
// sends, for each array that all have to know or to add to, that array, and gets what came of it,
// or an empty message where rank 0 has given up; in the end each sends an answer. A rank that fails
// sends its failure in place of whatever is next, and expects nothing more.
#pragma once

#include <functional>
#include <vector>

#include "ptyche/core/ranks.h"

namespace ptyche {

/// Rank 0's side. Where it goes out of scope before `finish`, the work is given up: what the others
/// still send is taken, so that the next question finds them waiting for it.
class JointWork {
 public:
  using Reply = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

  /// Asks each of the other ranks when it is first needed, or by `begin`; `ask` sends the question,
  /// and all that belongs to it, to the rank.
  explicit JointWork(std::function<void(int rank)> ask);
  void begin();
  ~JointWork();
  JointWork(const JointWork&) = delete;
  JointWork& operator=(const JointWork&) = delete;

  /// The arrays of all ranks, by rank. Throws RankFailure.
  std::vector<at::Tensor> exchange(const at::Tensor& own);
  /// What `reply` makes of the arrays of all ranks for each, by rank: rank 0's; the others get
  /// theirs. Throws RankFailure.
  at::Tensor reply(const at::Tensor& own, const Reply& reply);
  /// Their sum; all of one shape and type. Throws RankFailure.
  at::Tensor sum(const at::Tensor& own);
  /// After rank 0 has done its share: the answers, by rank, none from rank 0. Throws RankFailure.
  std::vector<RankMessage> finish();

 private:
  RankMessage next_of(int rank);
  std::vector<at::Tensor> arrays_of_all(const at::Tensor& own);

  std::function<void(int rank)> ask_;
  std::vector<bool> waiting_;  // ranks that have been asked and have not come to an end
  bool begun_ = false;
};

// On every other rank, while rank 0 calls the functions of the same names.

std::vector<at::Tensor> exchange_with_rank_0(const at::Tensor& own);
/// Its reply, or the sum.
at::Tensor reply_of_rank_0(const at::Tensor& own);

/// Does the work, in silence. Returns the answer, what `work` returns behind "no failure"; none
/// where rank 0 has given up, a failure where `work` throws.
RankMessage joint_answer(const std::function<RankMessage()>& work);

}  // namespace ptyche
