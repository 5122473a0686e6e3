// Vectors of one register, for kernels that are compiled once per instruction set. The including
// file sets PTYCHE_ISA (a namespace, so that no two builds share a symbol) and PTYCHE_VECTOR_BYTES.
// Nothing here or in the other kernel headers may use inline functions of the standard library:
// the linker could keep the copy with the wrong instructions.
#pragma once

#include <cstdint>

namespace ptyche::cpu::PTYCHE_ISA {

template <class T>
struct Simd;

template <>
struct Simd<float> {
  typedef float Vector __attribute__((vector_size(PTYCHE_VECTOR_BYTES)));
  typedef std::int32_t Index __attribute__((vector_size(PTYCHE_VECTOR_BYTES)));
  typedef float Unaligned __attribute__((vector_size(PTYCHE_VECTOR_BYTES), aligned(4), may_alias));
};

template <>
struct Simd<double> {
  typedef double Vector __attribute__((vector_size(PTYCHE_VECTOR_BYTES)));
  typedef std::int64_t Index __attribute__((vector_size(PTYCHE_VECTOR_BYTES)));
  typedef double Unaligned __attribute__((vector_size(PTYCHE_VECTOR_BYTES), aligned(8), may_alias));
};

template <class T>
using Vector = typename Simd<T>::Vector;

/// Elements in a vector, and columns in the strips that the FFT works on: a cache line or two.
template <class T>
inline constexpr int kLanes = PTYCHE_VECTOR_BYTES / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int kStrip = kLanes<T> < 16 ? 64 / static_cast<int>(sizeof(T)) : kLanes<T>;

template <class T>
inline Vector<T> load(const T* from) {
  return *reinterpret_cast<const typename Simd<T>::Unaligned*>(from);
}

template <class T>
inline void store(T* to, Vector<T> value) {
  *reinterpret_cast<typename Simd<T>::Unaligned*>(to) = value;
}

template <class T>
inline Vector<T> broadcast(T value) {
  return value - Vector<T>{};
}

template <class T>
inline double lane_sum(Vector<T> values) {
  double sum = 0;
  for (int i = 0; i < kLanes<T>; ++i) sum += static_cast<double>(values[i]);
  return sum;
}

/// One step of a transpose: exchanges lanes with bit `Step` set of rows[i] with those without of
/// rows[i + Step].
template <class T, int Step>
inline void exchange(Vector<T>* rows) {
  typename Simd<T>::Index low{}, high{};
  for (int k = 0; k < kLanes<T>; ++k) {
    low[k] = (k & Step) ? kLanes<T> + k - Step : k;
    high[k] = (k & Step) ? kLanes<T> + k : k + Step;
  }
  for (int i = 0; i < kLanes<T>; ++i) {
    if (i & Step) continue;
    const Vector<T> a = rows[i], b = rows[i + Step];
    rows[i] = __builtin_shuffle(a, b, low);
    rows[i + Step] = __builtin_shuffle(a, b, high);
  }
}

/// Transposes kLanes x kLanes elements in registers.
template <class T>
inline void transpose(Vector<T>* rows) {
  if constexpr (kLanes<T> >= 16) exchange<T, 8>(rows);
  if constexpr (kLanes<T> >= 8) exchange<T, 4>(rows);
  if constexpr (kLanes<T> >= 4) exchange<T, 2>(rows);
  exchange<T, 1>(rows);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
