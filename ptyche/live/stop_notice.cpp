#include "ptyche/live/stop_notice.h"

#include <fmt/format.h>
#include <httplib.h>
#include <netdb.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <zmq.hpp>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"

namespace ptyche {
namespace {

using NoticeJson = nlohmann::ordered_json;

constexpr int kTries = 3;
constexpr std::chrono::seconds kOfOneTry{2}, kBetweenTries{1};
constexpr std::size_t kMostAnswer = 64 << 10;  // bytes, which nobody reads

NoticeJson or_null(double value) { return std::isfinite(value) ? NoticeJson(value) : NoticeJson(); }

/// An address of a host, as a number; of IPv4 where it has one: "localhost" is both, and most
/// programs listen on that.
std::string address_of(const std::string& host, const std::string& url) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = AF_INET;
  addrinfo* found = nullptr;
  int fault = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  hints.ai_family = AF_UNSPEC;
  if (fault != 0) fault = getaddrinfo(host.c_str(), nullptr, &hints, &found);
  require(fault == 0, "{}: host '{}' is not known: {}", url, host, gai_strerror(fault));
  char text[NI_MAXHOST] = {};
  getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(found);
  return text;
}

constexpr const char* kForms = "expected http://HOST[:PORT][/PATH] or zmq+push://HOST:PORT";

/// HOST[:PORT], or [NUMBER]:PORT of IPv6; the port stays what it is where none is named.
void take_host(const std::string& text, NoticePlace& place) {
  const std::size_t end_of_number = text.rfind(']');
  const std::size_t colon = text.find(':', end_of_number == std::string::npos ? 0 : end_of_number);
  place.host = text.substr(0, colon);
  if (end_of_number != std::string::npos && place.host.front() == '[')
    place.host = place.host.substr(1, end_of_number - 1);
  if (colon != std::string::npos) {
    const char* const end = text.data() + text.size();
    const auto [stopped, fault] = std::from_chars(text.data() + colon + 1, end, place.port);
    if (fault != std::errc() || stopped != end) place.port = 0;
  }
  require(!place.host.empty() && place.host.find('@') == std::string::npos && place.port > 0 &&
              place.port < 65536,
          "--stop-notify: {}, found '{}'", kForms, place.url);
}

}  // namespace

NoticePlace notice_place(const std::string& url) {
  NoticePlace place{.url = url};
  std::string rest;
  if (const std::string scheme = "zmq+push://"; url.starts_with(scheme)) {
    place.kind = NoticePlace::Kind::zmq_push;
    rest = url.substr(scheme.size());
  } else {
    require(url.starts_with("http://"), "--stop-notify: {}, found '{}'", kForms, url);
    rest = url.substr(7);
    place.port = 80;
    if (const std::size_t slash = rest.find_first_of("/?"); slash != std::string::npos) {
      place.path = (rest[slash] == '?' ? "/" : "") + rest.substr(slash);
      rest.resize(slash);
    }
  }
  take_host(rest, place);
  place.address = address_of(place.host, "--stop-notify: " + url);
  return place;
}

std::string to_json(const StopNotice& notice, const std::string& folder, const std::string& time) {
  const NoticeJson json = {{"htype", "ptyche-stop-1.0"},
                           {"why", notice.why},
                           {"index", notice.index},
                           {"frames", notice.frames},
                           {"expected", notice.expected},
                           {"scores",
                            {{"network_deviance", or_null(notice.network_deviance)},
                             {"solver_deviance", or_null(notice.solver_deviance)},
                             {"half_set_frc", or_null(notice.half_set_frc)}}},
                           {"folder", folder},
                           {"seconds", or_null(notice.seconds)},
                           {"time", time}};
  return json.dump(-1, ' ', false, NoticeJson::error_handler_t::replace);
}

/// One try; `cut_off` may come from another thread.
struct StopNotifier::Connection {
  std::unique_ptr<httplib::ClientImpl> http;

