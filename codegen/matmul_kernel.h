// The text of a matmul group's kernel, in its three parts: staged rows, products, epilogue.
#pragma once

#include "codegen/evaluator.h"
#include "codegen/matmul_branches.h"
#include "codegen/matmul_operand.h"

namespace warploom {

// What all parts of one kernel know.
struct MatmulPlan {
  const Node *matmul = nullptr; // the first; all read its left operand
  MatmulExtent extent;
  bool leftIsComputed = false;
  std::vector<EpilogueBranch> branches;
  MatmulProblem problem;
  MatmulSchedule schedule;
};

// Shapes, branches and schedule of a group. Error: as scheduleMatmul().
llvm::Expected<MatmulPlan> planMatmul(const Group &group, const Target &target);

// Emits the staging of the left operand for the body of few rows, computed or loaded, into the
// variable "staged". Returns the shared bytes it needs behind the staged rows.
unsigned emitStagedRows(KernelBuilder &kernel, const MatmulPlan &plan);

// Emits the epilogue of a branch: reads the variable "sums" at the places that "columns" names, and
// stores the branch's outputs.
void emitEpilogue(KernelBuilder &kernel, const MatmulPlan &plan, unsigned branch);

// The index of the variables "batch" and "row" in the leading dims of the matmul's result.
Index leadingIndex(KernelBuilder &kernel, const MatmulPlan &plan);

} // namespace warploom
