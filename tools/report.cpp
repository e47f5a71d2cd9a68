#include "tools/report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace warploom {
namespace {

unsigned fromCache(const Compilation &compilation) {
  return llvm::count_if(compilation.kernels,
                        [](const CompiledKernel &kernel) { return kernel.fromCache; });
}

std::string gridText(const Kernel &kernel) {
  return llvm::formatv("{0}x{1}x{2}", kernel.grid[0].str(), kernel.grid[1].str(),
                       kernel.grid[2].str());
}

} // namespace

std::string reportText(const Compilation &compilation) {
  const Program &program = compilation.program;
  std::string text = llvm::formatv("@{0} for {1}\n", program.name, program.arch);
  for (const PassReport &pass : compilation.passes)
    text +=
        llvm::formatv("  pass {0,-15} {1,4} rewrites, {2,3} -> {3,3} nodes, {4:f2} ms\n", pass.name,
                      pass.rewrites, pass.nodesBefore, pass.nodesAfter, pass.milliseconds);
  for (const auto &[index, kernel] : llvm::enumerate(program.kernels)) {
    text += llvm::formatv("  kernel {0}: {1}, grid {2}, block {3}, {4} bytes shared", index,
                          kernel.name, gridText(kernel), kernel.blockThreads, kernel.sharedBytes);
    if (!compilation.kernels.empty()) {
      const KernelResources &resources = compilation.kernels[index].resources;
      text += llvm::formatv(", {0} registers, {1} bytes stack, {2} bytes spilled",
                            resources.registers, resources.stackBytes, resources.spillBytes);
    }
    text += "\n    " + llvm::join(kernel.ops, "; ") + "\n";
  }
  for (const Remark &remark : compilation.remarks)
    text += "  " + remark.pass + ": " + remark.text + "\n";
  const CompileTimes &times = compilation.times;
  text += llvm::formatv("  passes {0:f1} ms, codegen {1:f1} ms, kernels {2:f1} ms ({3} of {4} from "
                        "the cache), total {5:f1} ms\n",
                        times.passes, times.codegen, times.kernels, fromCache(compilation),
                        compilation.kernels.size(), times.total());
  return text;
}

llvm::json::Value reportJson(const Compilation &compilation) {
  llvm::json::Array passes, remarks;
  for (const PassReport &pass : compilation.passes)
    passes.push_back(llvm::json::Object{{"name", pass.name},
                                        {"rewrites", pass.rewrites},
                                        {"nodes_before", pass.nodesBefore},
                                        {"nodes_after", pass.nodesAfter},
                                        {"ms", pass.milliseconds}});
  for (const Remark &remark : compilation.remarks)
    remarks.push_back(llvm::json::Object{{"pass", remark.pass}, {"text", remark.text}});
  llvm::json::Value program = toJson(compilation.program, compilation.resources());
  const CompileTimes &times = compilation.times;
  return llvm::json::Object{{"passes", std::move(passes)},
                            {"remarks", std::move(remarks)},
                            {"kernels", std::move(*program.getAsObject()->get("kernels"))},
                            {"times_ms", llvm::json::Object{{"passes", times.passes},
                                                            {"codegen", times.codegen},
                                                            {"kernels", times.kernels},
                                                            {"total", times.total()}}},
                            {"from_cache", fromCache(compilation)}};
}

} // namespace warploom
