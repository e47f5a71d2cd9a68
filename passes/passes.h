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
