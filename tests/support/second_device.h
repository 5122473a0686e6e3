// A device that is not the CPU to LibTorch and yet needs no hardware: its memory is the host's, its
// arithmetic the CPU's. What runs there with its data in one place runs on a GPU, too; a transfer
// that was forgotten is an error.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

namespace ptyche {

/// The device, ready for use: LibTorch's PrivateUse1. An operator that is given tensors of it and
/// of the CPU throws c10::Error "OPERATOR: operands on ...", where LibTorch's own way of lending
/// the CPU's operators to a device would copy in silence; numbers, that is tensors of no dimension,
/// may come from the CPU, as they may to a GPU. Only copies go between the two.
/// With PTYCHE_TEST_DEVICE=cuda it is the first NVIDIA GPU instead, for the tests SecondDevice...
/// and OnTheSecondDevice.
at::Device second_device();

/// The difference that is left between the two: `rounding`, where the second computes as the CPU
/// does; a GPU adds up in another order, which the steps of a solver or a training amplify.
double allowed(double rounding);

/// Copies of tensors from the CPU to it, and back, since the program started.
struct TransferCounts {
  std::int64_t there = 0, back = 0;
};
TransferCounts transfers();
bool counts_transfers();  ///< not those of a GPU

}  // namespace ptyche
