// A server of EPICS PVs for tests: what it holds and posts is told on its standard input, a line of
// JSON for each step, with the bytes of an image behind its line. The first line that it prints has
// the environment variables with which a client finds it; it ends with its input, when all that was
// posted has been sent.
#include <pvxs/client.h>
#include <pvxs/nt.h>
#include <pvxs/server.h>
#include <pvxs/source.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using Json = nlohmann::json;
using pvxs::TypeCode;
using pvxs::Value;
namespace server = pvxs::server;
namespace members = pvxs::members;

/// A PV, and those who listen to it.
class Pv {
 public:
  explicit Pv(Value first) : last_(std::move(first)) {}

  void subscribe(std::unique_ptr<server::MonitorSetupOp>&& setup) {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<server::MonitorControlOp> listener(setup->connect(last_.cloneEmpty()));
    listener->onStart([this](bool starts) {
      const std::lock_guard<std::mutex> lock(mutex_);
      started_ = started_ || starts;
      changed_.notify_all();
    });
    listener->post(last_.clone());
    listeners_.push_back(std::move(listener));
  }

  void wait_for_a_listener() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return started_; });
  }

  /// Waits for room in every queue; `squash`: puts it onto what has not been sent yet.
  void post(const Value& value, bool squash) {
    while (!squash && queued() > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = value;
    for (const auto& each : listeners_) each->post(value.clone());
  }

  /// The most updates that wait for one listener.
  std::size_t queued() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t most = 0;
    for (const auto& each : listeners_) {
      server::MonitorStat state;
      each->stats(state);
      most = std::max(most, state.nQueue);
    }
    return most;
  }

  Value empty() const { return last_.cloneEmpty(); }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<server::MonitorControlOp>> listeners_;
  Value last_;
  bool started_ = false;
};

class Pvs : public server::Source {
 public:
  void onSearch(Search& search) override {
    for (auto& name : search)
      if (pvs_.count(name.name()) > 0) name.claim();
  }
  void onCreate(std::unique_ptr<server::ChannelControl>&& channel) override {
    const auto found = pvs_.find(channel->name());
    if (found == pvs_.end()) return;
    Pv* const pv = found->second.get();
    channel->onSubscribe(
        [pv](std::unique_ptr<server::MonitorSetupOp>&& setup) { pv->subscribe(std::move(setup)); });
    channels_.push_back(std::move(channel));
  }

  void add(const std::string& name, Value first) {
    pvs_[name] = std::unique_ptr<Pv>(new Pv(std::move(first)));
  }
  Pv& at(const std::string& name) { return *pvs_.at(name); }
  std::size_t queued() {
    std::size_t most = 0;
    for (auto& each : pvs_) most = std::max(most, each.second->queued());
    return most;
  }

 private:
  std::map<std::string, std::unique_ptr<Pv>> pvs_;
  std::vector<std::shared_ptr<server::ChannelControl>> channels_;
};

std::vector<pvxs::Member> stamp() {
  return {members::Int64("secondsPastEpoch"), members::Int32("nanoseconds"),
          members::Int32("userTag")};
}

/// What a PV is of: an image, a number, numbers, or numbers with their times as ptychodus reads
/// them.
Value first_of(const std::string& kind) {
  if (kind == "image") return pvxs::nt::NTNDArray{}.create();
  if (kind == "number") return pvxs::nt::NTScalar{TypeCode::Float64}.create();
  if (kind == "numbers") return pvxs::nt::NTScalar{TypeCode::Float64A}.create();
  if (kind == "timed")
    return pvxs::TypeDef(TypeCode::Struct,
                         {members::Float64A("values"), members::StructA("t", "time_t", stamp())})
        .create();
  return pvxs::nt::NTScalar{TypeCode::String}.create();
}

void set_time(Value at, double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds);
  at["secondsPastEpoch"] = whole;
  at["nanoseconds"] = static_cast<std::int32_t>((seconds - static_cast<double>(whole)) * 1e9 + 0.5);
}

