#include "ptyche/stitch/synchronise.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "ptyche/engine/cuda/device_kernels.h"
#include "ptyche/group/make_groups.h"

namespace ptyche {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kNeighbours = 16;  // enough to tie a scan together in every direction

/// How patches agree with their neighbours.
///   other      (k, m) int64, the neighbours of every patch
///   agreement  (k, m) complex128, 0 where they overlap by less than half
struct Links {
  at::Tensor other, agreement;
};

struct Corner {
  std::int64_t row, col;
};

std::vector<Corner> as_corners(const at::Tensor& corners) {
  std::vector<Corner> list;
  const at::Tensor whole = corners.to(at::kLong).contiguous();
  const auto* value = whole.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < whole.size(0); ++i) list.push_back({value[2 * i], value[2 * i + 1]});
  return list;
}

/// Whether patches overlap by more than half in each direction.
bool overlap_by_half(const Corner& a, const Corner& b, std::int64_t size) {
  return std::max(std::abs(a.row - b.row), std::abs(a.col - b.col)) < size / 2;
}

/// sum over the overlap of conj(a) b, each times its weight's root, for patches whose corners
/// differ by (down, right).
Complex overlap_product(const std::complex<float>* a, const std::complex<float>* b,
                        const float* root, std::int64_t size, std::int64_t down,
                        std::int64_t right) {
  Complex sum = 0;
  for (std::int64_t row = std::max<std::int64_t>(down, 0);
       row < size + std::min<std::int64_t>(down, 0); ++row) {
    std::complex<float> line = 0;
    for (std::int64_t col = std::max<std::int64_t>(right, 0);
         col < size + std::min<std::int64_t>(right, 0); ++col)
      line += root[row * size + col] * root[(row - down) * size + col - right] *
              (std::conj(a[row * size + col]) * b[(row - down) * size + col - right]);
    sum += Complex(line);
  }
  return sum;
}

/// overlap_product of patches `own` (k, N, N) with those of `all` (n, N, N) that lie `offset` (k,
/// 2) px farther: (k) complex128, on any device.
at::Tensor overlap_products(const at::Tensor& own, const at::Tensor& all, const at::Tensor& roots,
                            const at::Tensor& other, const at::Tensor& offset) {
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

/// links_between by LibTorch's operations, on the device of the patches.
Links links_there(const at::Tensor& patches, const at::Tensor& roots, const at::Tensor& near,
                  const at::Tensor& places) {
  constexpr std::int64_t kAtOnce = 256;
  const at::Tensor whole = places.to(patches.device(), at::kLong).contiguous();
  const at::Tensor others = near.to(patches.device());
  if (cuda::has_kernels(patches.device()))
    return {others, cuda::overlap_products(patches, roots, whole, others)};
  std::vector<at::Tensor> columns;
  for (std::int64_t i = 0; i < near.size(1); ++i) {
    const at::Tensor other = others.select(1, i).contiguous();
    const at::Tensor offset = whole.index_select(0, other) - whole;
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < other.size(0); first += kAtOnce)
      parts.push_back(overlap_products(patches.slice(0, first, first + kAtOnce), patches, roots,
                                       other.slice(0, first, first + kAtOnce),
                                       offset.slice(0, first, first + kAtOnce)));
    const at::Tensor close = offset.abs().amax(1).lt(patches.size(1) / 2);
    columns.push_back(at::cat(parts) * close);
  }
  return {others, at::stack(columns, 1)};
}

/// The same by the processor.
Links links_here(const at::Tensor& patches, const at::Tensor& roots, const at::Tensor& near,
                 const at::Tensor& places) {
  const std::vector<Corner> corners = as_corners(places);
  const std::int64_t size = patches.size(1), pixels = size * size, count = near.size(1);
  const auto* data =
      reinterpret_cast<const std::complex<float>*>(patches.const_data_ptr<c10::complex<float>>());
  const auto* root = roots.const_data_ptr<float>();
  const auto* other = near.const_data_ptr<std::int64_t>();
  Links links{near, at::zeros(near.sizes(), at::kComplexDouble)};
  auto* found = links.agreement.mutable_data_ptr<c10::complex<double>>();
  at::parallel_for(0, near.size(0), 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first * count; i < last * count; ++i) {
      const std::int64_t own = i / count;
      const Corner &a = corners[static_cast<std::size_t>(own)],
                   &b = corners[static_cast<std::size_t>(other[i])];
      if (overlap_by_half(a, b, size))
        found[i] = overlap_product(data + own * pixels, data + other[i] * pixels, root, size,
                                   b.row - a.row, b.col - a.col);
    }
  });
  return links;
}

