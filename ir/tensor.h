// Tensors on the host: stored elements, and the wide values the interpreter computes with.
#pragma once

#include "ir/dtype.h"
#include "ir/tensor_type.h"

#include <cstddef>
#include <vector>

namespace warploom {

// Row-major contiguous elements as they are stored: little-endian, i1 as one byte 0 or 1.
struct Tensor {
  DType dtype = DType::f32;
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<std::byte> bytes; // elementCount() * byteSize(dtype)

  int64_t elementCount() const;
};

// Row-major contiguous values in double for floating types, in int64 for integers and i1.
struct WideTensor {
  DType dtype = DType::f32; // the type of the value in the graph, not of this storage
  llvm::SmallVector<int64_t, 4> dims;
  std::vector<double> reals;
  std::vector<int64_t> integers;

  int64_t elementCount() const;
};

int64_t elementCount(llvm::ArrayRef<int64_t> dims);

WideTensor widen(const Tensor &tensor);
// Rounds to the storage type: floating types to nearest even (f8e4m3 saturates never: out of range
// is NaN, f8e5m2 infinity), integers wrap.
Tensor narrow(const WideTensor &tensor);
// One value rounded to a floating storage type and widened again.
double roundTo(DType dtype, double value);
// One value wrapped to an integer storage type (or to 0 and 1 for i1).
int64_t wrapTo(DType dtype, int64_t value);

// How far `actual` is from `expected`: both measures are 0 for equal tensors, and infinite where a
// NaN or infinity stands in one but not in the other.
struct Difference {
  double relativeL2 = 0;  // |actual - expected|_2 / |expected|_2
  double relativeMax = 0; // max |actual - expected| / max |expected|
};
Difference compare(const Tensor &actual, const WideTensor &expected);

} // namespace warploom
