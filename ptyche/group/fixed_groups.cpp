#include "ptyche/group/fixed_groups.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptyche/core/error.h"
#include "ptyche/core/random.h"
#include "ptyche/group/make_groups.h"

namespace ptyche {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t kMostChoices = 1'000'000'000'000;  // times the patterns they fit in 64 bits

/// A group holds `others` of the `candidates` nearest others of its seed pattern, and perhaps the
/// seed itself.
struct Recipe {
  std::int64_t size = 1, others = 0, candidates = 0;
  bool own_seed() const { return others < size; }
};

/// near (patterns, 1 + candidates) frame numbers, a row per used pattern: itself, then its nearest.
struct Neighbourhoods {
  at::Tensor near;
  Recipe recipe;
  std::int64_t patterns() const { return near.size(0); }
  const std::int64_t* around(std::int64_t row) const {
    return near.const_data_ptr<std::int64_t>() + row * near.size(1);
  }
};

/// In how many ways k of n can be chosen; kMostChoices + 1 stands for all that is more.
std::int64_t choices(std::int64_t n, std::int64_t k) {
  if (k > n) return 0;
  const std::int64_t fewer = std::min(k, n - k);
  std::int64_t ways = 1;
  for (std::int64_t i = 1; i <= fewer && ways <= kMostChoices; ++i)
    ways = ways * (n - fewer + i) / i;
  return std::min(ways, kMostChoices + 1);
}

/// Choice number `rank` of k of 0..n-1, ascending; the ranks are in lexicographic order.
Numbers choice(std::int64_t rank, std::int64_t n, std::int64_t k) {
  Numbers chosen;
  for (std::int64_t candidate = 0; k > 0; ++candidate) {
    const std::int64_t with_it = choices(n - candidate - 1, k - 1);
    if (rank < with_it) {
      chosen.push_back(candidate);
      --k;
    } else {
      rank -= with_it;
    }
  }
  return chosen;
}

/// 0..n-1 in random order, one at a time: Fisher-Yates that remembers only what it has exchanged.
class RandomOrder {
 public:
  RandomOrder(std::int64_t n, RandomStream stream) : n_(n), stream_(stream) {}

  std::int64_t next() {
    const std::int64_t place = first_ + stream_.below(n_ - first_);
    const std::int64_t number = number_at(place);
    moved_[place] = number_at(first_);
    moved_.erase(first_++);
    return number;
  }

 private:
  std::int64_t number_at(std::int64_t place) const {
    const auto found = moved_.find(place);
    return found == moved_.end() ? place : found->second;
  }

  std::int64_t n_, first_ = 0;
  RandomStream stream_;
  std::unordered_map<std::int64_t, std::int64_t> moved_;
};

Recipe recipe_of(const std::string& source, const FixedGroupOptions& options, std::int64_t patterns,
                 bool oversampled) {
  const std::int64_t size = options.gridsize * options.gridsize;
  const std::int64_t others = options.own_seed || size == 1 ? size - 1 : size;
  require(patterns > others,
          "{}: groups of {} patterns need {} that may be used, the scan has {}; choose a smaller "
          "--gridsize",
          source, size, others + 1, patterns);
  const bool pool = oversampled && options.neighbour_pool > 0;
  const std::int64_t wanted = pool ? options.neighbour_pool : options.neighbours;
  require(wanted >= others, "--{}: groups of {} patterns need {} neighbours or more, found {}",
          pool ? "neighbor-pool-size" : "neighbor-count", size, others, wanted);
  return {
      .size = size, .others = others, .candidates = size == 1 ? 0 : std::min(wanted, patterns - 1)};
}

Neighbourhoods neighbourhoods(const Scan& scan, const at::Tensor& used, const Recipe& recipe) {
  const at::Tensor rows =
      nearest_points(scan.positions().index_select(0, used), 1 + recipe.candidates);
  return {.near = used.index_select(0, rows.view(-1)).view_as(rows), .recipe = recipe};
}

/// The group around a pattern: of the seed's row of neighbours those that were chosen.
Numbers group_around(const std::int64_t* near, const Recipe& recipe, const Numbers& chosen) {
  Numbers group;
  if (recipe.own_seed()) group.push_back(near[0]);
  for (const std::int64_t candidate : chosen) group.push_back(near[1 + candidate]);
  return group;
}

/// Which patterns groups are made around, ascending rows.
Numbers seed_rows(std::int64_t patterns, std::int64_t count, const FixedGroupOptions& options) {
  Numbers rows(static_cast<std::size_t>(patterns));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  if (!options.sequential)
    rows = permutation(patterns, RandomStream(options.seed, Purpose::group_seeds));
  rows.resize(static_cast<std::size_t>(count));
  std::sort(rows.begin(), rows.end());
  return rows;
}

Numbers one_around_each(const Neighbourhoods& of, const Numbers& rows, std::uint64_t seed) {
  Numbers frames;
  for (const std::int64_t row : rows) {
    const std::int64_t* near = of.around(row);
    const RandomStream stream(seed, Purpose::group_members, static_cast<std::uint64_t>(near[0]));
    Numbers chosen = permutation(of.recipe.candidates, stream);
    chosen.resize(static_cast<std::size_t>(of.recipe.others));
    if (of.recipe.own_seed()) std::sort(chosen.begin(), chosen.end());
    const Numbers group = group_around(near, of.recipe, chosen);
    frames.insert(frames.end(), group.begin(), group.end());
  }
  return frames;
}

/// What to do for more groups than patterns, as the end of a message.
std::string way_to_more(const Recipe& recipe, std::int64_t patterns) {
  const std::int64_t each = choices(recipe.candidates, recipe.others);
  if (recipe.size == 1) return "";
  if (each == 1) return "; a larger --neighbor-count and --enable-oversampling allow more";
  return fmt::format(
      "; --enable-oversampling allows up to {}, by the {} choices of {} of the {} nearest "
      "neighbours around each",
      each * patterns, each, recipe.others, recipe.candidates);
}

/// `count` different groups out of all choices around all patterns.
Numbers oversample(const Neighbourhoods& of, std::int64_t count, const std::string& source,
                   std::uint64_t seed) {
  const Recipe& recipe = of.recipe;
  const std::int64_t each = choices(recipe.candidates, recipe.others), all = each * of.patterns();
  RandomOrder order(all, RandomStream(seed, Purpose::group_seeds));
  std::set<Numbers> made;
  Numbers frames;
  for (std::int64_t tried = 0; tried < all && std::ssize(made) < count; ++tried) {
    const std::int64_t number = order.next();
    const Numbers group =
        group_around(of.around(number % of.patterns()), recipe,
                     choice(number / of.patterns(), recipe.candidates, recipe.others));
    Numbers members = group;
    std::sort(members.begin(), members.end());
    if (made.insert(members).second) frames.insert(frames.end(), group.begin(), group.end());
  }
  require(std::ssize(made) == count,
          "{}: --n-groups {}: {} different groups of {} patterns can be made, by choices of {} of "
          "the {} nearest neighbours around each; a larger --neighbor-pool-size allows more",
          source, count, made.size(), recipe.size, recipe.others, recipe.candidates);
  return frames;
}

void require_oversampling(const Scan& scan, const FixedGroupOptions& options, const Recipe& recipe,
                          std::int64_t patterns) {
  require(options.oversampling && recipe.size > 1,
          "{}: --n-groups {}: {} groups of {} patterns can be made, one around each that may be "
          "used{}",
          scan.source(), options.count, patterns, recipe.size, way_to_more(recipe, patterns));
  require(choices(recipe.candidates, recipe.others) <= kMostChoices,
          "--neighbor-pool-size: more than {:.0e} choices of {} of {} neighbours; choose a smaller "
          "one",
          static_cast<double>(kMostChoices), recipe.others, recipe.candidates);
}

}  // namespace

