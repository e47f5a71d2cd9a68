#include "passes/passes.h"

#include "ir/verify.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <chrono>

namespace warploom {
namespace {

constexpr Pass kPipeline[] = {
    {"simplify", "Remove ops that change nothing.", simplify},
    {"fold-constants", "Compute elementwise ops on constants.", foldConstants},
    {"cse", "Merge nodes that compute the same thing.", eliminateCommonSubexpressions},
    {"decompose", "Open composites into reductions and elementwise ops.", decompose},
    {"cse-opened", "Merge what opened composites share.", eliminateCommonSubexpressions},
    {"dce", "Remove nodes whose results nothing reads.", eliminateDeadCode},
    {"materialize", "Give a kernel to views that no consumer reads through.", materialize},
    {"fuse", "Partition the nodes into kernels.", fuse},
};

} // namespace

llvm::ArrayRef<Pass> pipeline() {
  return kPipeline;
}

const Pass *findPass(llvm::StringRef name) {
  const Pass *pass = llvm::find_if(kPipeline, [&](const Pass &pass) { return pass.name == name; });
  return pass == std::end(kPipeline) ? nullptr : pass;
}

std::vector<PassReport>
runPasses(Graph &graph, llvm::ArrayRef<const Pass *> passes, const PassContext &context,
          llvm::function_ref<void(const PassReport &, const Graph &)> observe) {
  std::vector<PassReport> reports;
  for (const Pass *pass : passes) {
    PassReport report;
    report.name = pass->name;
    report.nodesBefore = graph.nodes().size();
    auto start = std::chrono::steady_clock::now();
    report.rewrites = pass->run(graph, context);
    std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    report.milliseconds = elapsed.count();
    report.nodesAfter = graph.nodes().size();
    if (llvm::Error error = verify(graph))
      llvm::report_fatal_error(llvm::Twine("the pass ") + pass->name +
                               " broke the graph: " + llvm::toString(std::move(error)));
    reports.push_back(report);
    observe(report, graph);
  }
  return reports;
}

} // namespace warploom
