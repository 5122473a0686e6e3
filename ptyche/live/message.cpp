#include "ptyche/live/message.h"

namespace ptyche {

std::int64_t bytes_of(const LiveMessage& message) {
  constexpr std::int64_t kItself = sizeof(LiveMessage);
  if (const auto* frame = std::get_if<FrameMessage>(&message))
    return kItself + static_cast<std::int64_t>(frame->counts.nbytes());
  if (const auto* places = std::get_if<PositionsMessage>(&message))
    return kItself + static_cast<std::int64_t>(places->positions.nbytes());
  if (const auto* start = std::get_if<SeriesStart>(&message))
    return kItself +
           static_cast<std::int64_t>((start->mask.defined() ? start->mask.nbytes() : 0) +
                                     (start->probe.defined() ? start->probe.nbytes() : 0));
  return kItself;
}

bool MessageQueue::put(LiveMessage message) {
  const std::int64_t bytes = bytes_of(message);
  std::unique_lock lock(mutex_);
  // One message always fits, however large it is.
  emptied_.wait(lock,
                [&] { return closed_ || messages_.empty() || bytes_ + bytes <= most_bytes_; });
  if (closed_) return false;
  bytes_ += bytes;
  messages_.push_back(std::move(message));
  filled_.notify_one();
  return true;
}

std::vector<LiveMessage> MessageQueue::take(std::chrono::milliseconds wait, std::size_t most) {
  std::unique_lock lock(mutex_);
  filled_.wait_for(lock, wait, [&] { return closed_ || !messages_.empty(); });
  std::vector<LiveMessage> taken;
  while (!messages_.empty() && taken.size() < most) {
    bytes_ -= bytes_of(messages_.front());
    taken.push_back(std::move(messages_.front()));
    messages_.pop_front();
  }
  emptied_.notify_all();
  return taken;
}

void MessageQueue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  filled_.notify_all();
  emptied_.notify_all();
}

bool MessageQueue::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t MessageQueue::size() const {
  const std::lock_guard lock(mutex_);
  return messages_.size();
}

}  // namespace ptyche
