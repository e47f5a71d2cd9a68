#include "api/compile.h"

#include "api/dump.h"

#include "llvm/ADT/STLExtras.h"

#include <chrono>

namespace warploom {
namespace {

template <class Function> auto timed(double &milliseconds, Function &&function) {
  auto start = std::chrono::steady_clock::now();
  auto result = function();
  std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  milliseconds = elapsed.count();
  return result;
}

} // namespace

std::vector<KernelResources> Compilation::resources() const {
  std::vector<KernelResources> all;
  for (const CompiledKernel &kernel : kernels)
    all.push_back(kernel.resources);
  return all;
}

llvm::Expected<Compilation> compile(const Graph &graph, const CompileOptions &options) {
  Compilation result;
  llvm::Expected<Target> target = Target::fromArch(options.arch);
  if (!target)
    return target.takeError();
  result.target = *target;
  result.source = graph.clone();
  result.fused = graph.clone();

  llvm::SmallVector<const Pass *, 8> passes;
  for (const Pass &pass : pipeline())
    passes.push_back(&pass);
  PassContext context{result.target, options.policy, result.remarks};
  result.passes = timed(result.times.passes, [&] {
    return runPasses(result.fused, passes, context,
                     [&](const PassReport &report, const Graph &after) {
                       if (options.afterPass && report.rewrites > 0)
                         options.afterPass(report, after);
                     });
  });

  llvm::Expected<Program> program = timed(result.times.codegen, [&] {
    return generate(result.fused, result.target, {options.keepTemporaries});
  });
  if (!program)
    return program.takeError();
  result.program = std::move(*program);

  if (options.compileKernels) {
    llvm::Expected<std::vector<CompiledKernel>> kernels = timed(result.times.kernels, [&] {
      return compileKernels(result.program, options.settings, result.warnings);
    });
    if (!kernels)
      return kernels.takeError();
    result.kernels = std::move(*kernels);
  }
  dumpFromEnvironment(result);
  return result;
}

} // namespace warploom
