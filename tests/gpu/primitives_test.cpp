// The primitives on a GPU against their host twins, bit for bit; skipped, with the reason, where
// there is none.
#include "tests/kernels/primitives.h"

#include <gtest/gtest.h>

#include <random>

using namespace warploom;
using namespace warploom::testing;

namespace {

class GpuPrimitives : public ::testing::TestWithParam<PrimitiveCase> {};

TEST_P(GpuPrimitives, AnswerAsTheSimulatorDoes) {
  llvm::Expected<std::unique_ptr<Device>> gpu = openCudaDevice();
  if (!gpu)
    GTEST_SKIP() << llvm::toString(gpu.takeError());
  std::unique_ptr<Device> simulator = llvm::cantFail(openSimulator());
  std::mt19937 random(std::random_device{}());
  std::vector<uint32_t> in(kWords);
  for (uint32_t &word : in)
    word = random();
  Program program = primitiveProgram(GetParam());
  std::vector<std::string> warnings;
  llvm::Expected<std::vector<CompiledKernel>> compiled = compileKernels(program, {}, warnings);
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError());
  std::vector<uint32_t> expected = llvm::cantFail(runPrimitive(*simulator, program, {}, in));
  std::vector<uint32_t> actual = llvm::cantFail(runPrimitive(**gpu, program, *compiled, in));
  EXPECT_EQ(actual, expected);
}

INSTANTIATE_TEST_SUITE_P(All, GpuPrimitives, ::testing::ValuesIn(kPrimitives),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
