// A graph through all passes and the code generator, for sm_90a.
#pragma once

#include "codegen/generate.h"
#include "passes/passes.h"

namespace warploom {

inline Program planned(Graph graph) {
  Target target = llvm::cantFail(Target::fromArch("sm_90a"));
  FusionPolicy policy;
  std::vector<Remark> remarks;
  llvm::SmallVector<const Pass *, 8> passes;
  for (const Pass &pass : pipeline())
    passes.push_back(&pass);
  runPasses(graph, passes, {target, policy, remarks}, [](const PassReport &, const Graph &) {});
  return llvm::cantFail(generate(graph, target));
}

} // namespace warploom
