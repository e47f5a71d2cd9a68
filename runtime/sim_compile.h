// Emitted kernels compiled for the host.
#pragma once

#include "ir/program/program.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace warploom {

// A kernel in a shared library that is loaded into this process for good.
struct HostKernel {
  // Calls the kernel's function as one thread; parameters lie where the pointers point.
  void (*invoke)(void **parameters) = nullptr;
};

// The C++ compiler for kernels: $WARPLOOM_HOST_CXX, else c++, g++ or clang++ on the path. Error:
// none of them; what was looked for.
llvm::Expected<std::string> findHostCompiler();

// The kernels in their order (those of one symbol have one source), compiled by `compiler` in
// parallel, `kernelsPerLibrary` to one compilation: one compiles soonest, many at the least cost
// for all. Libraries are kept in `cacheDirectory` by the hash of what they were made from, if it is
// not empty. Error: the compiler's words.
llvm::Expected<std::vector<HostKernel>> compileForHost(llvm::ArrayRef<const Kernel *> kernels,
                                                       llvm::StringRef compiler,
                                                       llvm::StringRef cacheDirectory,
                                                       unsigned kernelsPerLibrary = 1);

} // namespace warploom