  explicit Connection(const NoticePlace& place) {
    if (place.kind != NoticePlace::Kind::http) return;
    http = std::make_unique<httplib::ClientImpl>(place.host, place.port);
    http->set_hostname_addr_map({{place.host, place.address}});
    http->set_connection_timeout(kOfOneTry);
    http->set_read_timeout(kOfOneTry);
    http->set_write_timeout(kOfOneTry);
  }

  void cut_off() {
    if (http) http->stop();
  }

  /// Nothing, or why the notice was not taken.
  std::string try_once(const NoticePlace& place, const std::string& text) {
    return http ? post(place, text) : push(place, text);
  }

  std::string post(const NoticePlace& place, const std::string& text) {
    httplib::Request request;
    request.method = "POST";
    request.path = place.path;
    request.body = text;
    request.set_header("Content-Type", "application/json");
    std::size_t length = 0;
    request.content_receiver = [&](const char*, std::size_t more, std::uint64_t, std::uint64_t) {
      return (length += more) <= kMostAnswer;
    };
    int status = 0;
    request.response_handler = [&](const httplib::Response& response) {
      status = response.status;
      return true;
    };
    const httplib::Result result = http->send(request);
    if (result) status = result->status;  // of an answer without content nobody has been told
    if (status >= 200 && status < 300) return "";
    if (status > 0) return fmt::format("it answered with status {}", status);
    if (result.error() == httplib::Error::Connection) return "nobody listens there";
    return fmt::format("no answer ({})", httplib::to_string(result.error()));
  }

  /// To a socket that is there: without one the message would wait in this program and get lost.
  static std::string push(const NoticePlace& place, const std::string& text) {
    const int milliseconds =
        static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(kOfOneTry).count());
    try {
      zmq::context_t context(1);
      zmq::socket_t socket(context, zmq::socket_type::push);
      socket.set(zmq::sockopt::immediate, 1);
      socket.set(zmq::sockopt::sndtimeo, milliseconds);
      socket.set(zmq::sockopt::linger, milliseconds);
      const bool is_ipv6 = place.address.find(':') != std::string::npos;
      socket.set(zmq::sockopt::ipv6, is_ipv6);
      const std::string host = is_ipv6 ? "[" + place.address + "]" : place.address;
      socket.connect(fmt::format("tcp://{}:{}", host, place.port));
      return socket.send(zmq::buffer(text), zmq::send_flags::none) ? "" : "no socket listens there";
    } catch (const zmq::error_t& error) {
      return error.what();
    }
  }
};

StopNotifier::StopNotifier(NoticePlace place, std::string folder)
    : place_(std::move(place)), folder_(std::move(folder)) {}

StopNotifier::~StopNotifier() { finish(); }

void StopNotifier::tell(const StopNotice& notice) {
  busy_ = true;
  thread_ = std::thread([this, text = to_json(notice, folder_, utc_now())] { work(text); });
}

void StopNotifier::work(const std::string& text) {
  std::unique_lock lock(mutex_);
  while (outcome_.failures == 0 || (!closing_ && outcome_.failures < kTries)) {
    connection_ = std::make_unique<Connection>(place_);
    lock.unlock();
    const std::string fault = connection_->try_once(place_, text);
    lock.lock();
    connection_.reset();
    outcome_.told = fault.empty();
    if (outcome_.told) break;
    outcome_.fault = fault;
    if (++outcome_.failures == 1) warn("--stop-notify {}: {}; the run goes on", place_.url, fault);
    if (outcome_.failures < kTries)
      changed_.wait_for(lock, kBetweenTries, [&] { return closing_; });
  }
  busy_ = false;
  changed_.notify_all();
}

NoticeOutcome StopNotifier::outcome() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

NoticeOutcome StopNotifier::finish() {
  {
    std::unique_lock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
    const bool done = changed_.wait_for(lock, kOfOneTry, [&] { return !busy_; });
    if (!done && connection_) connection_->cut_off();
  }
  if (thread_.joinable()) thread_.join();
  return outcome_;
}

}  // namespace ptyche
