// Storage types on the device and the vectors that move them; the same text on host and device.
// The includer has defined DEVICE and the fixed-width integers.
#pragma once

#include "ir/scalar.h"

namespace warploom {

// Elements side by side; up to 16 bytes move in one access, more in several.
template <class T, int width> struct alignas(sizeof(T) * width < 16 ? sizeof(T) * width : 16) Vec {
  T lane[width];
};

// The same bits read as another type of the same size.
template <class To, class From> DEVICE To bitcast(From value) {
  static_assert(sizeof(To) == sizeof(From));
  union {
    From from;
    To to;
  } bits;
  bits.from = value;
  return bits.to;
}

// What a storage type is computed in: f32 for the small floating types, else itself.
template <class T> struct ComputeType { using type = T; };
template <> struct ComputeType<bf16> { using type = float; };
template <> struct ComputeType<f16> { using type = float; };
template <> struct ComputeType<f8e4m3> { using type = float; };
template <> struct ComputeType<f8e5m2> { using type = float; };
// The identities of max and min: infinities, or the ends of an integer's range.
template <class T> DEVICE T highest() {
  if constexpr (IsFloating<T>::value)
    return static_cast<T>(floatFromBits(0x7f800000u));
  else if constexpr (T(-1) < T(0))
    return static_cast<T>(~uint64_t(0) >> (65 - 8 * sizeof(T)));
  else
    return static_cast<T>(~uint64_t(0));
}
template <class T> DEVICE T lowest() {
  if constexpr (IsFloating<T>::value)
    return -highest<T>();
  else if constexpr (T(-1) < T(0))
    return static_cast<T>(-static_cast<int64_t>(highest<T>()) - 1);
  else
    return T(0);
}

template <class T> using Compute = typename ComputeType<T>::type;

} // namespace warploom
