// A program as one CUDA graph: a node for each kernel, an edge for each of the program's edges.
#pragma once

#include "runtime/device.h"
#include "runtime/driver.h"

namespace warploom {

// What an executable needs of its device, which outlives it.
struct CudaTarget {
  const CudaDriver *driver = nullptr;
  cuda::Context context = nullptr;
  cuda::Stream stream = nullptr;
  int capability = 0; // 90 for 9.0
  int maxSharedBytes = 0;
};

// Loads modules, allocates the arena, zeroes counters, and builds and uploads the graph. A bound
// address reaches the graph at the next launch. Error: as Device::load.
llvm::Expected<std::unique_ptr<Executable>>
makeCudaExecutable(const CudaTarget &target, const Program &program,
                   const llvm::StringMap<int64_t> &symbols, llvm::ArrayRef<CompiledKernel> kernels);

} // namespace warploom
