#include "ptyche/live/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/files.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/quantity.h"

namespace ptyche {

const std::vector<SourceKind>& source_kinds() {
  static const std::vector<SourceKind> kinds = {
      {"replay",
       "a scan file or a record, as if it were measured now",
       {"rate", "loss", "shuffle", "duplicates", "late", "seed", "channel", "x", "y", "scale",
        "upsample"},
       open_replay},
      {"zmq+eiger2", "DECTRIS stream V2 (CBOR)", {"channel", "bind", "socket"}, open_zmq},
      {"zmq+eiger1", "DECTRIS stream V1 (JSON and blobs)", {"bind", "socket"}, open_zmq},
      {"zmq+json",
       "frames or positions with a JSON header",
       {"bind", "socket", "x", "y", "scale", "upsample"},
       open_zmq},
      {"pva",
       "EPICS PV Access: an NTNDArray, positions in it or in other PVs",
       {"x", "y", "x-pv", "y-pv", "unit", "match", "stamp", "delay", "gap", "first", "frames",
        "quiet", "current", "queue"},
       open_pva},
      {"file",
       "a file or folder that grows, or a record",
       {"patterns", "positions", "unit", "first", "frames", "quiet"},
       open_growing}};
  return kinds;
}

namespace {

const SourceKind& kind_of(const std::string& scheme, const std::string& text) {
  const auto found = std::ranges::find(source_kinds(), scheme, &SourceKind::scheme);
  std::vector<std::string> names;
  for (const SourceKind& kind : source_kinds()) names.push_back(kind.scheme);
  require(found != source_kinds().end(), "{}: expected a source {}, found '{}'{}", text,
          fmt::join(names, ", "), scheme, did_you_mean(scheme, names));
  return *found;
}

std::map<std::string, std::string> options_in(const std::string& text, const SourceKind& kind,
                                              const std::string& url) {
  std::map<std::string, std::string> options;
  if (text.empty()) return options;
  for (const std::string& each : split(text, '&')) {
    const std::size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    require(
        equals != std::string::npos && std::ranges::find(kind.options, name) != kind.options.end(),
        "{}: expected {} = a value behind the '?', found '{}'{}", url,
        fmt::join(kind.options, ", "), each, did_you_mean(name, kind.options));
    options[name] = each.substr(equals + 1);
  }
  return options;
}

}  // namespace

DialectOptions dialect_options(const SourceUrl& url) {
  return {.channel = url.word("channel", ""),
          .x = url.word("x", ""),
          .y = url.word("y", ""),
          .scale = url.number("scale", 1, -1e12, 1e12),
          .upsample = static_cast<std::int64_t>(url.number("upsample", 1, 1, 1e6))};
}

PositionUnit position_unit(const SourceUrl& url) {
  const std::string name = url.word("unit", "m");
  if (name == "px") return {1, false};
  const auto metres = metres_in(name);
  require(metres.has_value(), "{}: unit: expected m, mm, um, nm, A, pm or px, found '{}'", url.text,
          name);
  return {*metres, true};
}

SourceUrl source_url(const std::string& text) {
  SourceUrl url{.text = text, .scheme = "file"};
  std::string rest = text;
  if (const std::size_t slashes = text.find("://"); slashes != std::string::npos) {
    url.scheme = text.substr(0, slashes);
    rest = text.substr(slashes + 3);
  } else if (text.starts_with("replay:")) {
    url.scheme = "replay";
    rest = text.substr(7);
  }
  const SourceKind& kind = kind_of(url.scheme, text);
  const std::size_t question = rest.rfind('?');
  url.place = rest.substr(0, question);
  if (question != std::string::npos)
    url.options = options_in(rest.substr(question + 1), kind, text);
  require(!url.place.empty(), "{}: expected a place behind the name of the source", text);
  return url;
}

double SourceUrl::number(const std::string& name, double otherwise, double low, double high) const {
  const auto found = options.find(name);
  if (found == options.end()) return otherwise;
  double value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [stopped, fault] = std::from_chars(found->second.data(), end, value);
  require(fault == std::errc() && stopped == end && value >= low && value <= high,
          "{}: {}: expected a number from {} to {}, found '{}'", text, name, low, high,
          found->second);
  return value;
}

std::string SourceUrl::word(const std::string& name, const std::string& otherwise) const {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

bool pass_on(SourceSink& sink, std::vector<LiveMessage> decoded, std::size_t bytes) {
  ++sink.messages;
  sink.bytes += static_cast<std::int64_t>(bytes);
  bool listening = true;
  for (LiveMessage& each : decoded) {
    if (auto* const frame = std::get_if<FrameMessage>(&each)) frame->sent = sink.watch.seconds();
    listening = sink.queue.put(std::move(each)) && listening;
  }
  return listening && !sink.queue.closed();
}

bool pass_on(SourceSink& sink, const std::string& dialect,
             const std::vector<std::string_view>& parts, const DialectOptions& options,
             DialectState& state) {
  std::size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  std::vector<LiveMessage> found;
  try {
    found = decode(dialect, parts, options, state);
  } catch (const InvalidInput& error) {
    found = {DamagedMessage{error.what()}};
  }
  return pass_on(sink, std::move(found), bytes);
}

bool pass_on(SourceSink& sink, RawMessage raw, const DialectOptions& options, DialectState& state) {
  if (sink.recorder != nullptr) sink.recorder->add(raw);
  const std::vector<std::string_view> parts(raw.parts.begin(), raw.parts.end());
  return pass_on(sink, raw.dialect, parts, options, state);
}

bool pass_on(SourceSink& sink, LiveMessage message) {
  ++sink.messages;
  sink.bytes += bytes_of(message);
  if (sink.recorder != nullptr) sink.recorder->add(encode_json(message));
  if (auto* const frame = std::get_if<FrameMessage>(&message)) frame->sent = sink.watch.seconds();
  return sink.queue.put(std::move(message));
}

RunningSource::RunningSource(const SourceUrl& url, SourceSink& sink) : name_(url.text) {
  const SourceWork work =
      kind_of(url.scheme, url.text).open(url);  // refused before there is a thread
  thread_ = std::thread([this, work, &sink] {
    try {
      work(sink);
    } catch (const std::exception& error) {
      fault_ = error.what();
    }
    done_ = true;
  });
}

RunningSource::~RunningSource() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace ptyche
