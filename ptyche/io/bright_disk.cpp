#include "ptyche/io/bright_disk.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ptyche {
namespace {

constexpr std::size_t kMostCandidates = 14, kMostMiddles = 3, kFallsOfEach = 5;
constexpr std::size_t kSamplesOfRanking = 1200;
constexpr double kFitted_px = 8;  // a first fit is of a disk no larger than this
constexpr double kFirstBlur = 0.7, kSharpestStart = 0.5;
constexpr double kSameCentre_px = 0.3, kSameRadius_px = 0.1;
constexpr double kSameRadius = 0.03;                     // of two circles that say the same
constexpr double kLargestDrop = 2, kUsualError = 0.004;  // of the radius
constexpr double kSharper = 0.9, kAsCertain = 0.8;
constexpr int kPasses = 2;           // the first places are found by a disk that is too blurred
constexpr double kLeastReach = 2.2;  // px to both sides of a rim, of the last fit
constexpr double kSmallestDisk_px = 3, kLargestDisk = 0.52;  // of the detector
constexpr double kSharp = 0.05, kCertainOfBlurred = 4;  // blur over radius; disks that overlap blur
constexpr double kCertain = 0.3, kAsCertainOther = 0.85;

/// How much speaks for a circle: the light falls a lot, all around, and at a sharp radius.
double certainty_of(const DiskEdge& edge) {
  const double error = edge.radius_error / edge.circle.radius;
  return std::isfinite(error)
             ? std::clamp(edge.drop, 0.0, kLargestDrop) * edge.share / (1 + error / kUsualError)
             : 0;
}

/// At the middle of a fit's own, so that it can find a sharper edge.
double start_blur(const DiskEdge& edge) { return std::max(kSharpestStart, 0.7 * edge.blur); }

/// Fits to the circles of one image.
class Search {
 public:
  explicit Search(const DiskImage& image) : light_(light_levels(image)), sizes_{image} {
    while (std::min(sizes_.back().rows, sizes_.back().cols) >= 16)
      sizes_.push_back(halved(sizes_.back()));
  }

  std::vector<DiskEdge> edges() {
    const std::vector<Circle> circles = disk_candidates(sizes_[0]);
    for (std::size_t i = 0; i < std::min(circles.size(), kMostCandidates); ++i)
      add(from_coarse(circles[i]));
    sort();
    const std::vector<DiskEdge> first = found_;
    std::size_t middles = 0;
    for (const DiskEdge& edge : first) {
      if (middles++ == kMostMiddles) break;
      std::vector<double> radii = falls_around(sizes_[0], edge.circle.row, edge.circle.col);
      radii.resize(std::min(radii.size(), kFallsOfEach));
      for (const double radius : radii)
        add(at_full_size({edge.circle.row, edge.circle.col, radius}, kFirstBlur));
    }
    sort();
    return found_;
  }

  const LightLevels& light() const { return light_; }

 private:
  DiskEdge at_full_size(const Circle& circle, double blur) const {
    return fit_disk_edge({{&sizes_[0], 0, 0}}, circle, blur, light_,
                         {.most_samples = kSamplesOfRanking});
  }

  DiskEdge from_coarse(Circle circle) const {
    std::size_t level = 0;
    double scale = 1;
    for (; circle.radius / scale >= kFitted_px && level + 1 < sizes_.size(); ++level) scale *= 2;
    double blur = kFirstBlur;
    for (;; --level, scale /= 2) {
      if (level == 0) return at_full_size(circle, blur);
      const Circle start{(circle.row + 0.5) / scale - 0.5, (circle.col + 0.5) / scale - 0.5,
                         circle.radius / scale};
      const DiskEdge edge = fit_disk_edge({{&sizes_[level], 0, 0}}, start, blur, light_,
                                          {.most_samples = kSamplesOfRanking});
      circle = {(edge.circle.row + 0.5) * scale - 0.5, (edge.circle.col + 0.5) * scale - 0.5,
                edge.circle.radius * scale};
      blur = std::clamp(1.4 * edge.blur, 0.5, 2.0);
    }
  }

  void add(const DiskEdge& edge) {
    const bool known = std::ranges::any_of(found_, [&](const DiskEdge& other) {
      return std::hypot(edge.circle.row - other.circle.row, edge.circle.col - other.circle.col) <
                 kSameCentre_px &&
             std::abs(edge.circle.radius - other.circle.radius) < kSameRadius_px;
    });
    if (!known) found_.push_back(edge);
  }

  void sort() {
    std::ranges::stable_sort(found_, [](const DiskEdge& a, const DiskEdge& b) {
      return certainty_of(a) > certainty_of(b);
    });
  }

