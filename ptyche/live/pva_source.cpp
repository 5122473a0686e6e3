// EPICS PV Access: an image PV (NTNDArray, as areaDetector's NDPluginPva has it) and positions as
// attributes of the image or as other PVs. Frames go the way of messages in JSON, so that their
// sizes and types are checked where those of every other source are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "ptyche/core/error.h"
#include "ptyche/core/messages.h"
#include "ptyche/core/plugin.h"
#include "ptyche/live/pva_library.h"
#include "ptyche/live/source.h"
#include "ptyche/live/time_match.h"

namespace ptyche {
namespace {

constexpr double kPollSeconds = 0.05;
/// After so long without an answer the user is told.
constexpr double kSilentSeconds = 5;

/// What joins positions to frames.
enum class PvaMatch { nothing, attributes, index, time };

struct PvaPlan {
  std::vector<std::string> pvs;         ///< the image, then x and y where they are PVs
  std::vector<std::string> attributes;  ///< x and y where they are attributes
  PvaMatch match = PvaMatch::nothing;
  Between between = Between::linear;
  PositionUnit unit;
  bool record_stamp = false;  ///< timeStamp instead of dataTimeStamp
  bool current = false;       ///< what the PV held before is a frame of the scan
  double delay_s = 0, gap_s = 0, quiet_s = 0;
  std::int64_t first = 0, frames = 0;
  int queue = 0;
};

template <class Value>
Value chosen(const SourceUrl& url, const std::string& name,
             const std::vector<std::pair<std::string, Value>>& choices) {
  const std::string word = url.word(name, choices.front().first);
  std::vector<std::string> words;
  for (const auto& [each, value] : choices) {
    if (each == word) return value;
    words.push_back(each);
  }
  throw InvalidInput(
      fmt::format("{}: {}: expected {}, found '{}'", url.text, name, fmt::join(words, ", "), word));
}

/// Both axes or none.
std::vector<std::string> axes_of(const SourceUrl& url, const char* x, const char* y) {
  const std::string names[2] = {url.word(x, ""), url.word(y, "")};
  require(names[0].empty() == names[1].empty(), "{}: expected {} and {}, found one of them",
          url.text, x, y);
  if (names[0].empty()) return {};
  return {names[0], names[1]};
}

PvaPlan pva_plan_of(const SourceUrl& url) {
  PvaPlan plan{
      .pvs = {url.place}, .attributes = axes_of(url, "x", "y"), .unit = position_unit(url)};
  const std::vector<std::string> axes = axes_of(url, "x-pv", "y-pv");
  require(plan.attributes.empty() || axes.empty(),
          "{}: positions are either attributes (x, y) or other PVs (x-pv, y-pv)", url.text);
  plan.pvs.insert(plan.pvs.end(), axes.begin(), axes.end());
  if (!plan.attributes.empty()) plan.match = PvaMatch::attributes;
  if (!axes.empty()) {
    using Match = std::pair<PvaMatch, Between>;
    std::tie(plan.match, plan.between) =
        chosen<Match>(url, "match",
                      {{"linear", {PvaMatch::time, Between::linear}},
                       {"nearest", {PvaMatch::time, Between::nearest}},
                       {"before", {PvaMatch::time, Between::before}},
                       {"index", {PvaMatch::index, Between::linear}}});
  }
  plan.record_stamp = chosen<bool>(url, "stamp", {{"dataTimeStamp", false}, {"timeStamp", true}});
  plan.delay_s = url.number("delay", 0, -1e6, 1e6);
  plan.gap_s = url.number("gap", plan.between == Between::before ? 1e9 : 1, 0, 1e9);
  plan.quiet_s = url.number("quiet", 10, 0.1, 1e6);
  plan.first = static_cast<std::int64_t>(url.number("first", 0, 0, 1e9));
  plan.frames = static_cast<std::int64_t>(url.number("frames", 0, 0, 1e9));
  plan.current = url.number("current", 0, 0, 1) > 0;
  plan.queue = static_cast<int>(url.number("queue", 4096, 2, 1e6));
  return plan;
}

const pva::Table& pva_library(const SourceUrl& url) {
  static const std::filesystem::path file = plugin_file("libptyche_pva.so", "PTYCHE_PVA_PLUGIN");
  static const Plugin opened = open_plugin(file, "ptyche_pva_plugin", "./run build pva makes it");
  require(opened.table != nullptr, "{}: {}", url.text, opened.fault);
  const auto& table = *static_cast<const pva::Table*>(opened.table);
  const pva::Table own;
  require(table.interface_number == own.interface_number &&
              table.request_bytes == own.request_bytes && table.update_bytes == own.update_bytes,
          "{}: {}", url.text, other_version(file));
  return table;
}

/// An open session of the library.
class PvaSession {
 public:
  PvaSession(const pva::Table& table, const PvaPlan& plan) : table_(table) {
    std::vector<pva::PvName> names;
    for (const std::string& pv : plan.pvs) names.push_back({pv.c_str(), names.empty()});
    pva::Request request{
        .pvs = names.data(), .count = static_cast<int>(names.size()), .queue = plan.queue};
    for (std::size_t i = 0; i < plan.attributes.size(); ++i)
      request.attributes[i] = plan.attributes[i].c_str();
    char fault[512] = {};
    session_ = table.open(request, fault, sizeof fault);
    require(session_ != nullptr, "{}: the EPICS client cannot begin: {}", plan.pvs[0], fault);
  }
  ~PvaSession() { table_.close(session_); }
  PvaSession(const PvaSession&) = delete;
  PvaSession& operator=(const PvaSession&) = delete;