/// The nearest patches of each: (k, m) int64.
at::Tensor near_patches(const at::Tensor& places) {
  const at::Tensor nearest = nearest_points(
      places.cpu().to(at::kDouble), std::min<std::int64_t>(kNeighbours + 1, places.size(0)));
  return nearest.slice(1, 1).contiguous();
}

/// For every patch, how its neighbours' patches agree with it.
Links links_between(const at::Tensor& patches, const at::Tensor& roots, const at::Tensor& places) {
  const at::Tensor near = near_patches(places);
  if (near.size(1) == 0) return {near, at::zeros(near.sizes(), at::kComplexDouble)};
  return patches.is_cpu() ? links_here(patches, roots, near, places)
                          : links_there(patches, roots, near, places);
}

/// Patches, or blocks of them, and how they agree: those of node k are first[k] to first[k + 1].
struct Level {
  std::vector<std::int64_t> first, other;
  std::vector<Complex> agreement;
  std::vector<double> strength;  ///< of a node, the sum of its agreements' sizes
  std::vector<Corner> places;

  std::int64_t count() const { return static_cast<std::int64_t>(places.size()); }
};

constexpr std::int64_t kNodesAtOnce = 1024;  // of a thread

void measure_strength(Level& level) {
  level.strength.assign(level.places.size(), 0);
  for (std::size_t k = 0; k < level.places.size(); ++k)
    for (auto i = static_cast<std::size_t>(level.first[k]);
         i < static_cast<std::size_t>(level.first[k + 1]); ++i)
      level.strength[k] += std::sqrt(std::norm(level.agreement[i]));
}

/// A link of a patch with another one that is among its nearest, or that it is among the nearest
/// of: what each asks of the other is the same then.
struct Pair {
  std::int64_t own, other;
  Complex agreement;
};

std::vector<Pair> pairs_of(const Links& links) {
  const at::Tensor other = links.other.cpu().contiguous();
  const at::Tensor agreement = links.agreement.cpu().contiguous();
  const std::int64_t near = other.size(1);
  const auto* numbers = other.const_data_ptr<std::int64_t>();
  const auto* values =
      reinterpret_cast<const Complex*>(agreement.const_data_ptr<c10::complex<double>>());
  std::vector<Pair> pairs;
  for (std::int64_t i = 0; i < other.numel(); ++i) {
    if (values[i] == Complex(0)) continue;
    const std::int64_t own = i / near, there = numbers[i];
    pairs.push_back({own, there, values[i]});
    const auto* const theirs = numbers + there * near;
    if (std::find(theirs, theirs + near, own) == theirs + near)
      pairs.push_back({there, own, std::conj(values[i])});
  }
  return pairs;
}

Level finest(const Links& links, const at::Tensor& corners) {
  const std::vector<Pair> pairs = pairs_of(links);
  Level level;
  level.places = as_corners(corners.cpu());
  level.first.assign(level.places.size() + 1, 0);
  for (const Pair& pair : pairs) ++level.first[static_cast<std::size_t>(pair.own) + 1];
  std::partial_sum(level.first.begin(), level.first.end(), level.first.begin());
  level.other.resize(pairs.size());
  level.agreement.resize(pairs.size());
  std::vector<std::int64_t> end(level.first.begin(), level.first.end() - 1);
  for (const Pair& pair : pairs) {
    const auto at = static_cast<std::size_t>(end[static_cast<std::size_t>(pair.own)]++);
    level.other[at] = pair.other;
    level.agreement[at] = pair.agreement;
  }
  measure_strength(level);
  return level;
}

