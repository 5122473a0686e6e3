// How much a network computes, counted while it runs.
#pragma once

#include <functional>

namespace ptyche {

/// Floating-point operations of the convolutions that `work` runs in this thread, forward and
/// backward: 2 for every product that is added, for images that padding keeps at their size over
/// the stride, as all networks here do. What else a network computes is small beside them.
double convolution_flops(const std::function<void()>& work);

}  // namespace ptyche
