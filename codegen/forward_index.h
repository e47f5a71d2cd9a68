// Index maps in the direction of the data: where an element of a value goes in what follows it.
#pragma once

#include "codegen/index_expr.h"
#include "ir/graph.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace warploom {

struct ForwardIndex {
  Index index;
  // C conditions that must hold for the element to be there: a slice takes some elements only.
  llvm::SmallVector<std::string, 2> guards;
};

// The index in the result of the last node of `path` of the element at `index` of the value that
// the path starts from. An update ends a path: the index is that of its new elements then.
// `extent` gives a dim as an expression of the emitted code.
ForwardIndex followForward(llvm::ArrayRef<Node *> path, const Value &start, Index index,
                           llvm::function_ref<IndexExpr(const Dim &)> extent);

} // namespace warploom
