// Tells a control system that a run needs no more frames: a POST to an HTTP address, or a message
// to a ZeroMQ socket.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace ptyche {

/// What it is told.
struct StopNotice {
  std::string why;            ///< the rule, "frc=0.3", or "viewer"
  std::int64_t index = -1;    ///< the largest of a pattern that has its position
  std::int64_t frames = 0;    ///< patterns with a position
  std::int64_t expected = 0;  ///< of the whole scan, as far as that is known
  double network_deviance = std::numeric_limits<double>::quiet_NaN();  ///< as in LivePoint
  double solver_deviance = std::numeric_limits<double>::quiet_NaN();
  double half_set_frc = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  ///< since the run began
};

/// One JSON object, "ptyche-stop-1.0"; scores that are not known are null.
///   folder  where the result will lie
///   time    of the day, UTC
std::string to_json(const StopNotice& notice, const std::string& folder, const std::string& time);

/// Where a notice goes.
struct NoticePlace {
  enum class Kind { http, zmq_push };
  Kind kind = Kind::http;
  std::string url;      ///< as the user has written it
  std::string host;     ///< its name
  std::string address;  ///< its number: nobody waits for a name server once the run is under way
  int port = 0;
  std::string path = "/";  ///< HTTP: with what is behind a '?'
};

/// http://HOST[:PORT][/PATH] or zmq+push://HOST:PORT. Throws InvalidInput for another form and for
/// a name that is not known.
NoticePlace notice_place(const std::string& url);

/// What has come of it.
struct NoticeOutcome {
  bool told = false;  ///< HTTP: a status of 2xx; ZeroMQ: given to a socket that was there
  int failures = 0;
  std::string fault;  ///< of the last failure
};

/// Tells in a thread of its own, so that who does not answer holds up nothing: three times at most,
/// for two seconds each; the first failure is a warning.
class StopNotifier {
 public:
  /// folder  that the notice names
  StopNotifier(NoticePlace place, std::string folder);
  /// As `finish`.
  ~StopNotifier();
  StopNotifier(const StopNotifier&) = delete;
  StopNotifier& operator=(const StopNotifier&) = delete;

  /// Returns at once. To be called once.
  void tell(const StopNotice& notice);
  /// So far.
  NoticeOutcome outcome() const;
  /// Does not try again; what is under way may take its two seconds.
  NoticeOutcome finish();

 private:
  void work(const std::string& text);

  NoticePlace place_;
  std::string folder_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  NoticeOutcome outcome_;
  bool closing_ = false, busy_ = false;
  struct Connection;  // what is under way, to be cut off
  std::unique_ptr<Connection> connection_;
  std::thread thread_;
};

}  // namespace ptyche
