// Storage types and the conversions between them. One text for the interpreter, the simulator and
// the device, so that all three round alike.
//
// On the device the includer has defined the fixed-width integers. The conversion instructions
// below are the one use of inline PTX outside kernels/primitives.cuh; the portable code beside
// each gives the same bits.
#pragma once

#ifdef __CUDACC__
#define WARPLOOM_SCALAR __device__ __forceinline__
#else
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#define WARPLOOM_SCALAR inline
#endif

namespace warploom {

// Storage types without arithmetic of their own.
struct bf16 {
  uint16_t bits;
};
struct f16 {
  uint16_t bits;
};
struct f8e4m3 {
  uint8_t bits;
};
struct f8e5m2 {
  uint8_t bits;
};

WARPLOOM_SCALAR uint32_t floatBits(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

WARPLOOM_SCALAR float floatFromBits(uint32_t bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

WARPLOOM_SCALAR double doubleFromBits(uint64_t bits) {
#ifdef __CUDACC__
  return __longlong_as_double(static_cast<long long>(bits));
#else
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

// A small IEEE-like format with `mantissa` stored bits and exponent bias `bias`, to f32. Formats
// whose largest exponent means infinity and NaN; f8e4m3 treats it apart.
WARPLOOM_SCALAR float widenSmallFloat(uint32_t sign, uint32_t exponent, uint32_t fraction,
                                      int mantissa, int bias, uint32_t special) {
  if (exponent == special)
    return floatFromBits(sign << 31 | 0x7f800000u | fraction << (23 - mantissa));
  if (exponent == 0) {
    // fraction * 2^(1 - bias - mantissa), exact in f32.
    float magnitude = static_cast<float>(fraction) *
                      floatFromBits(static_cast<uint32_t>(127 + 1 - bias - mantissa) << 23);
    return floatFromBits(sign << 31 | floatBits(magnitude));
  }
  uint32_t wide = exponent + static_cast<uint32_t>(127 - bias);
  return floatFromBits(sign << 31 | wide << 23 | fraction << (23 - mantissa));
}

// The magnitude of a finite f32 rounded to nearest even in such a format: exponent and fraction
// bits together, which may carry past the largest finite number; the caller judges overflow.
WARPLOOM_SCALAR uint32_t narrowSmallFloat(uint32_t magnitude, int mantissa, int bias) {
  int exponent = static_cast<int>(magnitude >> 23) - 127 + bias;
  uint32_t fraction = (magnitude & 0x7fffffu) | 0x800000u;
  int shift = 23 - mantissa;
  if (exponent <= 0) {
    shift += 1 - exponent;
    exponent = 0;
    if (shift > 25)
      return 0;
  } else {
    fraction &= 0x7fffffu;
  }
  uint32_t kept = fraction >> shift;
  uint32_t rest = fraction & ((1u << shift) - 1);
  uint32_t half = 1u << (shift - 1);
  if (rest > half || (rest == half && (kept & 1)))
    ++kept;
  return (static_cast<uint32_t>(exponent) << mantissa) + kept;
}

WARPLOOM_SCALAR float toFloat(float value) {
  return value;
}

WARPLOOM_SCALAR float toFloat(bf16 value) {
  return floatFromBits(static_cast<uint32_t>(value.bits) << 16);
}

WARPLOOM_SCALAR float toFloat(f16 value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
#else
  return widenSmallFloat(value.bits >> 15, value.bits >> 10 & 31, value.bits & 1023, 10, 15, 31);
#endif
}

WARPLOOM_SCALAR float toFloat(f8e5m2 value) {
  return widenSmallFloat(value.bits >> 7, value.bits >> 2 & 31, value.bits & 3, 2, 15, 31);
}

WARPLOOM_SCALAR float toFloat(f8e4m3 value) {
  uint32_t magnitude = value.bits & 127;
  if (magnitude == 127)
    return floatFromBits(static_cast<uint32_t>(value.bits >> 7) << 31 | 0x7fc00000u);
  return widenSmallFloat(value.bits >> 7, magnitude >> 3, magnitude & 7, 3, 7, 16);
}

// Rounds to nearest even.
template <class T> struct FromFloat;

template <> struct FromFloat<float> {
  WARPLOOM_SCALAR static float of(float value) { return value; }
};

template <> struct FromFloat<bf16> {
  WARPLOOM_SCALAR static bf16 of(float value) {
#if defined(__CUDA_ARCH__)
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
#else
    uint32_t bits = floatBits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
      return {0x7fff};
    return {static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16)};
#endif
  }
};

template <> struct FromFloat<f16> {
  WARPLOOM_SCALAR static f16 of(float value) {
#if defined(__CUDA_ARCH__)
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
#else
    uint32_t bits = floatBits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      return {0x7fff};
    uint32_t small = magnitude == 0x7f800000u ? 0x7c00u : narrowSmallFloat(magnitude, 10, 15);
    return {static_cast<uint16_t>(sign | (small > 0x7c00u ? 0x7c00u : small))};
#endif
  }
};

template <> struct FromFloat<f8e5m2> {
  WARPLOOM_SCALAR static f8e5m2 of(float value) {
    uint32_t bits = floatBits(value);
    uint32_t sign = bits >> 24 & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
      return {static_cast<uint8_t>(sign | 0x7fu)};
    uint32_t small = magnitude == 0x7f800000u ? 0x7cu : narrowSmallFloat(magnitude, 2, 15);
    return {static_cast<uint8_t>(sign | (small > 0x7cu ? 0x7cu : small))};
  }
};

template <> struct FromFloat<f8e4m3> {
  WARPLOOM_SCALAR static f8e4m3 of(float value) {
    uint32_t bits = floatBits(value);
    uint32_t sign = bits >> 24 & 0x80u;
    uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t small = magnitude >= 0x7f800000u ? 0x7fu : narrowSmallFloat(magnitude, 3, 7);
    return {static_cast<uint8_t>(sign | (small > 0x7eu ? 0x7fu : small))};
  }
};

template <class T> WARPLOOM_SCALAR T fromFloat(float value) {
  return FromFloat<T>::of(value);
}

// Numeric conversion between any two storage or compute types. To bool: whether it is not 0.
// Floating to integer truncates; a value the integer cannot hold gives some integer.
template <class T> struct IsSmallFloat { static constexpr bool value = false; };
template <> struct IsSmallFloat<bf16> { static constexpr bool value = true; };
template <> struct IsSmallFloat<f16> { static constexpr bool value = true; };
template <> struct IsSmallFloat<f8e4m3> { static constexpr bool value = true; };
template <> struct IsSmallFloat<f8e5m2> { static constexpr bool value = true; };
template <class T> struct IsFloating { static constexpr bool value = IsSmallFloat<T>::value; };
template <> struct IsFloating<float> { static constexpr bool value = true; };
template <> struct IsFloating<double> { static constexpr bool value = true; };
template <class T> struct IsBool { static constexpr bool value = false; };
template <> struct IsBool<bool> { static constexpr bool value = true; };

template <class To, class From> WARPLOOM_SCALAR To convert(From value) {
  if constexpr (IsSmallFloat<From>::value) {
    return convert<To>(toFloat(value));
  } else if constexpr (IsSmallFloat<To>::value) {
    return fromFloat<To>(static_cast<float>(value));
  } else if constexpr (IsBool<To>::value) {
    return value != From(0);
  } else if constexpr (IsFloating<From>::value && !IsFloating<To>::value) {
    // Through 64 bits, where most values that do not fit wrap instead of being undefined.
    double wide = static_cast<double>(value);
    bool fits = wide > -9223372036854775808.0 && wide < 9223372036854775808.0;
    return static_cast<To>(fits ? static_cast<int64_t>(wide) : int64_t(0));
  } else {
    return static_cast<To>(value);
  }
}

} // namespace warploom
