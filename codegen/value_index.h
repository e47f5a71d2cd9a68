// Indices of values in emitted code: where elements lie in memory, at which index a view reads its
// operand, and where what follows an anchor stores its results.
#pragma once

#include "codegen/kernel_builder.h"

namespace warploom {

// The extents of a value's dims in emitted code.
std::vector<IndexExpr> extentsOf(KernelBuilder &kernel, Value value);

// Where the elements of a stored value's buffer lie: sum of index * stride + offset, in elements.
IndexExpr addressOf(KernelBuilder &kernel, Value stored, const Index &index);

// The pointer to the element at that address.
std::string elementAt(const std::string &pointer, const IndexExpr &address);

// The index of a broadcast operand, from the index of the result.
Index broadcastIndex(const Index &index, llvm::ArrayRef<Dim> operand);

// The index at which a view reads its operand.
Index pulledIndex(KernelBuilder &kernel, const Node &view, const Index &index);

// How an index of an anchor (a matmul, an attention) becomes an index of an output that follows it.
struct ForwardIndex {
  Index index;
  std::string guard; // a condition under which the anchor's element has a place in the output
};

// Follows `path`, the nodes from the anchor (left out) to the output, views included, each behind
// what it reads. An update in place keeps the index of its new element.
ForwardIndex forwardIndex(KernelBuilder &kernel, llvm::ArrayRef<const Node *> path,
                          const Index &anchorIndex);

// The path from `anchor` to `output` through the group and the views between its nodes; empty if
// there is none (or output is the anchor).
llvm::SmallVector<const Node *, 8> pathFrom(const Group &group, Value anchor, Value output);

// The widest chunk (a power of two, at most 16 bytes of the widest stored operand or output among
// `values`) that divides the extent of the innermost index; 1 if that is symbolic.
unsigned chunkWidth(llvm::ArrayRef<Value> values, const IndexExpr &innermost);

} // namespace warploom
