#include "ptyche/evaluate/description.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/evaluate/expected_patterns.h"

namespace ptyche {
namespace {

constexpr double kLeastMean = 1e-6, kMostMean = 200;  // of the table; the deviance is 1 beyond
constexpr std::int64_t kTableSize = 400;
constexpr double kSmallest = 1e-9;  // counts: what is expected at least, so that a logarithm exists

double deviance(double count, double mean) {
  return 2 * (mean - count + (count > 0 ? count * std::log(count / mean) : 0));
}

/// The expectation of `deviance` over the Poisson distribution of that mean.
double mean_deviance(double mean) {
  const auto last = static_cast<std::int64_t>(mean + 12 * std::sqrt(mean) + 20);
  double sum = 0, log_factorial = 0;
  for (std::int64_t n = 0; n <= last; ++n) {
    if (n > 0) log_factorial += std::log(static_cast<double>(n));
    const auto count = static_cast<double>(n);
    sum += std::exp(count * std::log(mean) - mean - log_factorial) * deviance(count, mean);
  }
  return sum;
}

using Table = std::array<double, kTableSize>;

double step_of_table() { return std::log(kMostMean / kLeastMean) / (kTableSize - 1); }

Table noise_table() {
  Table table;
  for (std::int64_t i = 0; i < kTableSize; ++i)
    table[static_cast<std::size_t>(i)] =
        mean_deviance(kLeastMean * std::exp(step_of_table() * static_cast<double>(i)));
  return table;
}

double interpolated(const Table& table, double mean) {
  if (mean <= kLeastMean) return 0;
  const double place = std::log(mean / kLeastMean) / step_of_table();
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= table.size()) return 1;
  return std::lerp(table[below], table[below + 1], place - static_cast<double>(below));
}

/// Patterns and two guesses of them, (k, pixels) float64, the guesses scaled to the totals.
struct Described {
  at::Tensor counts, expected, mean;
};

class Patterns {
 public:
  Patterns(const Reconstruction& image, const Scan& scan)
      : scan_(scan), expected_(image, scan), probe_(image.probe) {
    const at::Tensor mask = mask_in_fft_order(scan).flatten();
    counted_ = mask.nonzero().squeeze(1);
    const at::Tensor used = scan.frames_with(FrameUse::used);
    mean_ = counted(to_fft_order(mean_pattern(scan.counts(), used, 1)).unsqueeze(0)) + kSmallest;
  }

  template <class Work>
  void each(const at::Tensor& frames, const Work& work) const {
    for (const at::Tensor& batch : in_batches(frames, probe_)) {
      const at::Tensor counts = counted(counts_in_fft_order(scan_, batch));
      const at::Tensor total = counts.sum(1, true);
      const auto scaled = [&](const at::Tensor& guess) {
        return (guess * (total / guess.sum(1, true).clamp_min(kSmallest))).clamp_min(kSmallest);
      };
      work(Described{counts, scaled(counted(expected_.of(batch))), scaled(mean_)});
    }
  }

 private:
  at::Tensor counted(const at::Tensor& patterns) const {
    return patterns.flatten(1).index_select(1, counted_).to(at::kDouble);
  }

  Scan scan_;
  ExpectedPatterns expected_;
  at::Tensor probe_, counted_, mean_;
};

/// Deviance above that of noise, summed, and the photons that it is of.
struct Above {
  double deviance = 0, photons = 0;
  double per_photon() const { return deviance / std::max(photons, 1.0); }
};

void add(Above& sum, const Described& patterns, const at::Tensor& guess) {
  const at::Tensor& counts = patterns.counts;
  const at::Tensor all = 2 * (at::xlogy(counts, counts / guess) - (counts - guess));
  sum.deviance += (all - noise_deviance(patterns.expected)).sum().item<double>();
  sum.photons += counts.sum().item<double>();
}

}  // namespace

at::Tensor noise_deviance(const at::Tensor& means) {
  static const Table table = noise_table();
  const at::Tensor in = means.contiguous(), out = at::empty_like(in);
  const double* mean = in.const_data_ptr<double>();
  double* deviance = out.mutable_data_ptr<double>();
  at::parallel_for(0, in.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) deviance[i] = interpolated(table, mean[i]);
  });
  return out;
}

double misfit(const Reconstruction& image, const Scan& scan, const at::Tensor& used,
              const at::Tensor& others) {
  const Patterns patterns(image, scan);
  Above left, of_mean;
  patterns.each(used, [&](const Described& each) { add(left, each, each.expected); });
  patterns.each(others, [&](const Described& each) { add(of_mean, each, each.mean); });
  return left.per_photon() / std::max(of_mean.per_photon(), kSmallest);
}

double told(const Reconstruction& image, const Scan& scan, const at::Tensor& frames) {
  double both = 0, measured = 0, expected = 0;
  Patterns(image, scan).each(frames, [&](const Described& each) {
    const at::Tensor weight = (each.mean + 0.5).rsqrt();
    const at::Tensor a = (each.counts - each.mean) * weight;
    const at::Tensor b = (each.expected - each.mean) * weight;
    both += (a * b).sum().item<double>();
    measured += a.square().sum().item<double>();
    expected += b.square().sum().item<double>();
  });
  return both / std::sqrt(measured * expected + 1e-12);
}

}  // namespace ptyche