/// One round: every factor towards the weighted mean of its neighbours, damped, so that
/// an error that alternates from patch to patch dies away, too.
void turn(const Level& level, const std::vector<Complex>& factors, std::vector<Complex>& next) {
  constexpr double kDamping = 0.5;
  at::parallel_for(0, level.count(), kNodesAtOnce, [&](std::int64_t begin, std::int64_t end) {
    for (auto k = static_cast<std::size_t>(begin); k < static_cast<std::size_t>(end); ++k) {
      Complex pull = 0;
      for (auto i = static_cast<std::size_t>(level.first[k]);
           i < static_cast<std::size_t>(level.first[k + 1]); ++i)
        pull += level.agreement[i] * factors[static_cast<std::size_t>(level.other[i])];
      pull += kDamping * level.strength[k] * factors[k];
      const double size = std::sqrt(std::norm(pull));
      next[k] = size > 0 ? pull / size : factors[k];
    }
  });
}

void turn(const Level& level, std::vector<Complex>& factors, int rounds) {
  std::vector<Complex> next(factors.size());
  for (int round = 0; round < rounds; ++round) {
    turn(level, factors, next);
    factors.swap(next);
  }
}

/// Nodes that lie together.
struct Blocks {
  std::vector<std::int64_t> of_node;
  std::int64_t count = 0;
};

/// Square cells, so many times as wide as nodes are apart.
Blocks blocks_of(const Level& level, double width) {
  Corner low = level.places.front(), high = low;
  for (const Corner& place : level.places) {
    low = {std::min(low.row, place.row), std::min(low.col, place.col)};
    high = {std::max(high.row, place.row), std::max(high.col, place.col)};
  }
  const auto rows = static_cast<double>(high.row - low.row + 1);
  const auto cols = static_cast<double>(high.col - low.col + 1);
  const auto nodes = static_cast<double>(level.count());
  // A line of nodes has next to no area.
  const double apart = std::max({std::sqrt(rows * cols / nodes), rows / nodes, cols / nodes});
  const double side = std::max(1.0, width * apart);
  const auto across = static_cast<std::int64_t>(cols / side) + 1;
  std::vector<std::int64_t> cells;
  for (const Corner& place : level.places)
    cells.push_back(static_cast<std::int64_t>(static_cast<double>(place.row - low.row) / side) *
                        across +
                    static_cast<std::int64_t>(static_cast<double>(place.col - low.col) / side));
  std::vector<std::int64_t> known = cells;
  std::ranges::sort(known);
  known.erase(std::unique(known.begin(), known.end()), known.end());
  Blocks blocks{.of_node = {}, .count = static_cast<std::int64_t>(known.size())};
  for (const std::int64_t cell : cells)
    blocks.of_node.push_back(std::ranges::lower_bound(known, cell) - known.begin());
  return blocks;
}

/// The blocks' nodes, one block after another, and where each block's begin.
struct Members {
  std::vector<std::int64_t> first, node;
};

Members members_of(const Blocks& blocks) {
  Members members{.first = std::vector<std::int64_t>(static_cast<std::size_t>(blocks.count) + 1),
                  .node = std::vector<std::int64_t>(blocks.of_node.size())};
  for (const std::int64_t block : blocks.of_node)
    ++members.first[static_cast<std::size_t>(block) + 1];
  std::partial_sum(members.first.begin(), members.first.end(), members.first.begin());
  std::vector<std::int64_t> end(members.first.begin(), members.first.end() - 1);
  for (std::size_t k = 0; k < blocks.of_node.size(); ++k)
    members.node[static_cast<std::size_t>(end[static_cast<std::size_t>(blocks.of_node[k])]++)] =
        static_cast<std::int64_t>(k);
  return members;
}

/// Blocks that are turned as a whole, their nodes as they are turned now.
Level coarser(const Level& fine, const Blocks& blocks, const std::vector<Complex>& factors) {
  const Members members = members_of(blocks);
  Level coarse;
  coarse.first.push_back(0);
  std::vector<Complex> sum(static_cast<std::size_t>(blocks.count));
  std::vector<std::int64_t> met;
  for (std::size_t block = 0; block < static_cast<std::size_t>(blocks.count); ++block) {
    Corner centre{0, 0};
    met.clear();
    const std::int64_t begin = members.first[block], end = members.first[block + 1];
    for (std::int64_t m = begin; m < end; ++m) {
      const auto own = static_cast<std::size_t>(members.node[static_cast<std::size_t>(m)]);
      centre = {centre.row + fine.places[own].row, centre.col + fine.places[own].col};
      for (auto i = static_cast<std::size_t>(fine.first[own]);
           i < static_cast<std::size_t>(fine.first[own + 1]); ++i) {
        const auto other = static_cast<std::size_t>(fine.other[i]);
        const std::int64_t there = blocks.of_node[other];
        if (static_cast<std::size_t>(there) == block) continue;
        if (std::ranges::find(met, there) == met.end()) met.push_back(there);
        sum[static_cast<std::size_t>(there)] +=
            std::conj(factors[own]) * fine.agreement[i] * factors[other];
      }
    }
    coarse.places.push_back({centre.row / (end - begin), centre.col / (end - begin)});
    for (const std::int64_t there : met) {
      coarse.other.push_back(there);
      coarse.agreement.push_back(std::exchange(sum[static_cast<std::size_t>(there)], 0));
    }
    coarse.first.push_back(static_cast<std::int64_t>(coarse.other.size()));
  }
  measure_strength(coarse);
  return coarse;
}

