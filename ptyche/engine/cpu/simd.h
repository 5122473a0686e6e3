// Vectors of one register, for kernels that are compiled once per instruction set. The including
// file sets PTYCHE_ISA (a namespace, so that no two builds share a symbol) and PTYCHE_VECTOR_BYTES.
// Nothing here or in the other kernel headers may use inline functions of the standard library:
// the linker could keep the copy with the wrong instructions.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

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

/// `count` numbers; the rest 0.
template <class T>
inline Vector<T> load_some(const T* from, std::int64_t count) {
  if (count >= kLanes<T>) return load(from);
  Vector<T> some{};
  for (std::int64_t k = 0; k < count; ++k) some[k] = from[k];
  return some;
}

template <class T>
inline void store_some(T* to, Vector<T> values, std::int64_t count) {
  if (count >= kLanes<T>) return store(to, values);
  for (std::int64_t k = 0; k < count; ++k) to[k] = values[k];
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

/// Lanes Pick(0), Pick(1), ... of the numbers of a, then b; Pick is known to the compiler, which
/// makes one or two instructions of it.
template <class T, class Pick, int... Lane>
inline Vector<T> shuffle(Vector<T> a, Vector<T> b, Pick, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(a, b, Pick::lane(Lane)...);
}

template <class T, class Pick>
inline Vector<T> shuffle(Vector<T> a, Vector<T> b, Pick pick) {
  return shuffle<T>(a, b, pick, std::make_integer_sequence<int, kLanes<T>>());
}

/// Lanes without bit Step from a, those with it from the ones without of b; Upper: the other ones.
template <class T, int Step, bool Upper>
struct Exchange {
  static constexpr int lane(int k) {
    if (Upper) return (k & Step) ? kLanes<T> + k : k + Step;
    return (k & Step) ? kLanes<T> + k - Step : k;
  }
};

/// Pieces of Size numbers of the lower (Upper: upper) halves of the 128-bit lanes of a and b in
/// turn.
template <class T, int Size, bool Upper>
struct Interleave {
  static constexpr int lane(int k) {
    constexpr int width = 16 / static_cast<int>(sizeof(T));
    const int within = k % width, piece = within / Size;
    const int from = (k - within) + (Upper ? width / 2 : 0) + piece / 2 * Size + within % Size;
    return from + (piece % 2) * kLanes<T>;
  }
};

/// Even (Odd: odd) numbers of a, then of b.
template <class T, bool Odd>
struct Every2nd {
  static constexpr int lane(int k) { return 2 * k + (Odd ? 1 : 0); }
};

/// First (Upper: second) half of a and b, number by number in turn.
template <class T, bool Upper>
struct InTurn {
  static constexpr int lane(int k) {
    return k / 2 + (k % 2) * kLanes<T> + (Upper ? kLanes<T> / 2 : 0);
  }
};

/// One step of a transpose across the 128-bit lanes of a register.
template <class T, int Step>
inline void exchange(Vector<T>* rows) {
  for (int i = 0; i < kLanes<T>; ++i) {
    if (i & Step) continue;
    const Vector<T> a = rows[i], b = rows[i + Step];
    rows[i] = shuffle<T>(a, b, Exchange<T, Step, false>());
    rows[i + Step] = shuffle<T>(a, b, Exchange<T, Step, true>());
  }
}

template <class T, int Size, bool Upper>
inline Vector<T> interleave_lanes(Vector<T> a, Vector<T> b) {
  return shuffle<T>(a, b, Interleave<T, Size, Upper>());
}

/// Transposes the squares within the 128-bit lanes.
template <class T>
inline void transpose_lanes(Vector<T>* rows) {
  for (int i = 0; i < kLanes<T>; i += 16 / static_cast<int>(sizeof(T))) {
    Vector<T>* r = rows + i;
    if constexpr (sizeof(T) == 8) {
      const Vector<T> a = r[0], b = r[1];
      r[0] = interleave_lanes<T, 1, false>(a, b);
      r[1] = interleave_lanes<T, 1, true>(a, b);
    } else {
      const Vector<T> a = interleave_lanes<T, 1, false>(r[0], r[1]);
      const Vector<T> b = interleave_lanes<T, 1, true>(r[0], r[1]);
      const Vector<T> c = interleave_lanes<T, 1, false>(r[2], r[3]);
      const Vector<T> d = interleave_lanes<T, 1, true>(r[2], r[3]);
      r[0] = interleave_lanes<T, 2, false>(a, c);
      r[1] = interleave_lanes<T, 2, true>(a, c);
      r[2] = interleave_lanes<T, 2, false>(b, d);
      r[3] = interleave_lanes<T, 2, true>(b, d);
    }
  }
}

/// Transposes kLanes x kLanes elements in registers.
template <class T>
inline void transpose(Vector<T>* rows) {
  transpose_lanes<T>(rows);
  if constexpr (sizeof(T) == 8 && kLanes<T> >= 4) exchange<T, 2>(rows);
  if constexpr (kLanes<T> >= 8) exchange<T, 4>(rows);
  if constexpr (kLanes<T> >= 16) exchange<T, 8>(rows);
}

}  // namespace ptyche::cpu::PTYCHE_ISA
