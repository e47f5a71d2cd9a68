// The declarations of runtime/driver.h against those of cuda.h, where a toolkit is installed.
#include "runtime/driver.h"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>

namespace warploom {
namespace {

static_assert(sizeof(cuda::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS));
static_assert(offsetof(cuda::KernelNode, function) == offsetof(CUDA_KERNEL_NODE_PARAMS, func));
static_assert(offsetof(cuda::KernelNode, grid) == offsetof(CUDA_KERNEL_NODE_PARAMS, gridDimX));
static_assert(offsetof(cuda::KernelNode, block) == offsetof(CUDA_KERNEL_NODE_PARAMS, blockDimX));
static_assert(offsetof(cuda::KernelNode, sharedBytes) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(offsetof(cuda::KernelNode, parameters) ==
              offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
static_assert(offsetof(cuda::KernelNode, extra) == offsetof(CUDA_KERNEL_NODE_PARAMS, extra));
static_assert(offsetof(cuda::KernelNode, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern));
static_assert(offsetof(cuda::KernelNode, context) == offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));

static_assert(sizeof(cuda::Instantiation) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS));
static_assert(offsetof(cuda::Instantiation, uploadStream) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream));
static_assert(offsetof(cuda::Instantiation, errorNode) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out));
static_assert(offsetof(cuda::Instantiation, result) ==
              offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out));

TEST(DriverLayout, NumbersAttributesAsTheToolkitDoes) {
  EXPECT_EQ(cuda::kSuccess, CUDA_SUCCESS);
  EXPECT_EQ(cuda::kComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(cuda::kComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(cuda::kMaxSharedBytesPerBlock, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(cuda::kMaxDynamicSharedBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
}

} // namespace
} // namespace warploom
#else
TEST(DriverLayout, NumbersAttributesAsTheToolkitDoes) {
  GTEST_SKIP() << "no cuda.h: no CUDA toolkit is installed";
}
#endif
