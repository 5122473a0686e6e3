#include "ptyche/prepare/likeness.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "ptyche/core/random.h"
#include "ptyche/data/array.h"
#include "ptyche/data/probe.h"
#include "ptyche/prepare/patterns.h"

namespace ptyche {

Likeness likeness_of(const at::Tensor& counts, const at::Tensor& mask) {
  const Binned small = binned(counts, mask);
  at::Tensor amplitude = small.counts.clamp_min(0).sqrt();
  amplitude = amplitude / amplitude.norm(2, {1, 2}, true).clamp_min(1e-9);
  amplitude = amplitude - amplitude.mean({0}, true);
  return {at::fft_rfft2(amplitude), amplitude.norm(2, {1, 2}) + 1e-12f, amplitude.size(-1),
          static_cast<double>(counts.size(-1)) / static_cast<double>(amplitude.size(-1))};
}

Pairs neighbours(const at::Tensor& positions, std::int64_t most, std::int64_t each) {
  if (positions.size(0) < 2) return {};
  const auto lists = nearest(positions, each);
  const at::Tensor places = positions.contiguous();
  const double* place = places.const_data_ptr<double>();
  std::set<std::pair<std::int64_t, std::int64_t>> all;
  for (std::int64_t a = 0; a < positions.size(0); ++a)
    for (const std::int64_t b : lists[static_cast<std::size_t>(a)])
      if (place[2 * a] != place[2 * b] || place[2 * a + 1] != place[2 * b + 1])
        all.emplace(std::min(a, b), std::max(a, b));
  const Pairs pairs(all.begin(), all.end());
  const auto size = static_cast<std::int64_t>(pairs.size());
  if (size <= most) return pairs;
  Pairs chosen;  // an irrational stride falls in with no period of a raster
  for (std::int64_t i = 0; i < most; ++i)
    chosen.push_back(pairs[static_cast<std::size_t>(
        std::fmod(static_cast<double>(i) * 0.61803398875, 1.0) * static_cast<double>(size))]);
  return chosen;
}

at::Tensor correlations(const Likeness& likeness, const Pairs& pairs) {
  std::vector<std::int64_t> first, second;
  for (const auto& [a, b] : pairs) {
    first.push_back(a);
    second.push_back(b);
  }
  const at::Tensor a = at::tensor(first, at::kLong), b = at::tensor(second, at::kLong);
  constexpr std::int64_t kBatch = 128;
  std::vector<at::Tensor> parts;
  for (std::int64_t start = 0; start < a.size(0); start += kBatch) {
    const std::int64_t length = std::min(kBatch, a.size(0) - start);
    const at::Tensor one = a.narrow(0, start, length), other = b.narrow(0, start, length);
    const at::Tensor product =
        likeness.spectra.index_select(0, other) * likeness.spectra.index_select(0, one).conj();
    const at::Tensor norms =
        likeness.norms.index_select(0, one) * likeness.norms.index_select(0, other);
    parts.push_back(at::fft_irfft2(product, at::IntArrayRef{likeness.pixels, likeness.pixels}) /
                    norms.view({-1, 1, 1}));
  }
  return parts.empty() ? at::zeros({0, likeness.pixels, likeness.pixels}) : at::cat(parts);
}

namespace {

/// Between the four pixels about (row, col), around the edge.
double between(const float* image, std::int64_t size, double row, double col) {
  const double row_low = std::floor(row), col_low = std::floor(col);
  const double down = row - row_low, right = col - col_low;
  const auto wrapped = [size](double place) {
    const std::int64_t index = static_cast<std::int64_t>(place) % size;
    return index < 0 ? index + size : index;
  };
  const std::int64_t top = wrapped(row_low), left = wrapped(col_low);
  const std::int64_t bottom = (top + 1) % size, beside = (left + 1) % size;
  return (1 - down) *
             ((1 - right) * image[top * size + left] + right * image[top * size + beside]) +
         down * ((1 - right) * image[bottom * size + left] + right * image[bottom * size + beside]);
}

/// Standard deviation of the odd parts, over all pixels of all correlations.
double odd_deviation(const at::Tensor& correlations) {
  const std::int64_t size = correlations.size(-1);
  const float* value = correlations.const_data_ptr<float>();
  double sum = 0;
  for (std::int64_t k = 0; k < correlations.size(0); ++k, value += size * size)
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t opposite = (size - i) % size * size;
      for (std::int64_t j = 0; j < size; ++j) {
        const double odd = 0.5 * (value[i * size + j] - value[opposite + (size - j) % size]);
        sum += odd * odd;
      }
    }
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(correlations.numel(), 1)));
}

}  // namespace

