// Scalar meaning: the functions that the expressions of ir/ops.def call. One text for the
// interpreter, the simulator and the device, so that all three agree; where C++ and PyTorch differ,
// this says what PyTorch says (max(1, NaN) is NaN, round is to even, an integer divided by zero is
// 0).
#pragma once

#include "ir/storage.h"

namespace warploom {

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
WARPLOOM_MATH(erfc, erfcf, erfc)
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
#if defined(__CUDA_ARCH__)
// One instruction for the same; its NaN is the canonical one.
template <> WARPLOOM_SCALAR float maximum(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}
template <> WARPLOOM_SCALAR float minimum(float a, float b) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}
#endif

// 1 / a for use inside of functions: a correctly rounded division costs a branch per element; the
// device's approximation is off by at most 1 unit in the last place, and 0 for an infinite or huge
// a (PTX ISA, rcp.approx.ftz).
WARPLOOM_SCALAR double inverse(double a) {
  return 1 / a;
}
WARPLOOM_SCALAR float inverse(float a) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
#else
  return 1 / a;
#endif
}

// 2^a, off by at most 2 units in the last place (PTX ISA, ex2.approx); below 2^-126 it is 0.
WARPLOOM_SCALAR float powerOfTwo(float a) {
#if defined(__CUDA_ARCH__)
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a));
  return result;
#else
  return std::exp2(a);
#endif
}

// 1 / (1 + e^-a); e^-a overflows to infinity, which gives 0 as it should.
template <class T> WARPLOOM_SCALAR T sigmoid(T a) {
  return inverse(T(1) + exp(-a));
}

// log(1 + e^a); above 20 it is a itself, as PyTorch has it.
template <class T> WARPLOOM_SCALAR T softplus(T a) {
  return a > T(20) ? a : log1p(exp(a));
}

// Phi(a), the normal distribution function, as half of erfc(|a| / sqrt(2)), or the rest of 1. In
// f32, erfc(z) is t * 2^(p(t) - z^2 log2(e)) with t = 1 / (1 + 0.4 z): two instructions of the
// special function unit and no branch, where erff has one. p is our own minimax fit of degree 8 for
// z <= 9.5; it is off by 1.3e-7 of erfc.
WARPLOOM_SCALAR double normalDistribution(double a) {
  return 0.5 * erfc(a * -0.70710678118654752440);
}
WARPLOOM_SCALAR float normalDistribution(float a) {
  float z = absoluteReal(a) * 0.70710678f;
  float t = inverse(1.0f + 0.4f * z);
  float p = -0.297100896f;
  p = p * t + 1.32234541f;
  p = p * t - 2.11819146f;
  p = p * t + 1.41002709f;
  p = p * t - 0.616381151f;
  p = p * t + 0.422613116f;
  p = p * t + 0.579716427f;
  p = p * t + 1.44469965f;
  p = p * t - 2.14772832f;
  float tail = 0.5f * t * powerOfTwo(p - z * 1.44269504f * z);
  return a > 0.0f ? 1.0f - tail : tail;
}

// a * Phi(a) (Hendrycks and Gimpel, 2016, eq. 1).
template <class T> WARPLOOM_SCALAR T gelu(T a) {
  return a * normalDistribution(a);
}

// Its tanh approximation (ibid., section 2), with 2 sqrt(2/pi): (1 + tanh(u)) / 2 is sigmoid(2 u),
// which keeps its digits where tanh is close to -1.
template <class T> WARPLOOM_SCALAR T geluTanh(T a) {
  return a * sigmoid(T(1.59576912160573071176) * (a + T(0.044715) * a * a * a));
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