/// The nodes of each block by its factor's angle, times the step that is best along these angles:
/// blocks that turn as a whole are stiffer than the nodes, so that their angles are too small.
void turn_blocks(const Level& level, const Blocks& blocks, const std::vector<Complex>& of_blocks,
                 std::vector<Complex>& factors) {
  std::vector<double> angles;
  double largest = 0;
  for (const std::int64_t block : blocks.of_node) {
    angles.push_back(std::arg(of_blocks[static_cast<std::size_t>(block)]));
    largest = std::max(largest, std::abs(angles.back()));
  }
  double slope = 0, bend = 0;
  for (std::size_t k = 0; k < factors.size(); ++k)
    for (auto i = static_cast<std::size_t>(level.first[k]);
         i < static_cast<std::size_t>(level.first[k + 1]); ++i) {
      const auto other = static_cast<std::size_t>(level.other[i]);
      const double difference = angles[other] - angles[k];
      const double apart = std::abs(difference) <= std::numbers::pi
                               ? difference
                               : difference - std::copysign(2 * std::numbers::pi, difference);
      const Complex agreement = std::conj(factors[k]) * level.agreement[i] * factors[other];
      slope -= agreement.imag() * apart;
      bend += agreement.real() * apart * apart;
    }
  // Beyond half a turn an angle is no longer told from its opposite.
  const double most = std::max(1.0, std::numbers::pi / std::max(largest, 1e-9));
  const double step = bend > 0 ? std::clamp(slope / bend, 1.0, most) : 1;
  for (std::size_t k = 0; k < factors.size(); ++k) factors[k] *= std::polar(1.0, step * angles[k]);
}

/// What rounds alone would take as long as the scan is wide for: blocks of nodes are turned as a
/// whole, and blocks of blocks (multigrid with aggregates: Brandt, Math. Comput. 31, 333 (1977)).
void cycle(const Level& level, std::vector<Complex>& factors) {
  constexpr int kRounds = 3, kLastRounds = 60;
  constexpr std::int64_t kFewNodes = 24;
  constexpr double kWidthOfBlock = 3;
  if (level.count() <= kFewNodes) return turn(level, factors, kLastRounds);
  turn(level, factors, kRounds);
  const Blocks blocks = blocks_of(level, kWidthOfBlock);
  if (blocks.count * 2 > level.count()) return turn(level, factors, kLastRounds);
  const Level coarse = coarser(level, blocks, factors);
  std::vector<Complex> of_blocks(static_cast<std::size_t>(blocks.count), 1);
  for (int time = 0; time < 2; ++time) cycle(coarse, of_blocks);
  turn_blocks(level, blocks, of_blocks, factors);
  turn(level, factors, kRounds);
}

/// The factors at which the cycles come to rest, from some that are near them.
std::vector<Complex> settled(const Level& level, std::vector<Complex> factors) {
  constexpr int kMostCycles = 100, kFirstRounds = 20;
  constexpr double kStill = 1e-6;  // largest change of a factor by a cycle; the rest adds as much
  turn(level, factors, kFirstRounds);
  for (int time = 0; time < kMostCycles; ++time) {
    const std::vector<Complex> before = factors;
    cycle(level, factors);
    double moved = 0;
    for (std::size_t k = 0; k < factors.size(); ++k)
      moved = std::max(moved, std::norm(factors[k] - before[k]));
    if (moved < kStill * kStill) break;
  }
  return factors;
}

