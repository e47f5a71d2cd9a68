// A fused group as passes and codegen both see it: pure functions of a graph.
#pragma once

#include "ir/graph.h"

namespace warploom {

// The loop nest a group's kernel has, decided by the ops in it.
enum class GroupKind : uint8_t {
  map,       // elementwise and views over the result's index
  row,       // at least one reduction; all reduce the same row
  matmul,    // one or more matmuls of one left operand, with row prologue and map epilogue
  attention, // one attention, with map prologues on mask and lengths, and map epilogue
};

llvm::StringRef spelling(GroupKind kind);

// The nodes of one group and what crosses its border.
struct Group {
  unsigned number = 0;
  GroupKind kind = GroupKind::map;
  llvm::SmallVector<Node *, 8> nodes;   // in node order
  llvm::SmallVector<Node *, 2> anchors; // the matmuls, the attention, or the reductions
  // Stored values the kernel reads: arguments and results of other groups, after looking through
  // ungrouped views. No duplicates, in order of first use.
  llvm::SmallVector<Value, 8> inputs;
  // Values the kernel stores: used outside the group (through ungrouped views too) or returned.
  llvm::SmallVector<Value, 4> outputs;
};

// All groups of a graph, by number, in an order in which producers come first.
std::vector<Group> groupsOf(const Graph &graph);

// The stored value under a chain of ungrouped views, or `value` itself.
Value storedValue(Value value);

// The argument a kv_update chain updates in place: follows operand 0 of kv_updates to the argument.
Value updatedArgument(Value updated);

} // namespace warploom
