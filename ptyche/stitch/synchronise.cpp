#include "ptyche/stitch/synchronise.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <utility>
#include <vector>

#include "ptyche/core/wide_registers.h"
#include "ptyche/engine/cuda/device_kernels.h"
#include "ptyche/group/make_groups.h"
#include "ptyche/stitch/neighbour_graph.h"

namespace ptyche {
namespace {

using Complex = std::complex<double>;
using Factors = std::vector<Complex>;

constexpr std::int64_t kNeighbours = 16;  // enough to tie a scan together in every direction

std::vector<NodePlace> as_places(const at::Tensor& corners) {
  std::vector<NodePlace> list;
  const at::Tensor whole = corners.to(at::kCPU, at::kLong).contiguous();
  const auto* value = whole.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < whole.size(0); ++i) list.push_back({value[2 * i], value[2 * i + 1]});
  return list;
}

/// Whether patches overlap by more than half in each direction.
bool overlap_by_half(const NodePlace& a, const NodePlace& b, std::int64_t size) {
  return std::max(std::abs(a.row - b.row), std::abs(a.col - b.col)) < size / 2;
}

/// Patches of which one is among the nearest of the other, and which overlap by half: (m, 2) int64,
/// each pair once, with the patch of the lower number first.
at::Tensor pairs_of(const std::vector<NodePlace>& places, const at::Tensor& corners,
                    std::int64_t size) {
  const auto count = static_cast<std::int64_t>(places.size());
  const at::Tensor nearest = nearest_points(corners.to(at::kCPU, at::kDouble),
                                            std::min<std::int64_t>(kNeighbours + 1, count));
  const std::int64_t near = nearest.size(1);
  const auto* list = nearest.const_data_ptr<std::int64_t>();
  std::vector<std::int64_t> pairs;
  for (std::int64_t own = 0; own < count; ++own)
    for (std::int64_t i = 1; i < near; ++i) {
      const std::int64_t other = list[own * near + i];
      const auto* const theirs = list + other * near;
      const bool twice = other < own && std::find(theirs + 1, theirs + near, own) != theirs + near;
      if (twice || !overlap_by_half(places[static_cast<std::size_t>(own)],
                                    places[static_cast<std::size_t>(other)], size))
        continue;
      pairs.insert(pairs.end(), {std::min(own, other), std::max(own, other)});
    }
  return at::tensor(pairs, at::kLong).view({-1, 2});
}

/// Of two rows of patches, which lie on each other, the sum of conj(a) b, each times its weight's
/// root. Real and imaginary parts alternate.
PTYCHE_WIDE Complex product_of_rows(const float* a, const float* b, const float* root_a,
                                    const float* root_b, std::int64_t count) {
  float re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
  for (std::int64_t i = 0; i < count; ++i) {
    const float root = root_a[i] * root_b[i];
    re += root * (a[2 * i] * b[2 * i] + a[2 * i + 1] * b[2 * i + 1]);
    im += root * (a[2 * i] * b[2 * i + 1] - a[2 * i + 1] * b[2 * i]);
  }
  return {re, im};
}

/// sum over the overlap of conj(a) b, each times its weight's root, for patches whose corners
/// differ by (down, right).
Complex overlap_product(const float* a, const float* b, const float* root, std::int64_t size,
                        std::int64_t down, std::int64_t right) {
  const std::int64_t col = std::max<std::int64_t>(right, 0), width = size - std::abs(right);
  Complex sum = 0;
  for (std::int64_t row = std::max<std::int64_t>(down, 0);
       row < size + std::min<std::int64_t>(down, 0); ++row) {
    const std::int64_t own = row * size + col, other = own - down * size - right;
    sum += product_of_rows(a + 2 * own, b + 2 * other, root + own, root + other, width);
  }
  return sum;
}

/// overlap_product of every pair: (m) complex128.
at::Tensor products_here(const at::Tensor& patches, const at::Tensor& roots,
                         const at::Tensor& pairs, const std::vector<NodePlace>& places) {
  constexpr std::int64_t kPairsAtOnce = 16;
  const std::int64_t size = patches.size(1), values = 2 * size * size;
  const auto* data = reinterpret_cast<const float*>(patches.const_data_ptr());
  const auto* root = roots.const_data_ptr<float>();
  const auto* pair = pairs.const_data_ptr<std::int64_t>();
  at::Tensor products = at::empty({pairs.size(0)}, at::kComplexDouble);
  auto* found = reinterpret_cast<Complex*>(products.mutable_data_ptr());
  at::parallel_for(0, pairs.size(0), kPairsAtOnce, [&](std::int64_t i, std::int64_t last) {
    for (; i < last; ++i) {
      const std::int64_t own = pair[2 * i], other = pair[2 * i + 1];
      const NodePlace &a = places[static_cast<std::size_t>(own)],
                      &b = places[static_cast<std::size_t>(other)];
      found[i] = overlap_product(data + own * values, data + other * values, root, size,
                                 b.row - a.row, b.col - a.col);
    }
  });
  return products;
}

/// The same by LibTorch's operations, of patches `own` (k, N, N) with those of `all` (n, N, N) that
/// lie `offset` (k, 2) px farther.
at::Tensor products_by_operations(const at::Tensor& own, const at::Tensor& all,
                                  const at::Tensor& roots, const at::Tensor& other,
                                  const at::Tensor& offset) {
  const std::int64_t size = own.size(-1);
  const auto along = [&](std::int64_t axis) {
    return at::arange(size, offset.options()) - offset.select(1, axis).unsqueeze(1);
  };
  const at::Tensor row = along(0).unsqueeze(2), col = along(1).unsqueeze(1);
  const at::Tensor inside = row.ge(0) * row.lt(size) * (col.ge(0) * col.lt(size));
  const at::Tensor pixel = row.clamp(0, size - 1) * size + col.clamp(0, size - 1);
  const at::Tensor index = other.view({-1, 1, 1}) * (size * size) + pixel;
  const at::Tensor theirs = all.view(-1).index_select(0, index.view(-1)).view_as(own);
  const at::Tensor root = roots.reshape(-1).index_select(0, pixel.view(-1)).view_as(own) * roots;
  return (own.conj() * theirs * (root * inside)).sum({1, 2}, false, at::kComplexDouble);
}

/// overlap_product of every pair, on the device of the patches.
at::Tensor products_there(const at::Tensor& patches, const at::Tensor& roots,
                          const at::Tensor& pairs, const at::Tensor& corners) {
  constexpr std::int64_t kAtOnce = 256;
  const at::Tensor whole = corners.to(patches.device(), at::kLong).contiguous();
  const at::Tensor listed = pairs.to(patches.device());
  if (cuda::has_kernels(patches.device()))
    return cuda::overlap_products(patches, roots, whole, listed);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& some : listed.split(kAtOnce)) {
    const at::Tensor own = some.select(1, 0), other = some.select(1, 1);
    parts.push_back(
        products_by_operations(patches.index_select(0, own), patches, roots, other,
                               whole.index_select(0, other) - whole.index_select(0, own)));
  }
  return at::cat(parts);
}

