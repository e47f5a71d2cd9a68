// What an op's operands and attributes must be, and the types of its results: one rule per op.
#pragma once

#include "ir/graph.h"

namespace warploom {

// The result types of an op. Error: wrong operand count, dtype, shape, label or attribute; the
// message names the op, what was given and what was expected. Defaults are filled in by readers
// (Attributes::integer etc.), never stored.
llvm::Expected<llvm::SmallVector<TensorType, 1>> inferTypes(const Node &node);

// Infers the types of `node` (its results hold the wanted names; fewer names than results are
// completed) and inserts it before `before` (null: at the end).
llvm::Expected<Node *> build(Graph &graph, Node node, Node *before = nullptr);

// Shorthand for passes and tests, whose input is right by construction: one result, asserts.
Value buildValue(Graph &graph, Node *before, llvm::StringRef name, Op op,
                 llvm::ArrayRef<Value> operands, Attributes attributes = {});

// The axes a reduction reduces, counted from the front, sorted; absent `axes` means all.
llvm::SmallVector<unsigned, 4> reducedAxes(const Node &reduction);

} // namespace warploom