  void next(pva::Update& update) { table_.next(session_, kPollSeconds, update); }

 private:
  const pva::Table& table_;
  void* session_ = nullptr;
};

/// NumPy's name for pvData's number of a type.
std::string type_of_number(std::int64_t number) {
  static const char* const names[] = {"bool",   "int8",   "int16",  "int32",   "int64",  "uint8",
                                      "uint16", "uint32", "uint64", "float32", "float64"};
  return number >= 1 && number < 11 ? names[number] : fmt::format("number {}", number);
}

std::int64_t bytes_of_type(const std::string& type) {
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32")) return 4;
  return type.ends_with("16") ? 2 : 1;
}

/// Whether the bytes begin with the size of what they unpack to, as HDF5's filters have it.
bool has_hdf5_header(std::string_view bytes, std::int64_t size) {
  if (bytes.size() < 12) return false;
  std::uint64_t said = 0;
  for (std::size_t i = 0; i < 8; ++i) said = said << 8 | static_cast<unsigned char>(bytes[i]);
  return said == static_cast<std::uint64_t>(size);
}

/// (rows, cols): x comes first, and lengths of 1 behind both say nothing.
std::pair<std::int64_t, std::int64_t> pva_shape_of(const pva::Update& image) {
  const bool flat = image.dimensions == 3 && image.sizes[2] == 1;
  require(image.dimensions == 2 || flat, "an image of {} dimensions", image.dimensions);
  return {image.sizes[1], image.sizes[0]};
}

/// How image_of calls what areaDetector calls `codec`.
std::string encoding_of(const pva::Update& image, std::string_view bytes, const std::string& type,
                        std::int64_t unpacked) {
  const std::string codec = image.codec;
  const bool framed = has_hdf5_header(bytes, unpacked);
  if (codec.empty()) return "<";
  if (codec == "lz4") return framed ? "lz4-hdf5<" : "lz4<";
  if (codec == "bslz4")
    return fmt::format("bs{}-lz4{}<", 8 * bytes_of_type(type), framed ? "" : "-bare");
  require(codec == "blosc", "pixels packed by '{}', known are lz4, bslz4 and blosc", codec);
  return "blosc<";
}

/// The message of an image. `bytes` are those of the update, cut to the ones that count.
std::string header_of_image(const pva::Update& image, std::int64_t series, std::int64_t index,
                            std::string_view& bytes) {
  const auto [rows, cols] = pva_shape_of(image);
  const std::string type =
      image.codec[0] != '\0' ? type_of_number(image.codec_type) : std::string(image.type);
  const bool of_pixels = rows >= 1 && cols >= 1 && rows <= kMostPixels && cols <= kMostPixels;
  require(of_pixels, "an image of {} x {} pixels", rows, cols);
  const std::int64_t unpacked = rows * cols * bytes_of_type(type);
  require(image.codec[0] == '\0' || image.unpacked_bytes == 0 || image.unpacked_bytes == unpacked,
          "{} x {} pixels of type {} are not {} bytes", rows, cols, type, image.unpacked_bytes);
  if (image.codec[0] != '\0' && image.packed_bytes > 0)
    bytes = bytes.substr(0, static_cast<std::size_t>(image.packed_bytes));
  return nlohmann::json{{"htype", "ptyche-frame-1.0"},
                        {"series", series},
                        {"index", index},
                        {"shape", {rows, cols}},
                        {"type", type},
                        {"encoding", encoding_of(image, bytes, type, unpacked)}}
      .dump();
}

/// What a source of PVs remembers from one update to the next.
class PvaListener {
 public:
  PvaListener(const PvaPlan& plan, SourceSink& sink)
      : plan_(plan), sink_(sink), times_(plan.between, plan.gap_s) {
    if (plan.frames > 0) pass_on(sink, SeriesStart{.frames = plan.frames});
  }

