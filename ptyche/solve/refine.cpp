#include "ptyche/solve/refine.h"

#include <charconv>

#include "ptyche/core/error.h"
#include "ptyche/solve/rpie.h"

namespace ptyche {

Reconstruction refine(const Scan& scan, const Reconstruction& image, const std::string& how) {
  if (how == "none") return image;
  std::int64_t epochs = 0;
  const auto [end, error] = std::from_chars(how.data(), how.data() + how.size(), epochs);
  require(error == std::errc() && end == how.data() + how.size() && epochs >= 1,
          "--refine: expected none or a number of epochs, found {}", how);
  return rpie(scan, image,
              {.epochs = epochs, .object_step = 0.2, .probe_step = 0.2, .probe_start = 0});
}

}  // namespace ptyche
