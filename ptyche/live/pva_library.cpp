// libptyche_pva.so: subscriptions to EPICS PVs as plain structs. A library of its own that the
// program opens (pva_library.h); it knows nothing of LibTorch.
#include "ptyche/live/pva_library.h"

#include <pvxs/client.h>
#include <pvxs/data.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ptyche::pva {
namespace {

/// One array of numbers longer than this is damage or malice.
constexpr std::size_t kMostNumbers = 10'000'000;

template <std::size_t kBytes>
void set_text(char (&to)[kBytes], const std::string& text) {
  std::snprintf(to, kBytes, "%s", text.c_str());
}

/// NumPy's name of an array's elements; empty for those that are no numbers.
const char* numpy_name(pvxs::ArrayType type) {
  switch (type) {
    case pvxs::ArrayType::UInt8:
      return "uint8";
    case pvxs::ArrayType::UInt16:
      return "uint16";
    case pvxs::ArrayType::UInt32:
      return "uint32";
    case pvxs::ArrayType::UInt64:
      return "uint64";
    case pvxs::ArrayType::Int8:
      return "int8";
    case pvxs::ArrayType::Int16:
      return "int16";
    case pvxs::ArrayType::Int32:
      return "int32";
    case pvxs::ArrayType::Int64:
      return "int64";
    case pvxs::ArrayType::Float32:
      return "float32";
    case pvxs::ArrayType::Float64:
      return "float64";
    default:
      return "";
  }
}

using AnyArray = pvxs::shared_array<const void>;
using Structures = pvxs::shared_array<const pvxs::Value>;
using Numbers = pvxs::shared_array<const double>;

double seconds_of(const pvxs::Value& stamp) {
  std::int64_t seconds = 0, nanoseconds = 0;
  if (!stamp["secondsPastEpoch"].as(seconds) || !stamp["nanoseconds"].as(nanoseconds)) return 0;
  return static_cast<double>(seconds) + 1e-9 * static_cast<double>(nanoseconds);
}

std::string kind_of(const pvxs::Value& value) {
  return value.id().empty() ? "a structure without a name" : value.id();
}

/// What holds the memory that an Update points to.
struct Held {
  AnyArray pixels;
  Numbers values;
  std::vector<double> times;
  double one_value = 0;
};

void refuse(Update& update, const std::string& why) {
  update.event = Event::refused;
  set_text(update.text, why);
}

/// Attributes of the image by their names, as far as they are numbers.
void find_attributes(const pvxs::Value& image, const std::string (&names)[2], Update& update) {
  Structures all;
  if (names[0].empty() || !image["attribute"].as(all)) return;
  for (const pvxs::Value& each : all) {
    std::string name;
    if (!each["name"].as(name)) continue;
    for (int i = 0; i < 2; ++i)
      if (name == names[i]) update.has_attribute[i] = each["value->"].as(update.attributes[i]);
  }
}

void read_image(const pvxs::Value& image, const std::string (&attributes)[2], Held& held,
                Update& update) {
  Structures dimensions;
  if (!image["value"].valid() || !image["uniqueId"].as(update.unique_id) ||
      !image["dimension"].as(dimensions))
    return refuse(update, "expected an NTNDArray, found " + kind_of(image));
  update.event = Event::image;
  update.dimensions = static_cast<int>(std::min<std::size_t>(dimensions.size(), 1000));
  for (int i = 0; i < std::min(update.dimensions, kMostDimensions); ++i)
    dimensions[static_cast<std::size_t>(i)]["size"].as(update.sizes[i]);
  std::string codec;
  image["codec.name"].as(codec);
  set_text(update.codec, codec);
  image["codec.parameters->"].as(update.codec_type);
  image["uncompressedSize"].as(update.unpacked_bytes);
  image["compressedSize"].as(update.packed_bytes);
  update.data_time = seconds_of(image["dataTimeStamp"]);
  update.time = seconds_of(image["timeStamp"]);
  find_attributes(image, attributes, update);
  held.pixels = {};
  if (!image["value->"].as(held.pixels)) return;  // no array yet
  set_text(update.type, numpy_name(held.pixels.original_type()));
  update.bytes = held.pixels.data();
  update.size = held.pixels.size() * pvxs::elementSize(held.pixels.original_type());
}

/// Times of the single numbers: seconds, or structures as a PV's own time stamp is.
bool read_times(const pvxs::Value& field, std::vector<double>& times) {
  times.clear();
  Structures stamps;
  Numbers seconds;
  if (field.type() == pvxs::TypeCode::StructA && field.as(stamps)) {
    if (stamps.size() > kMostNumbers) return false;
    for (const pvxs::Value& stamp : stamps) times.push_back(seconds_of(stamp));
    return true;
  }
  if (!field.as(seconds) || seconds.size() > kMostNumbers) return false;
  times.assign(seconds.begin(), seconds.end());
  return true;
}

/// A number (NTScalar), an array of them (NTScalarArray), or `values` with their times in `t`.
void read_numbers(const pvxs::Value& from, Held& held, Update& update) {
  const pvxs::Value many = from["values"].valid() ? from["values"] : from["value"];
  const double stamp = seconds_of(from["timeStamp"]);
  held.times.clear();
  if (many.valid() && many.type().isarray() && many.as(held.values)) {
    update.values = held.values.data();
    update.count = held.values.size();
    if (from["t"].valid() && !read_times(from["t"], held.times))
      return refuse(update, "times in 't' that are none");
    if (held.times.empty() && update.count == 1 && stamp > 0) held.times = {stamp};
  } else if (many.as(held.one_value)) {
    update.values = &held.one_value;
    update.count = 1;
    if (stamp > 0) held.times = {stamp};
  } else {
    return refuse(update, "expected numbers, found " + kind_of(from));
  }
  if (update.count > kMostNumbers) return refuse(update, "an array of too many numbers");
  if (!held.times.empty() && held.times.size() != update.count)
    return refuse(update, "as many times as numbers were expected");
  if (!held.times.empty()) update.times = held.times.data();
  update.event = Event::numbers;
}

/// A PV and all that is known of it: updates have only what has changed.
struct Channel {
  bool is_image = false;
  std::shared_ptr<pvxs::client::Subscription> subscription;
  pvxs::Value whole;
};

class Session {
 public:
  explicit Session(const Request& request)
      : context_(pvxs::client::Config::fromEnv().build()),
        channels_(static_cast<std::size_t>(request.count)) {
    for (int i = 0; i < 2; ++i)
      if (request.attributes[i] != nullptr) attributes_[i] = request.attributes[i];
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      channels_[i].is_image = request.pvs[i].is_image;
      channels_[i].subscription = context_.monitor(request.pvs[i].name)
                                      .record("queueSize", request.queue)
                                      .maskConnected(false)
                                      .maskDisconnected(false)
                                      .event([this, i](pvxs::client::Subscription&) { wake(i); })
                                      .exec();
    }
  }
  /// The callbacks end with the subscriptions, before what they use.
  ~Session() {
    for (Channel& channel : channels_) channel.subscription->cancel();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void next(double wait_s, Update& update) {
    update = {};
    std::size_t at = 0;
    while (update.event == Event::nothing && find_ready(wait_s, at)) {
      update.pv = static_cast<int>(at);
      if (take(channels_[at], update)) wake(at);  // there may be more; the others first
    }
  }

 private:
  void wake(std::size_t channel) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready_.push_back(channel);
    filled_.notify_one();
  }

