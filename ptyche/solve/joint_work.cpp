#include "ptyche/solve/joint_work.h"

#include <exception>
#include <utility>

#include "ptyche/core/messages.h"
#include "ptyche/solve/counts_part.h"

namespace ptyche {

JointWork::JointWork(std::function<void(int rank)> ask)
    : ask_(std::move(ask)), waiting_(static_cast<std::size_t>(ranks().all), false) {}

JointWork::~JointWork() {
  for (int rank = 1; rank < ranks().all; ++rank) {
    if (!waiting_[static_cast<std::size_t>(rank)]) continue;
    const RankMessage last = receive_from(rank);
    const bool wants_others = failure_in(last).empty() && last.size() > 1;
    if (wants_others) send_to(rank, {});
  }
}

void JointWork::begin() {
  begun_ = true;
  for (int rank = 1; rank < ranks().all; ++rank) {
    ask_(rank);
    waiting_[static_cast<std::size_t>(rank)] = true;
  }
}

RankMessage JointWork::next_of(int rank) {
  RankMessage message = receive_from(rank);
  const std::string failure = failure_in(message);
  if (failure.empty()) return message;
  waiting_[static_cast<std::size_t>(rank)] = false;
  // The arrays of those before it are here, and nobody answers them.
  for (int before = 1; before < rank; ++before) {
    auto waits = waiting_.begin() + before;
    if (*waits) send_to(before, {});
    *waits = false;
  }
  throw RankFailure(failure);
}

std::vector<at::Tensor> JointWork::arrays_of_all(const at::Tensor& own) {
  if (!begun_) begin();
  std::vector<at::Tensor> all{own};
  for (int rank = 1; rank < ranks().all; ++rank) all.push_back(next_of(rank).at(1));
  return all;
}

std::vector<at::Tensor> JointWork::exchange(const at::Tensor& own) {
  std::vector<at::Tensor> all = arrays_of_all(own);
  for (int rank = 1; rank < ranks().all; ++rank)
    for (const at::Tensor& each : all) send_to(rank, {each});
  return all;
}

at::Tensor JointWork::reply(const at::Tensor& own, const Reply& reply) {
  const std::vector<at::Tensor> replies = reply(arrays_of_all(own));
  for (int rank = 1; rank < ranks().all; ++rank)
    send_to(rank, {replies[static_cast<std::size_t>(rank)]});
  return replies.front();
}

at::Tensor JointWork::sum(const at::Tensor& own) {
  return reply(own, [](const std::vector<at::Tensor>& all) {
    at::Tensor sum = all.front().clone();
    for (std::size_t rank = 1; rank < all.size(); ++rank) sum += all[rank];
    return std::vector<at::Tensor>(all.size(), sum);
  });
}

std::vector<RankMessage> JointWork::finish() {
  std::vector<RankMessage> answers(waiting_.size());
  if (!begun_) return answers;
  for (int rank = 1; rank < ranks().all; ++rank) {
    answers[static_cast<std::size_t>(rank)] = next_of(rank);
    waiting_[static_cast<std::size_t>(rank)] = false;
  }
  return answers;
}

namespace {

/// Rank 0 has given up: nobody waits for an answer.
struct Abandoned {};

at::Tensor next_from_rank_0() {
  const RankMessage message = receive_from(0);
  if (message.empty()) throw Abandoned{};
  return message.front();
}

}  // namespace

std::vector<at::Tensor> exchange_with_rank_0(const at::Tensor& own) {
  send_to(0, {no_failure(), own});
  std::vector<at::Tensor> all;
  while (static_cast<int>(all.size()) < ranks().all) all.push_back(next_from_rank_0());
  return all;
}

at::Tensor reply_of_rank_0(const at::Tensor& own) {
  send_to(0, {no_failure(), own});
  return next_from_rank_0();
}

RankMessage joint_answer(const std::function<RankMessage()>& work) {
  const Silence rank_0_says_it;
  try {
    RankMessage answer = work();
    answer.insert(answer.begin(), no_failure());
    return answer;
  } catch (const Abandoned&) {
    return {};
  } catch (const std::exception& error) {
    return failure_answer(error);
  }
}

}  // namespace ptyche
