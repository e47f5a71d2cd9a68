// Which matmuls of a group share an epilogue, and how the stored values follow from them.
#pragma once

#include "ir/group.h"

namespace warploom {

// A value the epilogue stores, and the nodes that lead from a matmul of the branch to it, in order;
// each of them but an update keeps the number of elements or takes a slice of them.
struct EpilogueOutput {
  Value value;
  Node *matmul = nullptr;
  llvm::SmallVector<Node *, 4> path;
};

// Matmuls whose results meet in one stored value, so that a tile computes all of them.
struct EpilogueBranch {
  llvm::SmallVector<Node *, 2> matmuls;
  llvm::SmallVector<EpilogueOutput, 2> outputs;
  // head_dim of the ropes that pair the halves of a head; 0 where no columns are paired.
  int64_t pairSpan = 0;
};

// The branches of a matmul group in the order of their first matmul. Outputs that no matmul leads
// to belong to the prologue and stand in no branch.
std::vector<EpilogueBranch> epilogueBranches(const Group &group);

} // namespace warploom