  void take(const pva::Update& update) {
    switch (update.event) {
      case pva::Event::connected:
        connected_.insert(update.pv);
        break;
      case pva::Event::disconnected:
        warn("{}: the connection is lost: {}", name_of(update), update.text);
        break;
      case pva::Event::refused:
        damaged(fmt::format("{}: {}", name_of(update), update.text));
        break;
      case pva::Event::image:
        take_image(update);
        break;
      case pva::Event::numbers:
        take_numbers(update);
        break;
      case pva::Event::nothing:
        break;
    }
    if (plan_.match == PvaMatch::time) send(times_.found());
    say_who_is_silent();
  }

  bool done() const {
    const auto frames = static_cast<std::int64_t>(frames_.size());
    const bool all = plan_.frames > 0 && frames >= plan_.frames && times_.waiting() == 0;
    return all || (frames > 0 && since_frame_.seconds() > plan_.quiet_s);
  }

  void end() {
    if (plan_.match == PvaMatch::time) send(times_.found_at_end());
    pass_on(sink_, SeriesEnd{series_, true});
    if (plan_.match != PvaMatch::nothing) pass_on(sink_, SeriesEnd{series_, false});
  }

 private:
  const std::string& name_of(const pva::Update& update) const {
    return plan_.pvs[static_cast<std::size_t>(update.pv)];
  }

  void damaged(std::string why) { pass_on(sink_, DamagedMessage{std::move(why)}); }

  void take_image(const pva::Update& update) {
    const bool before = !std::exchange(seen_image_, true) && !plan_.current;
    const bool empty = update.bytes == nullptr && update.dimensions == 0;
    if (before || empty) return;
    try {
      require(update.unique_id >= plan_.first, "expected {} or more", plan_.first);
      take_frame(update, update.unique_id - plan_.first);
    } catch (const InvalidInput& error) {
      damaged(fmt::format("{}, uniqueId {}: {}", name_of(update), update.unique_id, error.what()));
    }
  }

  /// Nothing is believed of a frame, its index the least, before it was decoded.
  void take_frame(const pva::Update& update, std::int64_t index) {
    const double time =
        plan_.record_stamp || update.data_time <= 0 ? update.time : update.data_time;
    const bool restarted = is_set_back(index, time);
    std::string_view bytes(static_cast<const char*>(update.bytes), update.size);
    const std::string header = header_of_image(update, series_ + restarted, index, bytes);
    std::vector<LiveMessage> decoded = decode("json", {header, bytes}, {}, state_);
    if (restarted) begin_another_series();
    if (sink_.recorder != nullptr) sink_.recorder->add({"json", {header, std::string(bytes)}});
    pass_on(sink_, std::move(decoded), header.size() + bytes.size());
    largest_ = std::max(largest_, index);
    newest_ = std::max(newest_, time);
    if (series_ > 0) return;  // the joiner takes no other series
    since_frame_ = Stopwatch();
    frames_.insert(index);
    find_position(update, index, time);
  }

  /// Numbers that fall while the time goes on are those of another series: the detector's counter
  /// was set back. A frame that was overtaken on its way is older than the newest one.
  bool is_set_back(std::int64_t index, double time) const {
    return index < largest_ && time > newest_;
  }