template <class T>
void set_pixels(Value image, const char* member, const std::string& bytes) {
  pvxs::shared_array<T> pixels(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(pixels.data(), bytes.data(), pixels.size() * sizeof(T));
  image[std::string("value->") + member] = pixels.freeze();
}

void set_pixels(Value image, const std::string& type, const std::string& bytes) {
  if (type == "uint16") return set_pixels<std::uint16_t>(image, "ushortValue", bytes);
  if (type == "uint32") return set_pixels<std::uint32_t>(image, "uintValue", bytes);
  if (type == "int32") return set_pixels<std::int32_t>(image, "intValue", bytes);
  if (type == "float32") return set_pixels<float>(image, "floatValue", bytes);
  if (type == "uint64") return set_pixels<std::uint64_t>(image, "ulongValue", bytes);
  if (type == "uint8") return set_pixels<std::uint8_t>(image, "ubyteValue", bytes);
}

void set_dimensions(Value image, const Json& sizes) {
  pvxs::shared_array<Value> all(sizes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = image["dimension"].allocMember();
    all[i]["size"] = sizes[i].get<std::int32_t>();
    all[i]["fullSize"] = sizes[i].get<std::int32_t>();
    all[i]["binning"] = 1;
  }
  image["dimension"] = all.freeze();
}

void set_attributes(Value image, const Json& attributes) {
  pvxs::shared_array<Value> all(attributes.size());
  std::size_t i = 0;
  for (const auto& each : attributes.items()) {
    all[i] = image["attribute"].allocMember();
    all[i]["name"] = each.key();
    all[i]["value"] = each.value().get<double>();
    ++i;
  }
  image["attribute"] = all.freeze();
}

Value image_of(Value image, const Json& step) {
  std::string bytes(step.value("bytes", std::size_t{0}), '\0');
  std::cin.read(&bytes[0], static_cast<std::streamsize>(bytes.size()));
  set_pixels(image, step.value("type", ""), bytes);
  set_dimensions(image, step["sizes"]);
  image["uniqueId"] = step["id"].get<std::int32_t>();
  image["codec.name"] = step.value("codec", std::string());  // what is not set stays as it was
  if (step.contains("parameter")) image["codec.parameters"] = step["parameter"].get<std::int32_t>();
  image["uncompressedSize"] = step.value("unpacked", std::int64_t{0});
  image["compressedSize"] = step.value("packed", std::int64_t{0});
  if (step.contains("time")) set_time(image["dataTimeStamp"], step["time"]);
  set_time(image["timeStamp"], step.value("record_time", 0.0));
  if (step.contains("attributes")) set_attributes(image, step["attributes"]);
  return image;
}

pvxs::shared_array<const double> numbers_of(const Json& list) {
  pvxs::shared_array<double> numbers(list.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = list[i].get<double>();
  return numbers.freeze();
}

Value numbers_of(Value value, const Json& step) {
  if (step.contains("times")) {
    pvxs::shared_array<Value> times(step["times"].size());
    for (std::size_t i = 0; i < times.size(); ++i) {
      times[i] = value["t"].allocMember();
      set_time(times[i], step["times"][i]);
    }
    value["values"] = numbers_of(step["values"]);
    value["t"] = times.freeze();
  } else if (step.contains("values")) {
    value["value"] = numbers_of(step["values"]);
  } else {
    value["value"] = step["value"].get<double>();
    set_time(value["timeStamp"], step["time"]);
  }
  return value;
}

void do_step(Pvs& pvs, const Json& step) {
  const std::string name = step["pv"];
  if (step.contains("holds")) return pvs.add(name, first_of(step["holds"]));
  Pv& pv = pvs.at(name);
  if (step.contains("wait")) return pv.wait_for_a_listener();
  const Value empty = pv.empty();
  pv.post(step.contains("id") ? image_of(empty, step) : numbers_of(empty, step),
          step.value("squash", false));
}

}  // namespace

int main() {
  const auto pvs = std::make_shared<Pvs>();
  auto server = server::Config::isolated().build();
  server.addSource("test", pvs);
  server.start();
  std::map<std::string, std::string> environment;
  server.clientConfig().updateDefs(environment);
  std::cout << Json(environment).dump() << std::endl;
  for (std::string line; std::getline(std::cin, line);) do_step(*pvs, Json::parse(line));
  while (pvs->queued() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // what is on its way
}
