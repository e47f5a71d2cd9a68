// The rules of fusion, each a pure predicate on nodes; passes/fuse.cpp asks them.
#pragma once

#include "ir/group.h"
#include "passes/clusters.h"
#include "passes/fusion_policy.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace warploom {

// The row that a reduction reduces.
RowDomain rowOf(const Node &reduction);

bool isContraction(GroupKind kind);

// Two matmuls of one left operand that one kernel can run over disjoint ranges of its tiles: one
// dtype, matrices on the right, stored alike.
bool areSiblings(const Node &first, const Node &second);

// Ops that may follow another op inside its kernel: elementwise, rope, kv_update.
bool canFollow(Op op);

// A view with a kernel of its own that loses nothing: another kernel may store its result that way
// instead.
bool isStoredView(const Node &node);

// Whether `node` computes each element from one element of operand `index`, where that operand is a
// value of a kernel of this kind seen through views that lose nothing (reshape, transpose, slice):
// index-map equality. rope needs the partner too, which a matmul's tile holds when the head's
// elements are adjacent columns; rows and attention do not.
bool followsElementwise(const Node &node, unsigned index, GroupKind kind);

// Whether the operands of `node` that lie inside the kernel are all seen through the same views as
// operand `index`, so that one index serves them all.
bool readsAlike(const Node &node, unsigned index, llvm::function_ref<bool(const Node *)> isInside);

// Whether a matmul has so few rows, known when it is compiled, that it runs at the speed of its
// weights, and its left operand fits the shared memory that policy gives a prologue.
bool isSkinny(const Node &matmul, const FusionPolicy &policy);

// Whether the row is the whole last dim of the matmul's left operand.
bool isWholeRow(const RowDomain &row, const Node &matmul);

} // namespace warploom
