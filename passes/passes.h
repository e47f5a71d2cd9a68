// The passes: graph to better graph. Each returns its number of rewrites; 0 means unchanged, and a
// second run of any pass returns 0. Passes do not fail: a broken invariant is an assert.
#pragma once

#include "ir/graph.h"
#include "ir/target.h"
#include "passes/fusion_policy.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace warploom {

// What a pass did or refused, for the report: "fused %a into %b", "kept %c apart: 2 consumers".
struct Remark {
  std::string pass;
  std::string text;
};

struct PassContext {
  const Target &target;
  const FusionPolicy &policy;
  std::vector<Remark> &remarks;
};

// Removes ops that change nothing: reshape, transpose and cast to what is there already, x * 1,
// x / 1, two reshapes or transposes in a row. Only what keeps every bit: x + 0 stays, since it
// turns -0 into 0, and so does a cast to a narrower type and back. First, so that later passes see
// plain chains.
//   %a = mul(%x, %one)                                =>   (uses of %a read %x)
unsigned simplify(Graph &graph, const PassContext &context);

// Replaces elementwise ops on constants by their value, rounded to the result's type. After
// simplify, before cse, which merges what this makes equal.
//   %c = add(%two, %three)                            =>   %c = constant {value = 5.0}
unsigned foldConstants(Graph &graph, const PassContext &context);

// Merges nodes that compute the same thing from the same values. Before decompose, whose opened
// composites would hide equal ones only by their length.
//   %a = exp(%x)  %b = exp(%x)                        =>   %a = exp(%x)
unsigned eliminateCommonSubexpressions(Graph &graph, const PassContext &context);

// Removes nodes whose results nothing reads. An update of a mut argument is read by the caller.
unsigned eliminateDeadCode(Graph &graph, const PassContext &context);

// Opens softmax, log_softmax, layer_norm, rms_norm and swiglu into reductions and elementwise ops
// in the type they are computed in, so that fusion sees one row or one chain; each rounds once, at
// its end. Reductions then keep their dims, so that a row's values share its index. rope, attention
// and matmul stay whole: their kernels know them.
//   %y = softmax(%x)    =>   %m = reduce_max(%x)  %d = sub(%x, %m)  %e = exp(%d) ...
unsigned decompose(Graph &graph, const PassContext &context);

// Gives a kernel of its own to every view that no consumer can read through: one that the graph
// returns, or whose strides a matmul or attention cannot take. After it, a view without a group
// costs nothing.
//   %t = transpose(%x)  return %t                     =>   %t = transpose(%x) group 0
unsigned materialize(Graph &graph, const PassContext &context);

// Partitions the nodes into groups, each one kernel: rows with their reductions, matmuls of one
// left operand with norm prologue and epilogue, attention with its mask arithmetic and epilogue,
// and what is left as pointwise chains. Last: it only sets Node::group.
unsigned fuse(Graph &graph, const PassContext &context);

using PassFunction = unsigned (*)(Graph &graph, const PassContext &context);

struct Pass {
  llvm::StringLiteral name;        // kebab-case, as on the command line
  llvm::StringLiteral description; // one sentence
  PassFunction run;
};

// All passes in the order they run.
llvm::ArrayRef<Pass> pipeline();

// The pass of that name, or null.
const Pass *findPass(llvm::StringRef name);

struct PassReport {
  llvm::StringRef name;
  unsigned rewrites = 0;
  unsigned nodesBefore = 0;
  unsigned nodesAfter = 0;
  double milliseconds = 0;
};

// Runs the passes in order, verifies the graph after each, and calls `observe` with each report.
std::vector<PassReport>
runPasses(Graph &graph, llvm::ArrayRef<const Pass *> passes, const PassContext &context,
          llvm::function_ref<void(const PassReport &, const Graph &)> observe);

} // namespace warploom
