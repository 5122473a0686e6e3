// Aberrations of a round lens.
#pragma once

#include <ATen/ATen.h>

namespace ptyche {

/// Zernike polynomial of Noll index j >= 1 (Noll, J. Opt. Soc. Am. 66, 207 (1976), eq. 2 and table
/// I: 1 piston, 2 and 3 tilts, 4 defocus, 5 and 6 astigmatism, 7 and 8 coma, 9 and 10 trefoil, 11
/// spherical), whose mean square over the unit disc is 1. Even j go with cos(m angle), odd with
/// sin.
///   radius  any shape float64, in units of the lens's rim; beyond 1 the polynomial goes on
///   angle   the same shape, rad, from the columns' direction towards growing rows
at::Tensor zernike(std::int64_t noll, const at::Tensor& radius, const at::Tensor& angle);

}  // namespace ptyche
