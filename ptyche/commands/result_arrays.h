// The arrays of a result as NumPy's .npy, for programs that read no HDF5: they can be mapped into
// memory as they are.
#pragma once

#include <filesystem>

#include "ptyche/core/field.h"
#include "ptyche/data/reconstruction.h"

namespace ptyche {

/// --arrays.
Field arrays_option(bool& arrays);

/// Writes, each atomically, those of these that the image has:
///   object.npy       (rows, cols) complex64
///   probe.npy        (modes, N, N) complex64, sqrt(photon)
///   positions.npy    (n, 2) float64, row and column in pixels of object.npy, under the probe's
///                    centre (N/2, N/2), of all patterns in file order
///   coverage.npy     (rows, cols) float32
///   frame_use.npy    (n) uint8 FrameUse
///   background.npy   (N, N) float32 counts
///   intensities.npy  (n) float32
///   arrays.json      what the arrays do not say: pixel, energy, losses, version, remarks
/// What cannot be written is a warning.
void write_arrays(const std::filesystem::path& folder, const Reconstruction& image);

/// For who listens to events: writes object.npy of the image so far where `arrays` are wanted, not
/// more often than twice a second, and sends `preview` with the paths of what there is to see.
/// Call after the pictures are written.
void show_image_so_far(const std::filesystem::path& folder, const Reconstruction& image,
                       bool arrays);

}  // namespace ptyche
