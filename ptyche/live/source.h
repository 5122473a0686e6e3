// Where frames and positions come from: a source is a URL, and a thread of its own that turns what
// comes into messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "ptyche/core/progress.h"
#include "ptyche/live/decode.h"
#include "ptyche/live/message.h"
#include "ptyche/live/record.h"

namespace ptyche {

/// "zmq+eiger2://host:31001?channel=threshold_1" in its parts.
struct SourceUrl {
  std::string text;                            ///< the whole, as the user named it
  std::string scheme;                          ///< "zmq+eiger2"; "file" where there is none
  std::string place;                           ///< "host:31001", a path
  std::map<std::string, std::string> options;  ///< behind the '?'

  /// Throws InvalidInput naming the source for a value that is no number, and out of range.
  double number(const std::string& name, double otherwise, double low, double high) const;
  std::string word(const std::string& name, const std::string& otherwise) const;
};

/// Throws InvalidInput for an unknown scheme, listing those that there are, and for an option that
/// the scheme does not know.
SourceUrl source_url(const std::string& text);

/// What a number of `?unit=` is: m (also where nothing is said), mm, um, nm, A, pm or px.
struct PositionUnit {
  double scale = 1;    ///< to metres or object pixels
  bool metres = true;  ///< else object pixels
};
/// Throws InvalidInput for another unit.
PositionUnit position_unit(const SourceUrl& url);

/// How the messages of a source, or those that a record has kept of it, are to be understood.
DialectOptions dialect_options(const SourceUrl& url);

/// What source threads share with the run.
struct SourceSink {
  MessageQueue& queue;
  Recorder* recorder = nullptr;
  const Stopwatch& watch;  ///< since the program began to listen
  std::atomic<std::int64_t> messages{0}, bytes{0};
};

/// Writes down, decodes and passes on one raw message. False once the run listens no more.
bool pass_on(SourceSink& sink, RawMessage raw, const DialectOptions& options, DialectState& state);
/// The same of parts that the caller keeps.
bool pass_on(SourceSink& sink, const std::string& dialect,
             const std::vector<std::string_view>& parts, const DialectOptions& options,
             DialectState& state);
/// Passes on what one raw message of so many bytes was decoded to; the caller has written it down.
bool pass_on(SourceSink& sink, std::vector<LiveMessage> decoded, std::size_t bytes);
/// The same of a message that was never raw: a record holds it in the dialect "json".
bool pass_on(SourceSink& sink, LiveMessage message);

/// What a source does until it is at its end or the queue is closed. Throws InvalidInput.
using SourceWork = std::function<void(SourceSink&)>;

/// What a scheme needs to be known by.
struct SourceKind {
  std::string scheme, summary;
  std::vector<std::string> options;
  SourceWork (*open)(const SourceUrl& url) = nullptr;  ///< throws InvalidInput for what is refused
};

/// All kinds, in the order of the help.
const std::vector<SourceKind>& source_kinds();

// The kinds, by file.
SourceWork open_replay(const SourceUrl& url);
SourceWork open_zmq(const SourceUrl& url);
SourceWork open_growing(const SourceUrl& url);
SourceWork open_pva(const SourceUrl& url);

/// A source at work in a thread of its own.
class RunningSource {
 public:
  RunningSource(const SourceUrl& url, SourceSink& sink);
  /// Waits for the thread: close the queue before.
  ~RunningSource();
  RunningSource(const RunningSource&) = delete;
  RunningSource& operator=(const RunningSource&) = delete;

  const std::string& name() const { return name_; }
  bool done() const { return done_; }
  /// What ended it before its end; empty = nothing. To be asked when it is done.
  const std::string& fault() const { return fault_; }

 private:
  std::string name_, fault_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace ptyche
