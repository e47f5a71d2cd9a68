// Where the elements of a viewed value lie in the memory of the value it views.
#pragma once

#include "ir/graph.h"
#include "ir/program/size_expr.h"

namespace warploom {

SizeExpr toSizeExpr(const Dim &dim);

// The number of elements of a shape.
SizeExpr elementCount(llvm::ArrayRef<Dim> dims);

// Element strides of a row-major contiguous shape.
llvm::SmallVector<SizeExpr, 4> contiguousStrides(llvm::ArrayRef<Dim> dims);

// An element at an index lies at offset + sum of index * stride, counted from the first element of
// the memory that `base` is stored in.
struct StridedView {
  Value base;
  llvm::SmallVector<SizeExpr, 4> strides; // in elements, one per dim of the viewed value
  SizeExpr offset = 0;
};

// The strided view of a value through the chain of ungrouped views that ends in it; a stored value
// is its own base. None if the chain has a reshape that strides cannot express.
std::optional<StridedView> stridedView(Value value);

// Whether dims i and i+1 are one dim in memory: stride[i] == size[i+1] * stride[i+1].
bool collapses(const SizeExpr &outerStride, const SizeExpr &innerSize, const SizeExpr &innerStride);

// The strides of a reshape of `from` to `to`, or none if dims that it merges do not collapse.
std::optional<llvm::SmallVector<SizeExpr, 4>>
reshapedStrides(llvm::ArrayRef<Dim> from, llvm::ArrayRef<SizeExpr> strides, llvm::ArrayRef<Dim> to);

} // namespace warploom