/// Unit factors (n) complex64 whose mean has phase 0.
at::Tensor as_factors(const std::vector<Complex>& factors) {
  const Complex mean = std::accumulate(factors.begin(), factors.end(), Complex(0));
  const Complex back = std::abs(mean) > 0 ? std::conj(mean) / std::abs(mean) : 1;
  at::Tensor unit = at::empty({static_cast<std::int64_t>(factors.size())}, at::kComplexFloat);
  auto* out = unit.data_ptr<c10::complex<float>>();
  for (const Complex& factor : factors)
    *out++ = c10::complex<float>(c10::complex<double>(factor * back));
  return unit;
}

}  // namespace

at::Tensor synchronise(const at::Tensor& patches, const at::Tensor& weights,
                       const at::Tensor& corners) {
  const at::NoGradGuard no_grad;
  const at::Tensor known = patches.to(at::kComplexFloat).contiguous();
  const at::Tensor roots = weights.sqrt().to(at::kFloat).contiguous();
  const std::vector<Complex> ones(static_cast<std::size_t>(corners.size(0)), 1);
  return as_factors(settled(finest(links_between(known, roots, corners), corners), ones))
      .to(patches.device());
}

// Patches that come and go.

struct PhasesInOrder::Parts {
  at::Tensor roots, corners;
  std::vector<Corner> places;
  Links links;
  const std::int64_t* other = nullptr;          ///< of each link
  Complex* agreement = nullptr;                 ///< of each link
  std::int64_t near = 0;                        ///< neighbours of each
  std::vector<std::int64_t> first_of, seen_by;  ///< of each, which links (their numbers) lead to it
  std::vector<std::int64_t> needed_until;       ///< the last of its neighbours
  std::vector<std::int64_t> here;               ///< that have come and not left
  std::int64_t end = 0;                         ///< number of the first that has not come
  std::vector<Complex> factors;

  std::int64_t count() const { return static_cast<std::int64_t>(places.size()); }

  /// Calls visit(the other patch, how it agrees) with all that overlap a patch.
  template <class Visit>
  void each_neighbour(std::int64_t patch, const Visit& visit) const {
    for (std::int64_t link = patch * near; link < (patch + 1) * near; ++link)
      visit(other[link], agreement[link]);
    for (std::int64_t i = first_of[static_cast<std::size_t>(patch)];
         i < first_of[static_cast<std::size_t>(patch) + 1]; ++i) {
      const std::int64_t link = seen_by[static_cast<std::size_t>(i)];
      visit(link / near, std::conj(agreement[link]));
    }
  }

  void list_links();
  void measure(const at::Tensor& patches, const std::vector<std::int64_t>& slots, std::int64_t from,
               std::int64_t link) const;
  Complex towards_neighbours(std::int64_t patch, double damping) const;
  void settle_new(std::int64_t from);
};

/// Which links lead to each patch, and until when it is needed.
void PhasesInOrder::Parts::list_links() {
  const std::int64_t all = count() * near;
  first_of.assign(places.size() + 1, 0);
  for (std::int64_t link = 0; link < all; ++link)
    ++first_of[static_cast<std::size_t>(other[link]) + 1];
  std::partial_sum(first_of.begin(), first_of.end(), first_of.begin());
  std::vector<std::int64_t> next(first_of.begin(), first_of.end() - 1);
  seen_by.resize(static_cast<std::size_t>(all));
  needed_until.resize(places.size());
  std::iota(needed_until.begin(), needed_until.end(), 0);
  for (std::int64_t link = 0; link < all; ++link) {
    const std::int64_t own = link / near, there = other[link];
    seen_by[static_cast<std::size_t>(next[static_cast<std::size_t>(there)]++)] = link;
    for (const auto& [patch, with] : {std::pair{own, there}, std::pair{there, own}}) {
      std::int64_t& until = needed_until[static_cast<std::size_t>(patch)];
      until = std::max(until, with);
    }
  }
}

