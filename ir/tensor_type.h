// The type of a value: element type, dims, and the layout of a graph argument.
#pragma once

#include "ir/dim.h"
#include "ir/dtype.h"

#include <optional>

namespace warploom {

// dtype[dims], row-major contiguous unless strides are given. Only graph arguments have strides:
// every other value is logical, and codegen chooses where and how it is stored.
struct TensorType {
  DType dtype = DType::f32;
  Dims dims;
  std::optional<Dims> strides; // elements; 0 and negative allowed; as many as dims
  Dim offset = 0;              // elements from the buffer's start to the element at index 0

  unsigned rank() const { return dims.size(); }
  bool isContiguous() const { return !strides && offset == 0; }
  bool hasSymbols() const;
  // The same dtype and dims; layout is not compared.
  bool hasSameShape(const TensorType &other) const {
    return dtype == other.dtype && dims == other.dims;
  }
  bool operator==(const TensorType &) const = default;

  // The text form: "bf16[batch, 1, 4096]", "f32[3, 5] strides [1, 3] offset 2".
  std::string str() const;
};

// The text form of a shape: "[batch, 1, 4096]".
std::string shapeText(llvm::ArrayRef<Dim> dims);

// The dims of the NumPy broadcast of two shapes, or none if they do not broadcast.
std::optional<Dims> broadcastDims(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b);

// `axis` counted from the front, where negative axes count from the end. None: out of range.
std::optional<unsigned> normalizeAxis(int64_t axis, unsigned rank);

} // namespace warploom