std::vector<double> values_at(const at::Tensor& correlations, const std::vector<double>& shifts) {
  const at::Tensor all = correlations.contiguous();
  const std::int64_t size = all.size(-1);
  const float* image = all.const_data_ptr<float>();
  std::vector<double> values;
  for (std::size_t k = 0; k < shifts.size() / 2; ++k)
    values.push_back(between(image + static_cast<std::int64_t>(k) * size * size, size,
                             shifts[2 * k], shifts[2 * k + 1]));
  return values;
}

Matrix matrix_of(Orientation orientation) {
  switch (orientation) {
    case Orientation::as_given:
      break;
    case Orientation::one_flipped:
      return {-1, 0, 0, 1};
    case Orientation::swapped:
      return {0, 1, 1, 0};
    case Orientation::turned:
      return {0, 1, -1, 0};
  }
  return {};
}

namespace {

constexpr std::int64_t kPairs = 400;
constexpr double kGainStep = 1.084;    // 64 from .05 to 8
constexpr double kReach = 0.4;         // of the pattern: shifts beyond it wrap
constexpr double kReachedShare = 0.3;  // of the pairs must lie within

/// Steps (pairs, 2) from the first to the second position of each pair.
std::vector<double> steps_of(const at::Tensor& positions, const Pairs& pairs) {
  const at::Tensor places = positions.contiguous();
  const double* place = places.const_data_ptr<double>();
  std::vector<double> steps;
  for (const auto& [a, b] : pairs)
    for (const int axis : {0, 1}) steps.push_back(place[2 * b + axis] - place[2 * a + axis]);
  return steps;
}

/// Mean odd correlation at gain times the turned steps; 0 where too few of them are inside.
double mean_odd(const at::Tensor& all, const std::vector<double>& steps, const Matrix& turn,
                double gain) {
  const std::int64_t size = all.size(-1);
  const float* image = all.const_data_ptr<float>();
  const double reach = kReach * static_cast<double>(size);
  const std::size_t pairs = steps.size() / 2;
  double sum = 0;
  std::size_t inside = 0;
  for (std::size_t k = 0; k < pairs; ++k, image += size * size) {
    const double row = gain * (turn.row_row * steps[2 * k] + turn.row_col * steps[2 * k + 1]);
    const double col = gain * (turn.col_row * steps[2 * k] + turn.col_col * steps[2 * k + 1]);
    if (std::max(std::abs(row), std::abs(col)) >= reach) continue;
    sum += 0.5 * (between(image, size, row, col) - between(image, size, -row, -col));
    ++inside;
  }
  if (static_cast<double>(inside) <= kReachedShare * static_cast<double>(pairs)) return 0;
  return sum / static_cast<double>(pairs);
}

Shadow shadow_of(const at::Tensor& all, const std::vector<double>& steps, Orientation orientation,
                 const Gains& gains, double error) {
  Shadow best{.orientation = orientation};
  for (double gain = gains.least; gain < gains.most * kGainStep; gain *= kGainStep) {
    const double mean = mean_odd(all, steps, matrix_of(orientation), gain);
    if (std::abs(mean) <= best.mean) continue;
    best.mean = std::abs(mean);
    best.gain = std::copysign(gain, mean);
  }
  best.strength = best.mean / error;
  return best;
}

/// The k whose partner is there.
at::Tensor with_partner(std::int64_t size, const std::vector<std::int64_t>& partner) {
  std::vector<std::int64_t> kept;
  for (std::int64_t k = 0; k < size; ++k)
    if (partner.empty() || partner[static_cast<std::size_t>(k)] >= 0) kept.push_back(k);
  return at::tensor(kept, at::kLong);
}

}  // namespace

std::vector<Shadow> shadows(const Likeness& likeness, const at::Tensor& positions,
                            const std::vector<std::int64_t>& partner, const Gains& gains) {
  const at::Tensor kept = with_partner(positions.size(0), partner);
  if (kept.size(0) < 3) return std::vector<Shadow>(4);
  const at::Tensor places = positions.index_select(0, kept);
  const Pairs pairs = neighbours(places, kPairs);
  if (pairs.empty()) return std::vector<Shadow>(4);
  Pairs patterns;
  const auto pattern_at = [&](std::int64_t place) {
    const auto k = kept[place].item<std::int64_t>();
    return partner.empty() ? k : partner[static_cast<std::size_t>(k)];
  };
  for (const auto& [a, b] : pairs) patterns.emplace_back(pattern_at(a), pattern_at(b));
  const at::Tensor all = correlations(likeness, patterns).contiguous();
  const double error = odd_deviation(all) / std::sqrt(static_cast<double>(pairs.size())) + 1e-12;
  const std::vector<double> steps = steps_of(places, pairs);
  std::vector<Shadow> found;
  for (const Orientation each : kOrientations)
    found.push_back(shadow_of(all, steps, each, gains, error));
  std::ranges::sort(found, std::greater<>(), &Shadow::strength);
  return found;
}

