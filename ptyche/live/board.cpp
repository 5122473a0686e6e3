#include "ptyche/live/board.h"

#include <ATen/Parallel.h>
#include <omp.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace ptyche {
namespace {

using BoardJson = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 4000;

/// The better one; an unknown deviance never beats a known one.
SharedImage better_of(const SharedImage& network, const SharedImage& solver) {
  if (!solver) return network;
  if (!network) return solver;
  if (std::isnan(solver->deviance) || solver->partial) return network;
  return !(network->deviance < solver->deviance) ? solver : network;
}

}  // namespace

/// LibTorch sets the number at the first use in a thread: that first.
void work_on_one_thread() {
  at::get_num_threads();
  omp_set_num_threads(1);
}

void LiveBoard::changed() {
  ++version_;
  changed_.notify_all();
}

void LiveBoard::publish(const LiveStatus& status) {
  const std::lock_guard lock(mutex_);
  status_ = status;
  changed();
}

void LiveBoard::publish(SharedImage image, bool is_solver) {
  const std::lock_guard lock(mutex_);
  (is_solver ? solver_ : network_) = std::move(image);
  changed();
}

void LiveBoard::publish_other(SharedImage image) {
  const std::lock_guard lock(mutex_);
  other_ = std::move(image);
  changed();
}

void LiveBoard::publish_pattern(const at::Tensor& counts, std::int64_t index) {
  const std::lock_guard lock(mutex_);
  pattern_ = counts;
  pattern_index_ = index;
}

void LiveBoard::publish_positions(std::vector<float> rows_and_cols) {
  const std::lock_guard lock(mutex_);
  positions_ = std::move(rows_and_cols);
}

/// Of a long run every other point goes, so that the curve never has more than kMostPoints.
void LiveBoard::add(const LivePoint& point) {
  const std::lock_guard lock(mutex_);
  points_.push_back(point);
  ++points_added_;
  if (points_.size() <= kMostPoints) return;
  std::vector<LivePoint> kept;
  for (std::size_t i = 0; i < points_.size(); i += 2) kept.push_back(points_[i]);
  points_ = std::move(kept);
}

SharedImage LiveBoard::shown() const {
  const std::lock_guard lock(mutex_);
  return better_of(network_, solver_);
}
SharedImage LiveBoard::network() const {
  const std::lock_guard lock(mutex_);
  return network_;
}
SharedImage LiveBoard::solver() const {
  const std::lock_guard lock(mutex_);
  return solver_;
}
SharedImage LiveBoard::other() const {
  const std::lock_guard lock(mutex_);
  return other_;
}

namespace {

/// Not-a-number becomes null.
BoardJson number(double value) { return std::isfinite(value) ? BoardJson(value) : BoardJson(); }

BoardJson described(const SharedImage& image) {
  if (!image) return BoardJson();
  return {{"by", image->by},
          {"frames", image->frames},
          {"partial", image->partial},
          {"seconds", number(image->seconds)},
          {"deviance", number(image->deviance)},
          {"trust", image->trust.defined()},
          {"rows", image->image.rows()},
          {"cols", image->image.cols()},
          {"origin_row", image->image.origin_row},
          {"origin_col", image->image.origin_col},
          {"pixel_m", image->image.geometry.object_pixel_m}};
}

}  // namespace

std::string LiveBoard::status_json() const {
  const std::lock_guard lock(mutex_);
  if (status_text_.of == version_) return status_text_.text;
  const BoardJson status = {
      {"version", version_},
      {"source", status_.source},
      {"state", status_.state},
      {"counts", to_json(status_.counts)},
      {"expected", status_.expected},
      {"behind", status_.behind},
      {"waiting_messages", status_.waiting_messages},
      {"seconds", number(status_.seconds)},
      {"rate", number(status_.rate)},
      {"lag_seconds", number(status_.lag_seconds)},
      {"bytes_in_memory", status_.bytes_in_memory},
      {"bytes_on_disk", status_.bytes_on_disk},
      {"stopped_by", status_.stopped_by},
      {"pattern_index", pattern_.defined() ? BoardJson(pattern_index_) : BoardJson()},
      {"network", described(network_)},
      {"solver", described(solver_)},
      {"other", described(other_)},
      {"shown", described(better_of(network_, solver_))}};
  status_text_ = {version_, status.dump(-1, ' ', false, BoardJson::error_handler_t::replace)};
  return status_text_.text;
}

std::string LiveBoard::curves_json() const {
  const std::lock_guard lock(mutex_);
  if (curves_text_.of == points_added_) return curves_text_.text;
  BoardJson points = BoardJson::array();
  for (const LivePoint& point : points_)
    points.push_back({number(point.seconds), point.joined, number(point.rate),
                      number(point.network_deviance), number(point.solver_deviance),
                      number(point.half_set_frc)});
  const BoardJson curves = {{"columns", {"seconds", "joined", "rate", "network", "solver", "frc"}},
                            {"points", std::move(points)}};
  curves_text_ = {points_added_, curves.dump()};
  return curves_text_.text;
}

std::vector<float> LiveBoard::positions() const {
  const std::lock_guard lock(mutex_);
  return positions_;
}

std::pair<at::Tensor, std::int64_t> LiveBoard::pattern() const {
  const std::lock_guard lock(mutex_);
  return {pattern_, pattern_index_};
}

std::uint64_t LiveBoard::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::uint64_t LiveBoard::wait(std::uint64_t seen) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::seconds(1), [&] { return version_ > seen; });
  return version_;
}

}  // namespace ptyche