/// Patches and how they agree with their neighbours.
///   links  the weight of each is to be found with the factors
struct Agreements {
  NeighbourGraph links;
  std::vector<std::int64_t> twin;  // of every link, the number of the same one seen from the other
  Factors agreement;               // of every link; 0 until it is known
  std::vector<double> strength;    // of a patch, the sum of its agreements' sizes
};

/// A link's agreement, from either of its patches.
void set_agreement(Agreements& all, std::int64_t link, Complex agreement) {
  all.agreement[static_cast<std::size_t>(link)] = agreement;
  all.agreement[static_cast<std::size_t>(all.twin[static_cast<std::size_t>(link)])] =
      std::conj(agreement);
}

/// With the products (m) complex128 of the pairs (m, 2), where they are known.
Agreements agreements_of(std::int64_t count, const at::Tensor& pairs, const at::Tensor& products) {
  const auto* pair = pairs.const_data_ptr<std::int64_t>();
  Agreements all;
  std::vector<std::int64_t>& first = all.links.first;
  first.assign(static_cast<std::size_t>(count) + 1, 0);
  for (std::int64_t i = 0; i < pairs.numel(); ++i) ++first[static_cast<std::size_t>(pair[i]) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  all.links.other.resize(static_cast<std::size_t>(pairs.numel()));
  all.links.weight.resize(all.links.other.size());
  all.twin.resize(all.links.other.size());
  all.agreement.resize(all.links.other.size());
  std::vector<std::int64_t> end(first.begin(), first.end() - 1);
  const at::Tensor here = products.defined() ? products.cpu().contiguous() : products;
  for (std::int64_t i = 0; i < pairs.size(0); ++i) {
    const auto own = static_cast<std::size_t>(pair[2 * i]),
               other = static_cast<std::size_t>(pair[2 * i + 1]);
    const std::int64_t there = end[own]++, back = end[other]++;
    all.links.other[static_cast<std::size_t>(there)] = static_cast<std::int32_t>(other);
    all.links.other[static_cast<std::size_t>(back)] = static_cast<std::int32_t>(own);
    all.twin[static_cast<std::size_t>(there)] = back;
    all.twin[static_cast<std::size_t>(back)] = there;
    if (here.defined())
      set_agreement(all, there, reinterpret_cast<const Complex*>(here.const_data_ptr())[i]);
  }
  return all;
}

void measure_strength(Agreements& all) {
  all.strength.assign(static_cast<std::size_t>(all.links.count()), 0);
  for (std::size_t k = 0; k < all.strength.size(); ++k)
    for (auto i = all.links.first[k]; i < all.links.first[k + 1]; ++i)
      all.strength[k] += std::abs(all.agreement[static_cast<std::size_t>(i)]);
}

/// sum over patch k's links of agreement times the other's factor.
Complex pull_on(const Agreements& all, const Factors& factors, std::size_t k) {
  Complex pull = 0;
  for (auto i = static_cast<std::size_t>(all.links.first[k]);
       i < static_cast<std::size_t>(all.links.first[k + 1]); ++i)
    pull += all.agreement[i] * factors[static_cast<std::size_t>(all.links.other[i])];
  return pull;
}

Complex unit(Complex pull, Complex otherwise) {
  const double size = std::abs(pull);
  return size > 0 ? pull / size : otherwise;
}

/// Each patch as those that had their factor before it would have it: from one patch outwards, to
/// the neighbours of those that have theirs.
Factors grown(const Agreements& all) {
  Factors factors(static_cast<std::size_t>(all.links.count()));  // 0: not yet
  std::vector<char> waits(factors.size());
  std::vector<std::size_t> queue;
  for (std::size_t seed = 0; seed < factors.size(); ++seed) {
    if (waits[seed] != 0) continue;
    queue.assign(1, seed);
    waits[seed] = 1;
    for (std::size_t at = 0; at < queue.size(); ++at) {
      const std::size_t k = queue[at];
      factors[k] = unit(pull_on(all, factors, k), 1);
      for (auto i = all.links.first[k]; i < all.links.first[k + 1]; ++i) {
        const auto other = static_cast<std::size_t>(all.links.other[static_cast<std::size_t>(i)]);
        if (!std::exchange(waits[other], 1)) queue.push_back(other);
      }
    }
  }
  return factors;
}

constexpr std::int64_t kPatchesOfThread = 512;

// An error that alternates from patch to patch dies away in damped rounds, too.
constexpr double kDamping = 0.5;

/// Rounds of the power method: every factor towards the weighted mean of its neighbours.
void turn(const Agreements& all, Factors& factors, int rounds) {
  Factors next(factors.size());
  for (int round = 0; round < rounds; ++round) {
    at::parallel_for(
        0, static_cast<std::int64_t>(factors.size()), kPatchesOfThread,
        [&](std::int64_t begin, std::int64_t end) {
          for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
            next[k] = unit(pull_on(all, factors, k) + kDamping * all.strength[k] * factors[k],
                           factors[k]);
        });
    factors.swap(next);
  }
}

/// Slope of what is maximised along each factor's angle, and, as the links' weights, its bend;
/// bends of links that disagree by more than a quarter turn are 0.
std::vector<double> slopes_and_bends(Agreements& all, const Factors& factors) {
  std::vector<double> slopes(factors.size());
  at::parallel_for(
      0, static_cast<std::int64_t>(factors.size()), kPatchesOfThread,
      [&](std::int64_t begin, std::int64_t end) {
        for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k)
          for (auto i = static_cast<std::size_t>(all.links.first[k]);
               i < static_cast<std::size_t>(all.links.first[k + 1]); ++i) {
            const Complex agreement = std::conj(factors[k]) * all.agreement[i] *
                                      factors[static_cast<std::size_t>(all.links.other[i])];
            slopes[k] += agreement.imag();
            all.links.weight[i] = std::max(agreement.real(), 0.0);
          }
      });
  return slopes;
}