at::Tensor fixed_groups(const Scan& scan, const FixedGroupOptions& options) {
  require_in_range(options);
  require(options.gridsize >= 1, "--gridsize: expected 1..8, found {}", options.gridsize);
  const at::Tensor used = scan.frames_with(FrameUse::used);
  const std::int64_t patterns = used.size(0);
  const bool oversampled = options.count > patterns;
  const Recipe recipe = recipe_of(scan.source(), options, patterns, oversampled);
  const std::int64_t count = options.count > 0 ? options.count : patterns / recipe.size;
  if (oversampled) require_oversampling(scan, options, recipe, patterns);
  const Neighbourhoods of = neighbourhoods(scan, used, recipe);
  const Numbers frames =
      oversampled ? oversample(of, count, scan.source(), options.seed)
                  : one_around_each(of, seed_rows(patterns, count, options), options.seed);
  return at::tensor(frames, at::kLong).view({count, recipe.size});
}

Groups groups_of(const at::Tensor& fixed, std::uint64_t seed) {
  return {.neighbours = {},
          .size = fixed.size(1),
          .merged = fixed.size(1),
          .seed = seed,
          .fixed = fixed};
}

at::Tensor group_centres(const at::Tensor& positions, const at::Tensor& fixed) {
  return positions.index_select(0, fixed.reshape(-1))
      .view({fixed.size(0), fixed.size(1), 2})
      .mean(1);
}

std::vector<Field> fields(FixedGroupOptions& options) {
  return {
      {.name = "gridsize",
       .target = &options.gridsize,
       .help = "groups of gridsize^2 patterns, chosen once; 0 = drawn anew in every epoch",
       .range = {0, 8}},
      {.name = "n-groups",
       .target = &options.count,
       .unit = "groups",
       .help = "number of groups; 0 = patterns / gridsize^2",
       .range = {0, 1e9},
       .aliases = {"n-images"}},
      {.name = "neighbor-count",
       .target = &options.neighbours,
       .unit = "patterns",
       .help = "number of nearest patterns from which the rest of a group is drawn",
       .range = {1, 4096}},
      {.name = "grouping",
       .target = choice(options.own_seed, {{"nearest", true}, {"ptychopinn", false}}),
       .help = "nearest: a pattern and some near it; ptychopinn: some near a pattern, without it"},
      {.name = "sequential-sampling",
       .target = &options.sequential,
       .help = "first patterns of the file, not random ones"},
      {.name = "enable-oversampling",
       .target = &options.oversampling,
       .help = "more groups than patterns: different choices of neighbours"},
      {.name = "neighbor-pool-size",
       .target = &options.neighbour_pool,
       .unit = "patterns",
       .help = "number of nearest patterns from which --enable-oversampling draws; 0 = as "
               "--neighbor-count",
       .range = {0, 4096}},
      {.name = "fixed-group-seed", .target = &options.seed, .internal = true}};
}

}  // namespace ptyche
