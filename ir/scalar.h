// Scalar meaning: storage types, conversions between them, and the functions that the expressions
// of ir/ops.def call. One text for the interpreter, the simulator and the device, so that all three
// agree; where C++ and PyTorch differ, this says what PyTorch says (max(1, NaN) is NaN, round is
// to even, an integer divided by zero is 0).
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

namespace scalar {

// Each math function in f32 and f64.
#ifdef __CUDACC__
#define WARPLOOM_MATH(name, single, twice)                                                         \
  WARPLOOM_SCALAR float name(float a) {                                                            \
    return ::single(a);                                                                            \
  }                                                                                                \
  WARPLOOM_SCALAR double name(double a) {                                                          \
    return ::twice(a);                                                                             \
  }
#else
#define WARPLOOM_MATH(name, single, twice)                                                         \
  WARPLOOM_SCALAR float name(float a) {                                                            \
    return std::twice(a);                                                                          \
  }                                                                                                \
  WARPLOOM_SCALAR double name(double a) {                                                          \
    return std::twice(a);                                                                          \
  }
#endif
WARPLOOM_MATH(exp, expf, exp)
WARPLOOM_MATH(exp2, exp2f, exp2)
WARPLOOM_MATH(expm1, expm1f, expm1)
WARPLOOM_MATH(log, logf, log)
WARPLOOM_MATH(log1p, log1pf, log1p)
WARPLOOM_MATH(sqrt, sqrtf, sqrt)
WARPLOOM_MATH(sin, sinf, sin)
WARPLOOM_MATH(cos, cosf, cos)
WARPLOOM_MATH(tanh, tanhf, tanh)
WARPLOOM_MATH(erf, erff, erf)
WARPLOOM_MATH(floor, floorf, floor)
WARPLOOM_MATH(ceil, ceilf, ceil)
WARPLOOM_MATH(truncate, truncf, trunc)
WARPLOOM_MATH(roundEven, rintf, nearbyint)
WARPLOOM_MATH(absoluteReal, fabsf, fabs)
#undef WARPLOOM_MATH

#ifdef __CUDACC__
WARPLOOM_SCALAR float power(float a, float b) {
  return ::powf(a, b);
}
WARPLOOM_SCALAR double power(double a, double b) {
  return ::pow(a, b);
}
WARPLOOM_SCALAR float modulo(float a, float b) {
  return ::fmodf(a, b);
}
WARPLOOM_SCALAR double modulo(double a, double b) {
  return ::fmod(a, b);
}
#else
template <class T> T power(T a, T b) {
  return std::pow(a, b);
}
template <class T> T modulo(T a, T b) {
  return std::fmod(a, b);
}
#endif

#ifdef __CUDACC__
WARPLOOM_SCALAR float rsqrt(float a) {
  return ::rsqrtf(a);
}
WARPLOOM_SCALAR double rsqrt(double a) {
  return ::rsqrt(a);
}
#else
template <class T> T rsqrt(T a) {
  return T(1) / std::sqrt(a);
}
#endif

// Integer arithmetic wraps: it is done unsigned, in 64 bits.
template <class T> WARPLOOM_SCALAR T add(T a, T b) {
  if constexpr (IsFloating<T>::value)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
template <class T> WARPLOOM_SCALAR T subtract(T a, T b) {
  if constexpr (IsFloating<T>::value)
    return a - b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
template <class T> WARPLOOM_SCALAR T multiply(T a, T b) {
  if constexpr (IsFloating<T>::value)
    return a * b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
template <class T> WARPLOOM_SCALAR T negate(T a) {
  if constexpr (IsFloating<T>::value)
    return -a;
  else
    return static_cast<T>(uint64_t(0) - static_cast<uint64_t>(a));
}
template <class T> WARPLOOM_SCALAR T absolute(T a) {
  if constexpr (IsFloating<T>::value)
    return absoluteReal(a);
  else
    return a < T(0) ? negate(a) : a;
}
// -1, 0 or 1; a NaN stays NaN.
template <class T> WARPLOOM_SCALAR T signOf(T a) {
  return a > T(0) ? T(1) : a < T(0) ? negate(T(1)) : a != a ? a : T(0);
}

// Division toward zero. Integers: by zero is 0, the lowest number by -1 wraps.
template <class T> WARPLOOM_SCALAR T truncateDivide(T a, T b) {
  if constexpr (IsFloating<T>::value) {
    return truncate(a / b);
  } else {
    if (b == T(0))
      return T(0);
    if (T(-1) < T(0) && b == T(-1))
      return negate(a);
    return static_cast<T>(a / b);
  }
}
// Division toward minus infinity.
template <class T> WARPLOOM_SCALAR T floorDivide(T a, T b) {
  if constexpr (IsFloating<T>::value) {
    return floor(a / b);
  } else {
    T quotient = truncateDivide(a, b);
    if (b == T(0))
      return quotient;
    T rest = subtract(a, multiply(quotient, b));
    return rest != T(0) && ((rest < T(0)) != (b < T(0))) ? subtract(quotient, T(1)) : quotient;
  }
}
// What floorDivide leaves; it has the divisor's sign, and is 0 for an integer divisor of 0.
template <class T> WARPLOOM_SCALAR T remainder(T a, T b) {
  if constexpr (IsFloating<T>::value) {
    T rest = modulo(a, b);
    return rest != T(0) && ((rest < T(0)) != (b < T(0))) ? rest + b : rest;
  } else {
    return b == T(0) ? T(0) : subtract(a, multiply(floorDivide(a, b), b));
  }
}

// A NaN on either side wins; max(-0, 0) is 0 and min(-0, 0) is -0.
template <class T> WARPLOOM_SCALAR T maximum(T a, T b) {
  if constexpr (IsFloating<T>::value) {
    if (a != a || b != b)
      return a + b;
    if (a == b)
      return a + b == T(0) && a == T(0) ? a + b : a;
  }
  return a > b ? a : b;
}
template <class T> WARPLOOM_SCALAR T minimum(T a, T b) {
  if constexpr (IsFloating<T>::value) {
    if (a != a || b != b)
      return a + b;
    if (a == b)
      return a == T(0) ? -(-a + -b) : a;
  }
  return a < b ? a : b;
}

// 1 / (1 + e^-a); e^-a overflows to infinity, which gives 0 as it should.
template <class T> WARPLOOM_SCALAR T sigmoid(T a) {
  return T(1) / (T(1) + exp(-a));
}

// log(1 + e^a); above 20 it is a itself, as PyTorch has it.
template <class T> WARPLOOM_SCALAR T softplus(T a) {
  return a > T(20) ? a : log1p(exp(a));
}

// a * Phi(a) (Hendrycks and Gimpel, 2016, eq. 1), with sqrt(1/2).
template <class T> WARPLOOM_SCALAR T gelu(T a) {
  return T(0.5) * a * (T(1) + erf(a * T(0.70710678118654752440)));
}

// Its tanh approximation (ibid., section 2), with sqrt(2/pi).
template <class T> WARPLOOM_SCALAR T geluTanh(T a) {
  return T(0.5) * a * (T(1) + tanh(T(0.79788456080286535588) * (a + T(0.044715) * a * a * a)));
}

} // namespace scalar

// The elementwise ops themselves: op_add(a, b), op_silu(a), ...
#define WARPLOOM_PARAMETERS_1 T a
#define WARPLOOM_PARAMETERS_2 T a, T b
#define WARPLOOM_PARAMETERS_3 T a, T b, T c
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  template <class T> WARPLOOM_SCALAR auto op_##name(WARPLOOM_PARAMETERS_##arity) {                 \
    return expression;                                                                             \
  }
#include "ir/ops.def"
#undef WARPLOOM_PARAMETERS_1
#undef WARPLOOM_PARAMETERS_2
#undef WARPLOOM_PARAMETERS_3

} // namespace warploom