/// The factors at which all comes to rest, from some that agree with their neighbours': after
/// rounds among these, Newton's steps for the slow waves that rounds would take as many of as the
/// scan is wide.
Factors settled(Agreements& all, const std::vector<NodePlace>& places, Factors factors) {
  constexpr int kMostSteps = 10, kRounds = 5;  // patches of noise do not come to rest
  constexpr double kPrecision = 1e-3;          // of a step
  constexpr double kStill = 1e-4;              // radians; what is left then is kPrecision of it
  measure_strength(all);
  GraphLevels levels;
  for (int step = 0; step < kMostSteps; ++step) {
    turn(all, factors, kRounds);
    const std::vector<double> slopes = slopes_and_bends(all, factors);
    if (step == 0) levels = levels_of(all.links, places);
    const std::vector<double> angles = solve_on_graph(all.links, levels, slopes, kPrecision);
    double largest = 0;
    for (std::size_t k = 0; k < factors.size(); ++k) {
      factors[k] *= std::polar(1.0, angles[k]);
      largest = std::max(largest, std::abs(angles[k]));
    }
    if (largest < kStill) break;
  }
  return factors;
}

/// Whose mean has phase 0.
at::Tensor with_mean_phase_0(const Factors& factors) {
  const Complex mean = std::accumulate(factors.begin(), factors.end(), Complex(0));
  const Complex back = std::conj(unit(mean, 1));
  at::Tensor turned = at::empty({static_cast<std::int64_t>(factors.size())}, at::kComplexFloat);
  auto* out = turned.mutable_data_ptr<c10::complex<float>>();
  for (const Complex& factor : factors)
    *out++ = c10::complex<float>(c10::complex<double>(factor * back));
  return turned;
}

}  // namespace

