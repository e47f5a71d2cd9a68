// A matmul's operands as batches of strided matrices in memory.
#pragma once

#include "codegen/matmul_schedule.h"
#include "ir/index_map.h"

namespace warploom {

// The size of a matmul: dims of its result that number independent matrices, then its rows,
// columns and depth.
struct MatmulExtent {
  Dims batch;
  // The dims whose product is the number of rows; several where the right operand has rank 2.
  Dims rows;
  Dim columns, depth;
};

// Element (outer, depth) of batch b lies at offset + b * batchStrides + outer * outerStride +
// depth * depthStride elements of the memory of `base`.
struct MatrixOperand {
  Value base;
  SizeExpr offset = 0;
  llvm::SmallVector<SizeExpr, 2> batchStrides; // one per MatmulExtent::batch
  SizeExpr outerStride = 0, depthStride = 1;
  MatmulLayout layout = MatmulLayout::strided;
  // The contiguous index is, with every other stride and the offset, a multiple of 16 bytes.
  bool aligned = false;
};

// How a matmul is cut into batches. `leftIsComputed`: the left operand lies in no memory; its rows
// are then always one index.
MatmulExtent extentOf(const Node &matmul, bool leftIsComputed);

MatrixOperand leftOperand(const Node &matmul, const MatmulExtent &extent);
MatrixOperand rightOperand(const Node &matmul, const MatmulExtent &extent);

} // namespace warploom
