// What lets one function body be compiled for the GPU (by nvcc) and for the CPU (by any compiler,
// for tests).
#pragma once

#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define PTYCHE_BOTH __host__ __device__
#else
#define PTYCHE_BOTH
#endif

namespace ptyche::cuda {

/// One complex number, laid out as LibTorch and cuFFT lay it out.
template <class T>
struct alignas(2 * sizeof(T)) Complex {
  T re = 0, im = 0;

  PTYCHE_BOTH Complex& operator+=(Complex b) {
    re += b.re;
    im += b.im;
    return *this;
  }
};

template <class T>
PTYCHE_BOTH inline Complex<T> operator*(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
PTYCHE_BOTH inline Complex<T> operator*(T a, Complex<T> b) {
  return {a * b.re, a * b.im};
}

template <class T>
PTYCHE_BOTH inline Complex<T> operator-(Complex<T> a, Complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}

/// conj(a) b.
template <class T>
PTYCHE_BOTH inline Complex<T> conj_times(Complex<T> a, Complex<T> b) {
  return {a.re * b.re + a.im * b.im, a.re * b.im - a.im * b.re};
}

/// Re(conj(a) b): what a change b of a number does to a loss whose gradient there is a.
template <class T>
PTYCHE_BOTH inline T dot(Complex<T> a, Complex<T> b) {
  return a.re * b.re + a.im * b.im;
}

}  // namespace ptyche::cuda
