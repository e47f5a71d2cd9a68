// Kernels to cubins by NVRTC, in parallel, through the cache.
#pragma once

#include "ir/program/program.h"

namespace warploom {

struct CompiledKernel {
  std::string cubin;
  std::string ptx;
  KernelResources resources;
  std::string log;
  bool fromCache = false;
  double milliseconds = 0; // 0 from the cache
};

struct CompileSettings {
  unsigned threads = 0; // 0 = one per core
  bool useCache = true;
  std::string cacheDirectory; // empty: WARPLOOM_CACHE, else $XDG_CACHE_HOME/warploom, else
                              // ~/.cache/warploom
};

// Every kernel of the program, in its order, for program.arch; equal sources compile once.
// Error: no NVRTC (what was looked for and where), an arch it does not know (with the list of those
// it knows), or a source it rejects (with kernel, source ops and NVRTC's log). A cache that cannot
// be read or written is a warning on `warnings`, and the work goes on.
llvm::Expected<std::vector<CompiledKernel>> compileKernels(const Program &program,
                                                           const CompileSettings &settings,
                                                           std::vector<std::string> &warnings);

} // namespace warploom
