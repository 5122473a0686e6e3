#include "ptyche/workflow/grid_probe.h"

#include "ptyche/core/error.h"
#include "ptyche/data/describe.h"
#include "ptyche/io/npz.h"
#include "ptyche/physics/default_probe.h"
#include "ptyche/physics/gaussian_filter.h"

namespace ptyche {
namespace {

/// `work` on real and imaginary part, (rows, cols) float64 each.
template <class Work>
at::Tensor by_parts(const at::Tensor& image, const Work& work) {
  return at::complex(work(at::real(image).contiguous()), work(at::imag(image).contiguous()));
}

at::Tensor smoothed(const at::Tensor& probe, double sigma_px) {
  require(sigma_px >= 0, "probe smoothing: expected 0 px or more, found {}", sigma_px);
  if (sigma_px == 0) return probe;
  return by_parts(probe,
                  [sigma_px](const at::Tensor& part) { return gaussian_filter(part, sigma_px); });
}

at::Tensor read_probe(const std::filesystem::path& file) {
  require(!file.empty(), "probe source custom: expected a file, give --probe-npz");
  return with_context(file.string(), [&] {
    const NpzFile npz(file);
    at::Tensor probe = npz.read(npz.first_of({"probeGuess", "probe"})).values.squeeze();
    if (probe.dim() == 3) probe = probe[0];
    require(probe.dim() == 2 && probe.size(0) == probe.size(1),
            "probeGuess: expected (n, n), found {}", describe(probe));
    return probe.to(at::kComplexDouble);
  });
}

at::Tensor padded(const at::Tensor& probe, std::int64_t size) {
  const std::int64_t room = size - probe.size(0), near = room / 2;
  require(room >= 0,
          "probeGuess: {0} x {0} pixels cannot be padded to {1} x {1}; --probe-scale-mode "
          "interpolate would shrink it",
          probe.size(0), size);
  return at::constant_pad_nd(probe, {near, room - near, near, room - near});
}

at::Tensor stretched(const at::Tensor& probe, std::int64_t size) {
  return by_parts(probe, [size](const at::Tensor& part) {
    return at::upsample_bicubic2d(part.unsqueeze(0).unsqueeze(0), {size, size}, false)[0][0];
  });
}

}  // namespace

at::Tensor grid_probe(std::int64_t size, const GridProbeOptions& options) {
  require(options.source == "custom" || options.file.empty(),
          "probe source {}: {} is looked at with --probe-source custom only", options.source,
          options.file.string());
  if (options.source == "ideal_disk")
    return smoothed(default_probe(size).to(at::kComplexDouble), options.smoothing_px);
  const at::Tensor probe = smoothed(read_probe(options.file), options.smoothing_px);
  return options.scale_mode == "interpolate" ? stretched(probe, size) : padded(probe, size);
}

}  // namespace ptyche
