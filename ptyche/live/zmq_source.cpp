// Messages from ZeroMQ sockets.
#include <fmt/format.h>

#include <zmq.hpp>
#include <zmq_addon.hpp>

#include "ptyche/core/error.h"
#include "ptyche/live/source.h"

namespace ptyche {
namespace {

constexpr int kPollMilliseconds = 50;
constexpr std::int64_t kMostBytesOfAPart = std::int64_t{1} << 30;
constexpr std::size_t kMostParts = 16;

/// Whole messages that wait in the library; beyond them the sender waits, too.
constexpr int kWaitingMessages = 4096;

struct ZmqPlan {
  std::string dialect, address;
  bool bind = false, subscribes = false;
  DialectOptions options;
};

zmq::socket_t opened(zmq::context_t& context, const ZmqPlan& plan) {
  zmq::socket_t socket(context, plan.subscribes ? zmq::socket_type::sub : zmq::socket_type::pull);
  socket.set(zmq::sockopt::rcvhwm, kWaitingMessages);
  socket.set(zmq::sockopt::maxmsgsize, kMostBytesOfAPart);
  socket.set(zmq::sockopt::linger, 0);
  if (plan.subscribes) socket.set(zmq::sockopt::subscribe, "");
  if (plan.bind)
    socket.bind(plan.address);
  else
    socket.connect(plan.address);
  return socket;
}

bool pass_message(const ZmqPlan& plan, const std::vector<zmq::message_t>& message, SourceSink& sink,
                  DialectState& state) {
  std::vector<std::string_view> parts;
  for (const zmq::message_t& part : message) parts.push_back(part.to_string_view());
  if (parts.size() > kMostParts) parts.resize(kMostParts);
  if (sink.recorder != nullptr) sink.recorder->add({plan.dialect, {parts.begin(), parts.end()}});
  return pass_on(sink, plan.dialect, parts, plan.options, state);
}

void listen(const ZmqPlan& plan, SourceSink& sink) {
  zmq::context_t context(1);
  DialectState state;
  try {
    zmq::socket_t socket = opened(context, plan);
    while (!sink.queue.closed()) {
      zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
      zmq::poll(&item, 1, std::chrono::milliseconds(kPollMilliseconds));
      if ((item.revents & ZMQ_POLLIN) == 0) continue;
      std::vector<zmq::message_t> message;
      if (!zmq::recv_multipart(socket, std::back_inserter(message))) continue;
      if (!pass_message(plan, message, sink, state)) return;
    }
  } catch (const zmq::error_t& error) {
    throw InvalidInput(fmt::format("{}: {}", plan.address, error.what()));
  }
}

}  // namespace

SourceWork open_zmq(const SourceUrl& url) {
  const std::string kind = url.word("socket", "pull");
  require(kind == "pull" || kind == "sub", "{}: socket: expected pull or sub, found '{}'", url.text,
          kind);
  require(url.place.find(':') != std::string::npos, "{}: expected HOST:PORT, found '{}'", url.text,
          url.place);
  const ZmqPlan plan{.dialect = url.scheme.substr(4),
                     .address = "tcp://" + url.place,
                     .bind = url.number("bind", 0, 0, 1) > 0,
                     .subscribes = kind == "sub",
                     .options = dialect_options(url)};
  return [plan](SourceSink& sink) { listen(plan, sink); };
}

}  // namespace ptyche