  LightLevels light_;
  std::vector<DiskImage> sizes_;
  std::vector<DiskEdge> found_;
};

DiskImage sum_of(const std::vector<DiskImage>& parts) {
  DiskImage sum = parts.front();
  for (std::size_t p = 1; p < parts.size(); ++p)
    for (std::size_t i = 0; i < sum.light.size(); ++i) {
      sum.light[i] += parts[p].light[i];
      sum.weight[i] += parts[p].weight[i];
    }
  return sum;
}

/// Where the disk of each part lies against `whole`, looked for from where it was thought to be.
std::vector<PlacedImage> places_of(const std::vector<PlacedImage>& parts, const DiskEdge& whole,
                                   const LightLevels& light) {
  const EdgeFit centre{.hold_shape = true, .most_samples = kSamplesOfRanking};
  const Circle& at = whole.circle;
  std::vector<PlacedImage> moved;
  for (const PlacedImage& part : parts) {
    const Circle start{at.row + part.row, at.col + part.col, at.radius};
    const Circle own =
        fit_disk_edge({{part.image, 0, 0}}, start, start_blur(whole), light, centre).circle;
    moved.push_back({part.image, own.row - at.row, own.col - at.col});
  }
  return moved;
}

double farthest_of(const std::vector<PlacedImage>& moved) {
  PlacedImage middle;
  for (const PlacedImage& each : moved) {
    middle.row += each.row / static_cast<double>(moved.size());
    middle.col += each.col / static_cast<double>(moved.size());
  }
  double farthest = 0;
  for (const PlacedImage& each : moved)
    farthest = std::max(farthest, std::hypot(each.row - middle.row, each.col - middle.col));
  return farthest;
}

/// The best circle, fitted once more to all pixels, and to the parts in their places: a disk that
/// moves is sharper then.
void fit_again(BrightDisk& disk, const DiskImage& sum, const std::vector<DiskImage>& parts,
               const LightLevels& light) {
  const EdgeFit last{.least_reach = kLeastReach};
  const DiskEdge all = fit_disk_edge({{&sum, 0, 0}}, disk.edge.circle, disk.edge.blur, light, last);
  if (certainty_of(all) > kAsCertain * certainty_of(disk.edge)) disk.edge = all;
  if (parts.size() < 2) return;
  std::vector<PlacedImage> moved;
  for (const DiskImage& part : parts) moved.push_back({&part, 0, 0});
  DiskEdge put_together = disk.edge;
  for (int pass = 0; pass < kPasses; ++pass) {
    moved = places_of(moved, put_together, light);
    put_together = fit_disk_edge(moved, put_together.circle, start_blur(put_together), light, last);
  }
  const bool sharper = put_together.blur < kSharper * disk.edge.blur;
  if (!sharper || certainty_of(put_together) <= certainty_of(disk.edge)) return;
  disk.edge = put_together;
  disk.moves_px = farthest_of(moved);
}

std::string doubt_of(const BrightDisk& disk, const DiskImage& image) {
  const double size = static_cast<double>(std::min(image.rows, image.cols));
  const double radius = disk.edge.circle.radius;
  if (radius < kSmallestDisk_px)
    return fmt::format("a disk of fewer than {} px is too small", kSmallestDisk_px);
  if (radius > kLargestDisk * size) return "it is hardly smaller than the detector";
  if (disk.certainty <
      kCertain + kCertainOfBlurred * std::max(0.0, disk.edge.blur / radius - kSharp))
    return fmt::format(
        "the light falls there along {:.0f} % of the rim, by {:.0f} % within {:.1f} px",
        100 * disk.edge.share, 100 * (1 - std::exp(-std::max(0.0, disk.edge.drop))),
        2 * disk.edge.blur);
  if (disk.other_certainty > kAsCertainOther * disk.certainty)
    return fmt::format("a circle of {:.1f} px fits as well", disk.other.circle.radius);
  return "";
}

}  // namespace

BrightDisk bright_disk_of(std::vector<DiskImage> parts) {
  DiskImage sum = sum_of(parts);
  leave_out_outliers(sum);
  for (DiskImage& part : parts)
    for (std::size_t i = 0; i < sum.weight.size(); ++i)
      if (sum.weight[i] == 0) part.weight[i] = 0;
  Search search(sum);
  const std::vector<DiskEdge> edges = search.edges();
  BrightDisk disk;
  if (edges.empty()) {
    disk.doubt = "nowhere does the light fall along a circle";
    return disk;
  }
  disk.edge = edges.front();
  fit_again(disk, sum, parts, search.light());
  disk.certainty = certainty_of(disk.edge);
  for (const DiskEdge& edge : edges)
    if (std::abs(edge.circle.radius / disk.edge.circle.radius - 1) > kSameRadius) {
      disk.other = edge;
      disk.other_certainty = certainty_of(edge);
      break;
    }
  disk.doubt = doubt_of(disk, sum);
  return disk;
}

}  // namespace ptyche