at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners) {
  const at::NoGradGuard no_grad;
  const std::vector<NodePlace> places = as_places(corners);
  const at::Tensor pairs = pairs_of(places, corners, patches.size(1));
  if (pairs.size(0) == 0) return at::ones({patches.size(0)}, patches.options());
  const at::Tensor known = patches.to(at::kComplexFloat).contiguous();
  const at::Tensor roots = weights.sqrt().to(at::kFloat).contiguous();
  Agreements all = agreements_of(patches.size(0), pairs,
                                 known.is_cpu() ? products_here(known, roots, pairs, places)
                                                : products_there(known, roots, pairs, corners));
  return with_mean_phase_0(settled(all, places, grown(all))).to(patches.device());
}

// Patches that come and go.

struct PhasesInOrder::Parts {
  at::Tensor roots;
  std::vector<NodePlace> places;
  Agreements all;
  std::vector<std::int64_t> needed_until;  ///< of each patch, the last one that overlaps it
  std::vector<std::int64_t> here;          ///< patches that have come and not left
  std::int64_t end = 0;                    ///< number of the first that has not come
  Factors factors;

  void measure(const at::Tensor& patches, const std::vector<std::int64_t>& slots,
               std::int64_t patch);
  Complex between_own_and_neighbours(std::int64_t patch) const;
  void settle_new(std::int64_t from);
};

/// How a patch that has come agrees with those before it.
void PhasesInOrder::Parts::measure(const at::Tensor& patches,
                                   const std::vector<std::int64_t>& slots, std::int64_t patch) {
  const auto own = static_cast<std::size_t>(patch);
  const std::int64_t size = patches.size(-1), values = 2 * size * size;
  const auto* data = reinterpret_cast<const float*>(patches.const_data_ptr());
  for (auto link = all.links.first[own]; link < all.links.first[own + 1]; ++link) {
    const auto other = static_cast<std::size_t>(all.links.other[static_cast<std::size_t>(link)]);
    if (other > own) continue;
    set_agreement(
        all, link,
        overlap_product(data + slots[own] * values, data + slots[other] * values,
                        roots.const_data_ptr<float>(), size, places[other].row - places[own].row,
                        places[other].col - places[own].col));
  }
}

