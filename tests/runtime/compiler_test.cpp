#include "runtime/compiler.h"
#include "runtime/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CompilerTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::Expected<const Nvrtc *> nvrtc = Nvrtc::load();
    if (!nvrtc)
      GTEST_SKIP() << llvm::toString(nvrtc.takeError());
    settings_.useCache = false;
  }
  static Program programOf(const std::string &statement) {
    Program program;
    program.arch = "sm_80";
    Kernel kernel;
    kernel.name = "some_kernel";
    kernel.ops = {"out = some"};
    kernel.source = "#include \"kernels/tile.cuh\"\nusing namespace warploom;\n"
                    "extern \"C\" __global__ void some_kernel(float *out) {\n" +
                    statement + "\n}\n";
    // The same source twice.
    program.kernels = {kernel, kernel};
    return program;
  }
  std::string errorOf(const Program &program) {
    auto kernels = compileKernels(program, settings_, warnings_);
    return kernels ? "" : llvm::toString(kernels.takeError());
  }
  CompileSettings settings_;
  std::vector<std::string> warnings_;
};

TEST_F(CompilerTest, CompilesForEveryTargetAndEqualSourcesAlike) {
  Program program = programOf("store(out + threadIndex(), 1.0f);");
  for (const char *arch : {"sm_80", "sm_90a", "sm_100"}) {
    program.arch = arch;
    auto kernels = compileKernels(program, settings_, warnings_);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    for (const CompiledKernel &kernel : *kernels) {
      EXPECT_FALSE(kernel.cubin.empty());
      EXPECT_GT(kernel.resources.registers, 0u);
      EXPECT_EQ(kernel.resources.stackBytes, 0u);
    }
    EXPECT_EQ((*kernels)[0].milliseconds, (*kernels)[1].milliseconds);
  }
}

TEST_F(CompilerTest, ListsTheKnownArchitecturesForAnUnknownOne) {
  Program program = programOf("");
  program.arch = "sm_12";
  EXPECT_THAT(errorOf(program), AllOf(HasSubstr("'sm_12'"), HasSubstr("sm_90")));
}

TEST_F(CompilerTest, NamesTheOpsOfARejectedSource) {
  EXPECT_THAT(errorOf(programOf("undeclared();")),
              AllOf(HasSubstr("some_kernel (out = some)"), HasSubstr("undeclared")));
}

} // namespace
} // namespace warploom
