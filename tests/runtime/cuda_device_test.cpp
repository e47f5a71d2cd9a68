// The CUDA device over a driver that records its calls.
#include "runtime/cuda_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace warploom {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct Recorded {
  std::vector<std::string> calls;
  std::map<uintptr_t, std::vector<uintptr_t>> after; // node to its dependencies
  std::map<uintptr_t, std::vector<uint64_t>> values; // node to its two parameters
  std::string failing;                               // the function that fails
  uintptr_t errorNode = 0;
  uintptr_t nodes = 0;
};
Recorded recorded;

int call(const char *name) {
  recorded.calls.push_back(name);
  return recorded.failing == name ? 2 : 0;
}

template <class Handle> Handle handle(uintptr_t value) {
  return reinterpret_cast<Handle>(value);
}

int keep(uintptr_t node, const cuda::KernelNode *parameters) {
  recorded.values[node].clear();
  for (int i = 0; i < 2; ++i)
    recorded.values[node].push_back(*static_cast<uint64_t *>(parameters->parameters[i]));
  return 0;
}

int addNode(cuda::GraphNode *node, const cuda::GraphNode *after, size_t count) {
  *node = handle<cuda::GraphNode>(++recorded.nodes);
  auto &list = recorded.after[recorded.nodes];
  for (size_t i = 0; i < count; ++i)
    list.push_back(reinterpret_cast<uintptr_t>(after[i]));
  return 0;
}

CudaDriver recordingDriver() {
  recorded = {};
  CudaDriver driver;
  driver.cuInit = [](unsigned) { return call("cuInit"); };
  driver.cuDriverGetVersion = [](int *version) { return *version = 13000, 0; };
  driver.cuGetErrorName = [](int, const char **name) { return *name = "CUDA_ERROR_FAKE", 0; };
  driver.cuGetErrorString = [](int, const char **text) { return *text = "made to fail", 0; };
  driver.cuDeviceGetCount = [](int *count) { return *count = 1, 0; };
  driver.cuDeviceGet = [](cuda::Device *device, int) { return *device = 0, 0; };
  driver.cuDeviceGetName = [](char *name, int, cuda::Device) { return strcpy(name, "Fake"), 0; };
  driver.cuDeviceGetAttribute = [](int *value, int attribute, cuda::Device) {
    *value = attribute == cuda::kComputeCapabilityMajor   ? 8
             : attribute == cuda::kComputeCapabilityMinor ? 0
                                                          : 160 * 1024;
    return 0;
  };
  driver.cuDevicePrimaryCtxRetain = [](cuda::Context *context, cuda::Device) {
    return *context = handle<cuda::Context>(1), 0;
  };
  driver.cuDevicePrimaryCtxRelease = [](cuda::Device) { return call("release"); };
  driver.cuCtxSetCurrent = [](cuda::Context) { return 0; };
  driver.cuStreamCreate = [](cuda::Stream *s, unsigned) { return *s = handle<cuda::Stream>(1), 0; };
  driver.cuStreamDestroy = [](cuda::Stream) { return 0; };
  driver.cuStreamSynchronize = [](cuda::Stream) { return call("cuStreamSynchronize"); };
  driver.cuMemAlloc = [](cuda::Address *a, size_t) { return *a = 0x10000, call("cuMemAlloc"); };
  driver.cuMemFree = [](cuda::Address) { return call("cuMemFree"); };
  driver.cuMemsetD8 = [](cuda::Address, unsigned char, size_t) { return call("cuMemsetD8"); };
  driver.cuModuleLoadData = [](cuda::Module *module, const void *) {
    return *module = handle<cuda::Module>(1), call("cuModuleLoadData");
  };
  driver.cuModuleUnload = [](cuda::Module) { return call("cuModuleUnload"); };
  driver.cuModuleGetFunction = [](cuda::Function *function, cuda::Module, const char *) {
    return *function = handle<cuda::Function>(1), call("cuModuleGetFunction");
  };
  driver.cuFuncSetAttribute = [](cuda::Function, int, int) { return call("cuFuncSetAttribute"); };
  driver.cuGraphCreate = [](cuda::Graph *g, unsigned) { return *g = handle<cuda::Graph>(1), 0; };
  driver.cuGraphDestroy = [](cuda::Graph) { return call("cuGraphDestroy"); };
  driver.cuGraphAddKernelNode = [](cuda::GraphNode *node, cuda::Graph, const cuda::GraphNode *after,
                                   size_t count, const cuda::KernelNode *parameters) {
    addNode(node, after, count);
    keep(recorded.nodes, parameters);
    return call("cuGraphAddKernelNode");
  };
  driver.cuGraphAddEmptyNode = [](cuda::GraphNode *node, cuda::Graph, const cuda::GraphNode *after,
                                  size_t count) {
    addNode(node, after, count);
    return call("cuGraphAddEmptyNode");
  };
  driver.cuGraphInstantiateWithParams = [](cuda::GraphExec *exec, cuda::Graph,
                                           cuda::Instantiation *parameters) {
    parameters->errorNode = handle<cuda::GraphNode>(recorded.errorNode);
    return *exec = handle<cuda::GraphExec>(1), call("cuGraphInstantiateWithParams");
  };
  driver.cuGraphExecDestroy = [](cuda::GraphExec) { return call("cuGraphExecDestroy"); };
  driver.cuGraphExecKernelNodeSetParams = [](cuda::GraphExec, cuda::GraphNode node,
                                             const cuda::KernelNode *parameters) {
    keep(reinterpret_cast<uintptr_t>(node), parameters);
    return call("cuGraphExecKernelNodeSetParams");
  };
  driver.cuGraphUpload = [](cuda::GraphExec, cuda::Stream) { return 0; };
  driver.cuGraphLaunch = [](cuda::GraphExec, cuda::Stream) { return call("cuGraphLaunch"); };
  return driver;
}

