#include "ptyche/evaluate/description.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "ptyche/data/probe.h"
#include "ptyche/evaluate/expected_patterns.h"
#include "ptyche/evaluate/pattern_fit.h"

namespace ptyche {
namespace {

// Of a pattern that does not belong to the image.
constexpr double kHardlyBetter = 0.5;     // left by the image over what the mean pattern leaves
constexpr double kTypical = 0.3;          // the same of the median pattern, at most
constexpr double kFarWorse = 5;           // times what is left of the median pattern
constexpr double kMostMisfitting = 0.25;  // of all

constexpr double kSmallest = 1e-9;  // counts: what is expected at least, so that a logarithm exists

/// Patterns and two guesses of them, (k, pixels) float64, the guesses scaled to the totals.
struct Described {
  at::Tensor counts, expected, mean;
};

class Patterns {
 public:
  Patterns(const Reconstruction& image, const Scan& scan) : scan_(scan), expected_(image, scan) {
    const at::Tensor mask = mask_in_fft_order(scan).flatten();
    counted_ = mask.nonzero().squeeze(1);
    const at::Tensor used = scan.frames_with(FrameUse::used);
    mean_ = counted(to_fft_order(mean_pattern(scan, used, 1)).unsqueeze(0)) + kSmallest;
  }

  template <class Work>
  void each(const at::Tensor& frames, const Work& work) const {
    for (const at::Tensor& batch : in_batches(frames, scan_.pattern_size())) {
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
  at::Tensor counted_, mean_;
};

/// Deviance above that of noise, summed, and the photons that it is of.
struct Above {
  double deviance = 0, photons = 0;
  double per_photon() const { return deviance / std::max(photons, 1.0); }
};

/// The mean deviance of Poisson counts whose expectations are `means` (k, pixels).
at::Tensor noise_deviance(const at::Tensor& means) {
  const at::Tensor in = means.contiguous(), out = at::empty_like(in);
  const double* mean = in.const_data_ptr<double>();
  double* deviance = out.mutable_data_ptr<double>();
  at::parallel_for(0, in.numel(), 1 << 15, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) deviance[i] = photon_noise(mean[i]).deviance;
  });
  return out;
}

/// Of each pattern, (k) float64: the deviance of `guess` above that of noise.
at::Tensor above_noise(const Described& patterns, const at::Tensor& guess) {
  const at::Tensor& counts = patterns.counts;
  const at::Tensor all = 2 * (at::xlogy(counts, counts / guess) - (counts - guess));
  return (all - noise_deviance(patterns.expected)).sum(1);
}

void add(Above& sum, const Described& patterns, const at::Tensor& guess) {
  sum.deviance += above_noise(patterns, guess).sum().item<double>();
  sum.photons += patterns.counts.sum().item<double>();
}

}  // namespace

double misfit(const Reconstruction& image, const Scan& scan, const at::Tensor& used,
              const at::Tensor& others) {
  const Patterns patterns(image, scan);
  Above left, of_mean;
  patterns.each(used, [&](const Described& each) { add(left, each, each.expected); });
  patterns.each(others, [&](const Described& each) { add(of_mean, each, each.mean); });
  return left.per_photon() / std::max(of_mean.per_photon(), kSmallest);
}

at::Tensor left_of_each(const Reconstruction& image, const Scan& scan, const at::Tensor& frames) {
  std::vector<at::Tensor> left;
  Patterns(image, scan).each(frames, [&](const Described& each) {
    const at::Tensor photons = each.counts.sum(1).clamp_min(1);
    left.push_back(at::stack(
        {above_noise(each, each.expected) / photons, above_noise(each, each.mean) / photons}, 1));
  });
  return at::cat(left);
}

at::Tensor misfitting(const Reconstruction& image, const Scan& scan, const at::Tensor& frames) {
  const at::Tensor left = left_of_each(image, scan, frames), none = frames.slice(0, 0, 0);
  const at::Tensor by_image = left.select(1, 0), by_mean = left.select(1, 1);
  const double usual = std::max(by_image.median().item<double>(), 0.0);
  const double usual_of_mean = by_mean.median().item<double>();
  if (usual > kTypical * usual_of_mean) return none;
  const at::Tensor bad = by_image.gt(kHardlyBetter * by_mean)
                             .logical_and(by_image.gt(kFarWorse * usual))
                             .logical_and(by_image.gt(kTypical * usual_of_mean));
  if (bad.to(at::kDouble).mean().item<double>() > kMostMisfitting) return none;
  return frames.masked_select(bad);
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