namespace {

constexpr std::int64_t kSide = 11;      // positions of the made-up scan, per axis
constexpr double kBlur_px = 1.2;        // of the made-up object
constexpr std::uint64_t kSeed = 53959;  // one that no user gives by chance

/// exp(.4 i x) (1 + .1 x) of a smooth random x with mean square 1.
at::Tensor made_up_object(std::int64_t side) {
  RandomStream stream(kSeed, Purpose::object);
  at::Tensor noise = at::empty({side, side}, at::kDouble);
  for (double *value = noise.mutable_data_ptr<double>(), *end = value + noise.numel(); value != end;
       ++value)
    *value = stream.normal();
  const at::Tensor smooth = blurred_around(noise, kBlur_px);
  const at::Tensor level = smooth / smooth.std();
  return at::polar(1 + 0.1 * level, 0.4 * level).to(at::kComplexFloat);
}

/// Whole positions that lie so dense that shadows can be followed.
std::vector<std::array<std::int64_t, 2>> dense_positions(const at::Tensor& probe) {
  const double wide = std::min(probe_diameter_px(probe), 0.5 * static_cast<double>(probe.size(-1)));
  const double step = std::max(wide / 6, 1.5);
  RandomStream stream(kSeed, Purpose::positions);
  std::vector<std::array<std::int64_t, 2>> places;
  for (std::int64_t row = 0; row < kSide; ++row)
    for (std::int64_t col = 0; col < kSide; ++col) {
      const double down = static_cast<double>(row) + 0.6 * stream.uniform();
      const double right = static_cast<double>(col) + 0.6 * stream.uniform();
      places.push_back({std::lround(step * down), std::lround(step * right)});
    }
  return places;
}

}  // namespace

std::vector<Shadow> shadows_of_probe(const at::Tensor& probe) {
  const std::int64_t size = probe.size(-1);
  const auto places = dense_positions(probe);
  std::int64_t widest = 0;
  for (const auto& place : places) widest = std::max({widest, place[0], place[1]});
  const at::Tensor object = made_up_object(widest + size);
  std::vector<at::Tensor> patterns;
  at::Tensor positions = at::empty({kSide * kSide, 2}, at::kDouble);
  for (std::size_t k = 0; k < places.size(); ++k) {
    const auto [row, col] = places[k];
    positions[static_cast<std::int64_t>(k)][0] = static_cast<double>(row);
    positions[static_cast<std::int64_t>(k)][1] = static_cast<double>(col);
    const at::Tensor wave = at::fft_fft2(probe * object.narrow(0, row, size).narrow(1, col, size),
                                         {}, {-2, -1}, "ortho");
    patterns.push_back(mode_power(wave));
  }
  const at::Tensor counts =
      at::fft_fftshift(at::stack(patterns), at::IntArrayRef{1, 2}).contiguous();
  return shadows(likeness_of(counts, at::ones({size, size}, at::kBool)), positions);
}

at::Tensor odd_map(const Likeness& likeness, const at::Tensor& positions, double reach,
                   std::int64_t half) {
  const Pairs pairs = neighbours(positions, kPairs);
  at::Tensor map = at::zeros({2 * half + 1, 2 * half + 1}, at::kDouble);
  if (pairs.empty()) return map;
  const at::Tensor all = correlations(likeness, pairs).contiguous();
  const std::vector<double> steps = steps_of(positions, pairs);
  double* pixel = map.mutable_data_ptr<double>();
  for (std::int64_t down = -half; down <= half; ++down)
    for (std::int64_t right = -half; right <= half; ++right, ++pixel) {
      const double u = reach * static_cast<double>(right) / static_cast<double>(half);
      const double v = reach * static_cast<double>(down) / static_cast<double>(half);
      *pixel = mean_odd(all, steps, {u, v, -v, u}, 1);
    }
  return map;
}

}  // namespace ptyche