// in -> first -> middle (a temporary) -> second -> out.
Program chain() {
  Program program;
  program.name = "chain";
  program.arch = "sm_80";
  for (auto [name, kind] :
       {std::pair("in", BufferKind::argument), std::pair("middle", BufferKind::temporary),
        std::pair("out", BufferKind::result)}) {
    Buffer buffer;
    buffer.name = name;
    buffer.kind = kind;
    buffer.dtype = "f32";
    buffer.dims = {64};
    buffer.bytes = 256;
    program.buffers.push_back(buffer);
  }
  for (unsigned index : {0u, 1u}) {
    Kernel kernel;
    kernel.name = index == 0 ? "first" : "second";
    kernel.ops = {index == 0 ? "middle = exp" : "out = neg"};
    kernel.blockThreads = 64;
    kernel.reads = {index};
    kernel.writes = {index + 1};
    KernelArgument from, to;
    from.buffer = index;
    to.buffer = index + 1;
    kernel.arguments = {from, to};
    program.kernels.push_back(kernel);
  }
  program.edges = {{0, 1}};
  program.arguments = {0};
  program.results = {{"out", 2, program.buffers[2].dims}};
  program.arenaBytes = 256;
  return program;
}

std::vector<CompiledKernel> compiled() {
  CompiledKernel kernel;
  kernel.cubin = "cubin";
  return {kernel, kernel};
}

std::string loadError(const CudaDriver &driver, const Program &program) {
  auto device = llvm::cantFail(makeCudaDevice(driver, 0));
  auto executable = device->load(program, {}, compiled());
  return executable ? "" : llvm::toString(executable.takeError());
}

TEST(CudaDevice, BuildsANodePerKernelAndAnEdgePerEdge) {
  auto device = llvm::cantFail(makeCudaDevice(recordingDriver(), 0));
  EXPECT_EQ(device->description(), "Fake, sm_80, driver 13.0");
  auto executable = llvm::cantFail(device->load(chain(), {}, compiled()));
  EXPECT_THAT(recorded.after[1], ElementsAre());
  EXPECT_THAT(recorded.after[2], ElementsAre(1u));
  EXPECT_THAT(recorded.values[1], ElementsAre(0u, 0x10000u));
}

TEST(CudaDevice, LoadsAFunctionOnceForAllItsKernels) {
  Program program = chain();
  EXPECT_EQ(loadError(recordingDriver(), program), "");
  EXPECT_EQ(llvm::count(recorded.calls, "cuModuleLoadData"), 2);
  program.kernels[1].function = "first";
  EXPECT_EQ(loadError(recordingDriver(), program), "");
  EXPECT_EQ(llvm::count(recorded.calls, "cuModuleLoadData"), 1);
  EXPECT_EQ(llvm::count(recorded.calls, "cuModuleUnload"), 1);
}