/// A link, once, when the later of its two patches, from number `from` on, has come.
void PhasesInOrder::Parts::measure(const at::Tensor& patches,
                                   const std::vector<std::int64_t>& slots, std::int64_t from,
                                   std::int64_t link) const {
  const std::int64_t own = link / near, there = other[link], size = patches.size(-1);
  const Corner &a = places[static_cast<std::size_t>(own)],
               &b = places[static_cast<std::size_t>(there)];
  if (std::max(own, there) < from || std::max(own, there) >= end || !overlap_by_half(a, b, size))
    return;
  const auto* data =
      reinterpret_cast<const std::complex<float>*>(patches.const_data_ptr<c10::complex<float>>());
  agreement[link] =
      overlap_product(data + slots[static_cast<std::size_t>(own)] * size * size,
                      data + slots[static_cast<std::size_t>(there)] * size * size,
                      roots.const_data_ptr<float>(), size, b.row - a.row, b.col - a.col);
}

/// The unit factor between a patch's own, damped, and the one that its neighbours ask for.
Complex PhasesInOrder::Parts::towards_neighbours(std::int64_t patch, double damping) const {
  Complex pull = 0;
  double strength = 0;
  each_neighbour(patch, [&](std::int64_t other, const Complex& agreement) {
    pull += agreement * factors[static_cast<std::size_t>(other)];
    strength += std::sqrt(std::norm(agreement));
  });
  const Complex own = factors[static_cast<std::size_t>(patch)];
  pull += damping * strength * own;
  const double size = std::sqrt(std::norm(pull));
  return size > 0 ? pull / size : (own == Complex(0) ? Complex(1) : own);
}

/// First those that have come from number `from` on, one after the other, then all that are here
/// together, those that have left being held.
void PhasesInOrder::Parts::settle_new(std::int64_t from) {
  constexpr int kRounds = 40;
  constexpr double kDamping = 0.5;
  for (std::int64_t patch = from; patch < end; ++patch)
    factors[static_cast<std::size_t>(patch)] = towards_neighbours(patch, 0);
  std::vector<Complex> next(here.size());
  for (int round = 0; round < kRounds; ++round) {
    at::parallel_for(0, static_cast<std::int64_t>(here.size()), kNodesAtOnce / 8,
                     [&](std::int64_t begin, std::int64_t last) {
                       for (auto i = static_cast<std::size_t>(begin);
                            i < static_cast<std::size_t>(last); ++i)
                         next[i] = towards_neighbours(here[i], kDamping);
                     });
    for (std::size_t i = 0; i < here.size(); ++i)
      factors[static_cast<std::size_t>(here[i])] = next[i];
  }
}

PhasesInOrder::PhasesInOrder(const at::Tensor& weights, const at::Tensor& corners)
    : parts_(std::make_unique<Parts>()) {
  Parts& own = *parts_;
  own.roots = weights.sqrt().to(at::kFloat).contiguous();
  own.corners = corners;
  own.places = as_corners(corners);
  own.links.other = near_patches(corners);
  own.near = own.links.other.size(1);
  own.links.agreement = at::zeros(own.links.other.sizes(), at::kComplexDouble);
  own.other = own.links.other.const_data_ptr<std::int64_t>();
  own.agreement =
      reinterpret_cast<Complex*>(own.links.agreement.mutable_data_ptr<c10::complex<double>>());
  own.factors.resize(own.places.size());
  own.list_links();
}

PhasesInOrder::~PhasesInOrder() = default;

std::vector<std::int64_t> PhasesInOrder::come(const at::Tensor& patches,
                                              const std::vector<std::int64_t>& slots,
                                              std::int64_t end) {
  Parts& own = *parts_;
  const std::int64_t from = std::exchange(own.end, end);
  for (std::int64_t patch = from; patch < end; ++patch) own.here.push_back(patch);
  at::parallel_for(from, end, 1, [&](std::int64_t begin, std::int64_t last) {
    for (std::int64_t patch = begin; patch < last; ++patch) {
      for (std::int64_t link = patch * own.near; link < (patch + 1) * own.near; ++link)
        own.measure(patches, slots, from, link);
      for (std::int64_t i = own.first_of[static_cast<std::size_t>(patch)];
           i < own.first_of[static_cast<std::size_t>(patch) + 1]; ++i) {
        const std::int64_t link = own.seen_by[static_cast<std::size_t>(i)];
        if (link / own.near < from) own.measure(patches, slots, from, link);
      }
    }
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

at::Tensor PhasesInOrder::last_factors() const {
  return as_factors(settled(finest(parts_->links, parts_->corners), parts_->factors));
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
