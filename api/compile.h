// A graph to a compiled program, in one call.
#pragma once

#include "codegen/generate.h"
#include "ir/graph.h"
#include "passes/passes.h"
#include "runtime/compiler.h"

#include <functional>

namespace warploom {

struct CompileOptions {
  std::string arch = "sm_90a"; // see Target::fromArch
  FusionPolicy policy;
  // Every temporary keeps its memory, so that Session can read it back.
  bool keepTemporaries = false;
  // Compile the kernels by NVRTC. The simulator needs none of it.
  bool compileKernels = true;
  CompileSettings settings;
  // Called after each pass that changed the graph.
  std::function<void(const PassReport &, const Graph &)> afterPass;
};

// Milliseconds of wall time.
struct CompileTimes {
  double passes = 0, codegen = 0, kernels = 0;
  double total() const { return passes + codegen + kernels; }
};

struct Compilation {
  Graph source{""}; // as given
  Graph fused{""};  // after the passes, with groups
  Target target;
  Program program;
  std::vector<CompiledKernel> kernels; // as program.kernels; empty if they were not compiled
  std::vector<PassReport> passes;
  std::vector<Remark> remarks;
  std::vector<std::string> warnings; // what went wrong without stopping the work
  CompileTimes times;

  std::vector<KernelResources> resources() const;
};

// Error: an unknown arch, a schedule that does not fit the target, or what compileKernels() says.
// With WARPLOOM_DUMP=groups,cuda,program:DIR in the environment, the fused graph, the kernels'
// sources and the program are written to that directory too.
llvm::Expected<Compilation> compile(const Graph &graph, const CompileOptions &options = {});

} // namespace warploom