TEST(CudaDevice, PatchesOnlyTheNodesOfARebountBuffer) {
  auto device = llvm::cantFail(makeCudaDevice(recordingDriver(), 0));
  auto executable = llvm::cantFail(device->load(chain(), {}, compiled()));
  EXPECT_EQ(llvm::toString(executable->launch()), "'in' is not bound");
  llvm::cantFail(executable->bind(0, handle<void *>(0x100)));
  llvm::cantFail(executable->bind(2, handle<void *>(0x200)));
  llvm::cantFail(executable->launch());
  EXPECT_THAT(recorded.values[1], ElementsAre(0x100u, 0x10000u));
  EXPECT_THAT(recorded.values[2], ElementsAre(0x10000u, 0x200u));
  recorded.calls.clear();
  llvm::cantFail(executable->bind(2, handle<void *>(0x300)));
  llvm::cantFail(executable->launch());
  EXPECT_THAT(recorded.calls, ElementsAre("cuGraphExecKernelNodeSetParams", "cuGraphLaunch"));
  EXPECT_THAT(llvm::toString(executable->bind(0, nullptr)), HasSubstr("'in'"));
  EXPECT_THAT(llvm::toString(executable->bind(0, handle<void *>(4))), HasSubstr("aligned to 16"));
  EXPECT_THAT(llvm::toString(executable->bind(1, nullptr)), HasSubstr("buffer 1"));
}

TEST(CudaDevice, AsksForLargeSharedMemoryBeforeItAddsTheNode) {
  Program program = chain();
  program.kernels[0].sharedBytes = 100 * 1024;
  EXPECT_EQ(loadError(recordingDriver(), program), "");
  auto place = [](const char *name) { return llvm::find(recorded.calls, name); };
  ASSERT_NE(place("cuFuncSetAttribute"), recorded.calls.end());
  EXPECT_LT(place("cuFuncSetAttribute"), place("cuGraphAddKernelNode"));
  program.kernels[0].sharedBytes = 200 * 1024;
  EXPECT_THAT(loadError(recordingDriver(), program), HasSubstr("first (middle = exp)"));
}

TEST(CudaDevice, KeepsTheOrderAroundAnEmptyGrid) {
  Program program = chain();
  program.kernels[0].grid[0] = 0;
  EXPECT_EQ(loadError(recordingDriver(), program), "");
  EXPECT_THAT(recorded.calls, testing::Contains("cuGraphAddEmptyNode"));
  EXPECT_THAT(recorded.after[2], ElementsAre(1u));
}

TEST(CudaDevice, RefusesAProgramForALaterGpu) {
  Program program = chain();
  program.arch = "sm_90a";
  EXPECT_THAT(loadError(recordingDriver(), program),
              AllOf(HasSubstr("sm_90a"), HasSubstr("sm_80")));
}

TEST(CudaDevice, NamesTheKernelOfEveryFailureAndFreesWhatItHas) {
  for (const char *name : {"cuMemAlloc", "cuModuleLoadData", "cuModuleGetFunction",
                           "cuGraphAddKernelNode", "cuGraphInstantiateWithParams"}) {
    CudaDriver driver = recordingDriver();
    recorded.failing = name;
    recorded.errorNode = 2;
    std::string wanted = name == std::string("cuMemAlloc")                     ? "arena of 'chain'"
                         : name == std::string("cuGraphInstantiateWithParams") ? "out = neg"
                                                                               : "middle = exp";
    EXPECT_THAT(loadError(driver, chain()), AllOf(HasSubstr(wanted), HasSubstr("CUDA_ERROR_FAKE")));
    EXPECT_THAT(recorded.calls, testing::Contains("release"));
  }
}

TEST(CudaDevice, NamesTheOpsOfAFailedLaunch) {
  auto device = llvm::cantFail(makeCudaDevice(recordingDriver(), 0));
  auto executable = llvm::cantFail(device->load(chain(), {}, compiled()));
  llvm::cantFail(executable->bind(0, handle<void *>(0x100)));
  llvm::cantFail(executable->bind(2, handle<void *>(0x200)));
  recorded.failing = "cuGraphLaunch";
  EXPECT_THAT(llvm::toString(executable->launch()), HasSubstr("middle = exp"));
  recorded.failing = "cuStreamSynchronize";
  EXPECT_THAT(llvm::toString(executable->synchronize()), HasSubstr("out = neg"));
}

TEST(CudaDriver, SaysWhatItLookedForWhereThereIsNone) {
  auto driver = CudaDriver::load("libno_such_driver.so.1");
  ASSERT_FALSE(driver);
  EXPECT_THAT(llvm::toString(driver.takeError()), HasSubstr("libno_such_driver.so.1"));
}

TEST(CudaDriver, PassesOnTheToolkitStubsRefusal) {
  auto driver = CudaDriver::load("/usr/local/cuda/lib64/stubs/libcuda.so");
  std::string message;
  if (!driver) {
    message = llvm::toString(driver.takeError());
    if (llvm::StringRef(message).contains("no CUDA driver"))
      GTEST_SKIP() << message;
  } else {
    auto device = makeCudaDevice(*driver, 0);
    ASSERT_FALSE(device);
    message = llvm::toString(device.takeError());
  }
  EXPECT_THAT(message, HasSubstr("34"));
}

} // namespace
} // namespace warploom
