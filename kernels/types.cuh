// Storage types on the device and the vectors that move them; the same text on host and device.
// The includer has defined DEVICE and the fixed-width integers.
#pragma once

#include "ir/scalar.h"

namespace warploom {

// 1 to 16 bytes that one access moves.
template <class T, int width> struct alignas(sizeof(T) * width) Vec {
  T lane[width];
};

// What a storage type is computed in: f32 for the small floating types, else itself.
template <class T> struct ComputeType {
  using type = T;
};
template <> struct ComputeType<bf16> {
  using type = float;
};
template <> struct ComputeType<f16> {
  using type = float;
};
template <> struct ComputeType<f8e4m3> {
  using type = float;
};
template <> struct ComputeType<f8e5m2> {
  using type = float;
};
template <class T> using Compute = typename ComputeType<T>::type;

} // namespace warploom
