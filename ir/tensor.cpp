#include "ir/tensor.h"

#include "ir/scalar.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace warploom {
namespace {

// Calls `use` with a value of the C++ type that stores `dtype`.
template <class Function> void withStorage(DType dtype, Function &&use) {
  switch (dtype) {
  case DType::f32:
    return use(float());
  case DType::f16:
    return use(f16());
  case DType::bf16:
    return use(bf16());
  case DType::f64:
    return use(double());
  case DType::i1:
    return use(bool());
  case DType::i8:
    return use(int8_t());
  case DType::u8:
    return use(uint8_t());
  case DType::i16:
    return use(int16_t());
  case DType::u16:
    return use(uint16_t());
  case DType::i32:
    return use(int32_t());
  case DType::i64:
    return use(int64_t());
  case DType::f8e4m3:
    return use(f8e4m3());
  case DType::f8e5m2:
    return use(f8e5m2());
  }
  llvm_unreachable("all dtypes are handled");
}

// A double to f32 such that rounding the f32 further gives what rounding the double would: to odd.
float roundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(nearest) || static_cast<double>(nearest) == value)
    return nearest;
  bool isAbove = std::abs(static_cast<double>(nearest)) > std::abs(value);
  float toZero = isAbove ? std::nextafter(nearest, 0.0f) : nearest;
  return floatFromBits(floatBits(toZero) | 1);
}

template <class T> T fromDouble(double value) {
  if constexpr (IsSmallFloat<T>::value)
    return fromFloat<T>(roundToOdd(value));
  else
    return static_cast<T>(value);
}

template <class T> double toDouble(T value) {
  if constexpr (IsSmallFloat<T>::value)
    return toFloat(value);
  else
    return static_cast<double>(value);
}

} // namespace

int64_t elementCount(llvm::ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

int64_t Tensor::elementCount() const {
  return warploom::elementCount(dims);
}
int64_t WideTensor::elementCount() const {
  return warploom::elementCount(dims);
}

WideTensor widen(const Tensor &tensor) {
  WideTensor wide;
  wide.dtype = tensor.dtype;
  wide.dims = tensor.dims;
  int64_t count = tensor.elementCount();
  bool isReal = isFloating(tensor.dtype);
  wide.reals.resize(isReal ? count : 0);
  wide.integers.resize(isReal ? 0 : count);
  withStorage(tensor.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      T element;
      std::memcpy(&element, tensor.bytes.data() + i * sizeof(T), sizeof(T));
      if constexpr (IsFloating<T>::value)
        wide.reals[i] = toDouble(element);
      else
        wide.integers[i] = static_cast<int64_t>(element);
    }
  });
  return wide;
}

Tensor narrow(const WideTensor &wide) {
  Tensor tensor;
  tensor.dtype = wide.dtype;
  tensor.dims = wide.dims;
  int64_t count = wide.elementCount();
  tensor.bytes.resize(count * byteSize(wide.dtype));
  withStorage(wide.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      T element;
      if constexpr (IsFloating<T>::value)
        element = fromDouble<T>(wide.reals[i]);
      else
        element = static_cast<T>(wide.integers[i]);
      std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return tensor;
}

double roundTo(DType dtype, double value) {
  double rounded = value;
  withStorage(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (IsFloating<T>::value)
      rounded = toDouble(fromDouble<T>(value));
    else
      assert(false && "only floating types round");
  });
  return rounded;
}

int64_t wrapTo(DType dtype, int64_t value) {
  int64_t wrapped = value;
  withStorage(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!IsFloating<T>::value)
      wrapped = static_cast<int64_t>(static_cast<T>(value));
    else
      assert(false && "only integers wrap");
  });
  return wrapped;
}

Difference compare(const Tensor &actual, const WideTensor &expected) {
  assert(actual.dtype == expected.dtype && actual.dims == expected.dims);
  WideTensor wide = widen(actual);
  int64_t count = wide.elementCount();
  double squares = 0, expectedSquares = 0, largest = 0, expectedLargest = 0;
  for (int64_t i = 0; i < count; ++i) {
    bool isReal = isFloating(actual.dtype);
    double a = isReal ? wide.reals[i] : static_cast<double>(wide.integers[i]);
    double e = isReal ? expected.reals[i] : static_cast<double>(expected.integers[i]);
    if (std::isnan(a) && std::isnan(e))
      continue;
    if (a == e && std::isinf(a))
      continue;
    double difference = std::abs(a - e);
    if (!std::isfinite(difference))
      return {INFINITY, INFINITY};
    squares += difference * difference;
    expectedSquares += e * e;
    largest = std::max(largest, difference);
    expectedLargest = std::max(expectedLargest, std::abs(e));
  }
  auto ratio = [](double error, double scale) {
    return error == 0 ? 0.0 : scale == 0 ? INFINITY : error / scale;
  };
  return {ratio(std::sqrt(squares), std::sqrt(expectedSquares)), ratio(largest, expectedLargest)};
}

} // namespace warploom