/// As a round of the power method has it, by the neighbours that have come.
Complex PhasesInOrder::Parts::between_own_and_neighbours(std::int64_t patch) const {
  const auto own = static_cast<std::size_t>(patch);
  double strength = 0;
  for (auto link = all.links.first[own]; link < all.links.first[own + 1]; ++link)
    strength += std::abs(all.agreement[static_cast<std::size_t>(link)]);
  return unit(pull_on(all, factors, own) + kDamping * strength * factors[own], factors[own]);
}

/// First those that have come from number `from` on, one after the other, then all that are here
/// together, those that have left being held.
void PhasesInOrder::Parts::settle_new(std::int64_t from) {
  constexpr int kRounds = 40;
  constexpr std::int64_t kFewPatches = 128;  // of a thread
  for (std::int64_t patch = from; patch < end; ++patch)
    factors[static_cast<std::size_t>(patch)] =
        unit(pull_on(all, factors, static_cast<std::size_t>(patch)), 1);
  Factors next(here.size());
  for (int round = 0; round < kRounds; ++round) {
    at::parallel_for(0, static_cast<std::int64_t>(here.size()), kFewPatches,
                     [&](std::int64_t begin, std::int64_t last) {
                       for (auto i = static_cast<std::size_t>(begin);
                            i < static_cast<std::size_t>(last); ++i)
                         next[i] = between_own_and_neighbours(here[i]);
                     });
    for (std::size_t i = 0; i < here.size(); ++i)
      factors[static_cast<std::size_t>(here[i])] = next[i];
  }
}

PhasesInOrder::PhasesInOrder(const at::Tensor& weights, const at::Tensor& corners)
    : parts_(std::make_unique<Parts>()) {
  Parts& own = *parts_;
  own.roots = weights.sqrt().to(at::kFloat).contiguous();
  own.places = as_places(corners);
  const auto count = static_cast<std::int64_t>(own.places.size());
  const at::Tensor pairs = pairs_of(own.places, corners, weights.size(-1));
  own.all = agreements_of(count, pairs, {});
  own.factors.resize(own.places.size());
  own.needed_until.resize(own.places.size());
  std::iota(own.needed_until.begin(), own.needed_until.end(), 0);
  const auto* pair = pairs.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < pairs.size(0); ++i) {
    std::int64_t& until = own.needed_until[static_cast<std::size_t>(pair[2 * i])];
    until = std::max(until, pair[2 * i + 1]);
  }
}

PhasesInOrder::~PhasesInOrder() = default;

std::vector<std::int64_t> PhasesInOrder::come(const at::Tensor& patches,
                                              const std::vector<std::int64_t>& slots,
                                              std::int64_t end) {
  Parts& own = *parts_;
  const std::int64_t from = std::exchange(own.end, end);
  for (std::int64_t patch = from; patch < end; ++patch) own.here.push_back(patch);
  at::parallel_for(from, end, 1, [&](std::int64_t patch, std::int64_t last) {
    for (; patch < last; ++patch) own.measure(patches, slots, patch);
  });
  own.settle_new(from);
  const auto stay = std::stable_partition(
      own.here.begin(), own.here.end(),
      [&](std::int64_t patch) { return own.needed_until[static_cast<std::size_t>(patch)] >= end; });
  std::vector<std::int64_t> leave(stay, own.here.end());
  own.here.erase(stay, own.here.end());
  return leave;
}

const std::vector<std::complex<double>>& PhasesInOrder::first_factors() const {
  return parts_->factors;
}

at::Tensor PhasesInOrder::last_factors() {
  return with_mean_phase_0(settled(parts_->all, parts_->places, parts_->factors));
}

std::int64_t PhasesInOrder::most_at_once(std::int64_t together) const {
  const std::vector<std::int64_t>& until = parts_->needed_until;
  std::vector<std::int64_t> leaving(until.size() + 1);
  for (const std::int64_t last : until) ++leaving[static_cast<std::size_t>(last)];
  std::int64_t here = 0, most = 0;
  for (std::size_t i = 0; i < until.size(); ++i) {
    most = std::max(most, ++here);
    here -= leaving[i];
  }
  return std::min<std::int64_t>(most + together, static_cast<std::int64_t>(until.size()));
}

}  // namespace ptyche
