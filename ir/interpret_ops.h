// The meaning of one op on wide tensors; ir/interpret.h walks the graph.
#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"

namespace warploom {

using Shape = llvm::SmallVector<int64_t, 4>;

// The result of a node of a verified graph. `shape` is the result's shape, evaluated; contractions
// use `threads` workers (0 = one per core).
WideTensor evaluateOp(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                      const Shape &shape, unsigned threads);

// A tensor of zeros.
WideTensor zeros(DType dtype, const Shape &shape);

// Walks the indices of a shape in row-major order while keeping, for each operand, the position of
// the element that stands there when the operand is broadcast to the shape.
class BroadcastWalk {
public:
  BroadcastWalk(const Shape &shape, llvm::ArrayRef<Shape> operands);
  int64_t position(unsigned operand) const { return positions_[operand]; }
  void next();

private:
  const Shape &shape_;
  Shape index_;
  llvm::SmallVector<Shape, 3> strides_;
  llvm::SmallVector<int64_t, 3> positions_;
};

// Element strides of a contiguous tensor.
Shape contiguousStrides(const Shape &shape);

// Runs body(i) for i in [0, count) on worker threads.
void parallelFor(int64_t count, unsigned threads, llvm::function_ref<void(int64_t)> body);

// The contractions, in ir/interpret_contractions.cpp.
void evaluateMatmul(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                    WideTensor &result, unsigned threads);
void evaluateAttention(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                       WideTensor &result, unsigned threads);
// Movement, in ir/interpret_views.cpp.
void evaluateView(const Node &node, const WideTensor &from, WideTensor &result);
void evaluateUpdate(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                    WideTensor &result);
void evaluateSource(const Node &node, WideTensor &result);

} // namespace warploom