  void begin_another_series() {
    largest_ = -1;
    pass_on(sink_, SeriesStart{.series = ++series_});
  }

  void find_position(const pva::Update& update, std::int64_t index, double time) {
    if (plan_.match == PvaMatch::attributes) {
      for (std::size_t i = 0; i < 2; ++i)
        require(update.has_attribute[i], "no number in an attribute '{}'", plan_.attributes[i]);
      send({{index, update.attributes[0], update.attributes[1]}});
    } else if (plan_.match == PvaMatch::time) {
      require(time > 0, "no time stamp");
      times_.add_frame(index, time + plan_.delay_s);
    }
  }

  void take_numbers(const pva::Update& update) {
    const int axis = update.pv - 1;
    if (plan_.match == PvaMatch::index) return take_by_index(update, axis);
    const bool before = seen_numbers_.insert(update.pv).second;
    if (update.times == nullptr) {  // as a PV is that nothing has been written to yet
      if (!before) damaged(fmt::format("{}: numbers without times", name_of(update)));
      return;
    }
    std::size_t refused = 0;
    for (std::size_t i = 0; i < update.count; ++i)
      refused += times_.add_sample(axis, update.times[i], update.values[i]) ? 0 : 1;
    if (refused > 0)
      damaged(fmt::format("{}: {} of {} numbers are not later than those before", name_of(update),
                          refused, update.count));
  }

  /// The numbers of all frames so far, in their order: those that are new, or not as before, which
  /// the joiner counts.
  void take_by_index(const pva::Update& update, int axis) {
    by_index_[axis].assign(update.values, update.values + update.count);
    const std::size_t both = std::min(by_index_[0].size(), by_index_[1].size());
    std::vector<TimedPosition> found;
    for (std::size_t i = 0; i < both; ++i) {
      const TimedPosition here{static_cast<std::int64_t>(i), by_index_[0][i], by_index_[1][i]};
      if (i >= sent_.size())
        sent_.push_back(here);
      else if (sent_[i].x == here.x && sent_[i].y == here.y)
        continue;
      found.push_back(here);
    }
    send(found);
  }

  void send(const std::vector<TimedPosition>& found) {
    for (const TimedPosition& each : found) {
      if (!std::isfinite(each.x) || !std::isfinite(each.y)) {
        damaged(
            fmt::format("{}: the position of frame {} is not finite", plan_.pvs[0], each.index));
        continue;
      }
      const at::Tensor row_col = at::tensor({each.y, each.x}, at::kDouble).view({1, 2});
      pass_on(sink_, PositionsMessage{each.index, row_col * plan_.unit.scale, plan_.unit.metres});
    }
  }

  void say_who_is_silent() {
    if (said_silent_ || watch_.seconds() < kSilentSeconds) return;
    said_silent_ = true;
    for (std::size_t i = 0; i < plan_.pvs.size(); ++i)
      if (!connected_.contains(static_cast<int>(i)))
        warn("{}: no answer yet; EPICS_PVA_ADDR_LIST or EPICS_PVA_NAME_SERVERS says where to ask",
             plan_.pvs[i]);
  }

  const PvaPlan& plan_;
  SourceSink& sink_;
  TimeMatch times_;
  DialectState state_;
  Stopwatch watch_, since_frame_;
  std::set<int> connected_, seen_numbers_;
  std::vector<double> by_index_[2];
  std::vector<TimedPosition> sent_;  // by index
  std::unordered_set<std::int64_t> frames_;
  std::int64_t series_ = 0, largest_ = -1;
  double newest_ = 0;
  bool seen_image_ = false, said_silent_ = false;
};

void listen_to_pvs(const PvaPlan& plan, const pva::Table& library, SourceSink& sink) {
  PvaListener listener(plan, sink);
  PvaSession session(library, plan);
  pva::Update update;
  while (!sink.queue.closed() && !listener.done()) {
    session.next(update);
    listener.take(update);
  }
  listener.end();
}

}  // namespace

SourceWork open_pva(const SourceUrl& url) {
  const pva::Table& library = pva_library(url);
  return
      [plan = pva_plan_of(url), &library](SourceSink& sink) { listen_to_pvs(plan, library, sink); };
}

}  // namespace ptyche
