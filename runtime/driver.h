// The CUDA driver, loaded at run time behind one table of functions, so that a build needs no
// toolkit and a test can put a driver of its own in its place.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstddef>
#include <cstdint>

namespace warploom {

// The part of cuda.h that is used, with the ABI of CUDA 12.0 and later. Handles are opaque, and
// results and attributes are ints.
namespace cuda {

using Device = int;
using Address = unsigned long long;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Graph = struct GraphTag *;
using GraphNode = struct GraphNodeTag *;
using GraphExec = struct GraphExecTag *;

// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNode {
  Function function = nullptr;
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned sharedBytes = 0;
  void **parameters = nullptr;
  void **extra = nullptr;
  void *kernel = nullptr;
  Context context = nullptr;
};

// CUDA_GRAPH_INSTANTIATE_PARAMS
struct Instantiation {
  uint64_t flags = 0;
  Stream uploadStream = nullptr;
  GraphNode errorNode = nullptr;
  int result = 0;
};

constexpr int kSuccess = 0;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr int kMaxSharedBytesPerBlock = 97; // with opting in
constexpr int kMaxDynamicSharedBytes = 8;   // of a function: the opting in

} // namespace cuda

// X(name, parameters) of every function that is used; all return a CUresult.
#define WARPLOOM_DRIVER_FUNCTIONS(X)                                                               \
  X(cuInit, (unsigned flags))                                                                      \
  X(cuDriverGetVersion, (int *version))                                                            \
  X(cuGetErrorName, (int error, const char **name))                                                \
  X(cuGetErrorString, (int error, const char **text))                                              \
  X(cuDeviceGetCount, (int *count))                                                                \
  X(cuDeviceGet, (cuda::Device * device, int ordinal))                                             \
  X(cuDeviceGetName, (char *name, int bytes, cuda::Device device))                                 \
  X(cuDeviceGetAttribute, (int *value, int attribute, cuda::Device device))                        \
  X(cuDevicePrimaryCtxRetain, (cuda::Context * context, cuda::Device device))                      \
  X(cuDevicePrimaryCtxRelease, (cuda::Device device))                                              \
  X(cuCtxSetCurrent, (cuda::Context context))                                                      \
  X(cuStreamCreate, (cuda::Stream * stream, unsigned flags))                                       \
  X(cuStreamDestroy, (cuda::Stream stream))                                                        \
  X(cuStreamSynchronize, (cuda::Stream stream))                                                    \
  X(cuMemAlloc, (cuda::Address * address, size_t bytes))                                           \
  X(cuMemFree, (cuda::Address address))                                                            \
  X(cuMemcpyHtoD, (cuda::Address to, const void *from, size_t bytes))                              \
  X(cuMemcpyDtoH, (void *to, cuda::Address from, size_t bytes))                                    \
  X(cuMemsetD8, (cuda::Address address, unsigned char value, size_t bytes))                        \
  X(cuModuleLoadData, (cuda::Module * module, const void *image))                                  \
  X(cuModuleUnload, (cuda::Module module))                                                         \
  X(cuModuleGetFunction, (cuda::Function * function, cuda::Module module, const char *name))       \
  X(cuFuncSetAttribute, (cuda::Function function, int attribute, int value))                       \
  X(cuGraphCreate, (cuda::Graph * graph, unsigned flags))                                          \
  X(cuGraphDestroy, (cuda::Graph graph))                                                           \
  X(cuGraphAddKernelNode, (cuda::GraphNode * node, cuda::Graph graph,                              \
                           const cuda::GraphNode *after, size_t count, const cuda::KernelNode *))  \
  X(cuGraphAddEmptyNode,                                                                           \
    (cuda::GraphNode * node, cuda::Graph graph, const cuda::GraphNode *after, size_t count))       \
  X(cuGraphInstantiateWithParams,                                                                  \
    (cuda::GraphExec * exec, cuda::Graph graph, cuda::Instantiation *))                            \
  X(cuGraphExecDestroy, (cuda::GraphExec exec))                                                    \
  X(cuGraphExecKernelNodeSetParams,                                                                \
    (cuda::GraphExec exec, cuda::GraphNode node, const cuda::KernelNode *))                        \
  X(cuGraphUpload, (cuda::GraphExec exec, cuda::Stream stream))                                    \
  X(cuGraphLaunch, (cuda::GraphExec exec, cuda::Stream stream))

struct CudaDriver {
#define WARPLOOM_DRIVER_MEMBER(name, parameters) int(*name) parameters = nullptr;
  WARPLOOM_DRIVER_FUNCTIONS(WARPLOOM_DRIVER_MEMBER)
#undef WARPLOOM_DRIVER_MEMBER

  // Loads the library for good and resolves every function. Error: the library is not found or too
  // old, with the loader's words or the missing function.
  static llvm::Expected<CudaDriver> load(llvm::StringRef library = "libcuda.so.1");

  // Success, or "`attempt`: CUDA_ERROR_... (the driver's words)".
  llvm::Error check(int result, const llvm::Twine &attempt) const;
};

} // namespace warploom
