// Emitted kernels compiled for the host.
#pragma once

#include "ir/program/program.h"

#include "llvm/Support/Error.h"

namespace warploom {

// A kernel in a shared library of its own, loaded into this process for good.
struct HostKernel {
  // Calls the kernel's function as one thread; parameters lie where the pointers point.
  void (*invoke)(void **parameters) = nullptr;
};

// The C++ compiler for kernels: $WARPLOOM_HOST_CXX, else c++, g++ or clang++ on the path. Error:
// none of them; what was looked for.
llvm::Expected<std::string> findHostCompiler();

// Every kernel of the program, compiled by `compiler` in parallel. Libraries are kept in
// `cacheDirectory` by the hash of what they were made from, if it is not empty. Error: the
// compiler's words.
llvm::Expected<std::vector<HostKernel>>
compileForHost(const Program &program, llvm::StringRef compiler, llvm::StringRef cacheDirectory);

} // namespace warploom