  bool find_ready(double wait_s, std::size_t& channel) {
    std::unique_lock<std::mutex> lock(mutex_);
    const bool some = filled_.wait_for(lock, std::chrono::duration<double>(wait_s),
                                       [this] { return !ready_.empty(); });
    if (!some) return false;
    channel = ready_.front();
    ready_.pop_front();
    return true;
  }

  /// False once the channel's queue is empty: it wakes this again.
  bool take(Channel& channel, Update& update) {
    try {
      const pvxs::Value change = channel.subscription->pop();
      if (!change.valid()) return false;
      if (channel.whole.valid())
        channel.whole.assign(change);
      else
        channel.whole = change;
      if (channel.is_image)
        read_image(channel.whole, attributes_, held_, update);
      else
        read_numbers(channel.whole, held_, update);
    } catch (const pvxs::client::Connected&) {
      update.event = Event::connected;
    } catch (const pvxs::client::Disconnect& lost) {
      channel.whole = {};  // what comes back may be of another kind
      update.event = Event::disconnected;
      set_text(update.text, lost.what());
    } catch (const std::exception& error) {
      refuse(update, error.what());
    }
    return true;
  }

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<std::size_t> ready_;
  std::string attributes_[2];
  Held held_;
  pvxs::client::Context context_;
  std::vector<Channel> channels_;
};

void* open_session(const Request& request, char* text, std::size_t bytes) {
  try {
    return new Session(request);
  } catch (const std::exception& error) {
    std::snprintf(text, bytes, "%s", error.what());
    return nullptr;
  }
}

void next_update(void* session, double wait_s, Update& update) {
  try {
    static_cast<Session*>(session)->next(wait_s, update);
  } catch (const std::exception& error) {  // no memory, most likely
    refuse(update, error.what());
  }
}

void close_session(void* session) { delete static_cast<Session*>(session); }

}  // namespace
}  // namespace ptyche::pva

extern "C" __attribute__((visibility("default"))) const ptyche::pva::Table* ptyche_pva_plugin() {
  using namespace ptyche::pva;
  static const Table table = [] {
    Table made;
    made.open = open_session;
    made.next = next_update;
    made.close = close_session;
    return made;
  }();
  return &table;
}
