#include "api/compile.h"
#include "api/session.h"
#include "ir/parse.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace warploom;

namespace {

constexpr const char *kText = R"(
graph @scaled(%x: f32[2, 3] strides [1, 2], %y: f32[2, 3]) -> (f32[2, 3]) {
  %p = mul(%x, %y)
  %q = exp(%p)
  %h = transpose(%q) {permutation = [1, 0]}
  %m = matmul(%q, %h)
  %r = matmul(%m, %y)
  return %r as "scaled"
})";

Tensor reals(std::vector<double> values) {
  WideTensor wide;
  wide.dtype = DType::f32;
  wide.dims = {2, 3};
  wide.reals = std::move(values);
  return narrow(wide);
}

CompileOptions withoutNvrtc() {
  CompileOptions options;
  options.compileKernels = false;
  return options;
}

TEST(Embedding, RunsAParsedGraphOnTheSimulator) {
  Module module = llvm::cantFail(parseModule(kText, "layer.loom"));
  CompileOptions options = withoutNvrtc();
  options.keepTemporaries = true;
  Compilation compilation = llvm::cantFail(compile(module.graphs.front(), options));
  std::unique_ptr<Device> device = llvm::cantFail(openSimulator());
  Session session = llvm::cantFail(Session::create(*device, compilation, {}));
  std::vector<Tensor> arguments = {reals({0, 0, 0, 0, 0, 0}), reals({1, 2, 3, 4, 5, 6})};
  for (unsigned run = 0; run < 2; ++run) {
    RunResult result = llvm::cantFail(session.run(arguments));
    // exp(0) is 1, so each row of the product is 3 times the sum of the rows of y.
    EXPECT_EQ(widen(result.results.front()).reals, (std::vector<double>{15, 21, 27, 15, 21, 27}));
  }
  auto temporaries = llvm::cantFail(session.temporaries());
  ASSERT_FALSE(temporaries.empty());
  EXPECT_TRUE(llvm::any_of(temporaries, [](const auto &entry) { return entry.first == "m"; }));
}

TEST(Embedding, NamesTheArgumentThatDoesNotFit) {
  Module module = llvm::cantFail(parseModule(kText, "layer.loom"));
  Compilation compilation = llvm::cantFail(compile(module.graphs.front(), withoutNvrtc()));
  std::unique_ptr<Device> device = llvm::cantFail(openSimulator());
  Session session = llvm::cantFail(Session::create(*device, compilation, {}));
  EXPECT_NE(llvm::toString(session.run({}).takeError()).find("takes 2 arguments"),
            std::string::npos);
  Tensor flat = reals({1, 2, 3, 4, 5, 6});
  flat.dims = {6};
  EXPECT_NE(llvm::toString(session.run({flat, flat}).takeError()).find("argument 'x'"),
            std::string::npos);
  // The session stays usable.
  EXPECT_TRUE(bool(session.run({reals({1, 1, 1, 1, 1, 1}), reals({1, 2, 3, 4, 5, 6})})));
}

TEST(Embedding, DumpsTheStagesThatTheEnvironmentNames) {
  llvm::SmallString<64> directory;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("dump", directory));
  setenv("WARPLOOM_DUMP", ("groups,program,cuda,nothing:" + directory).str().c_str(), 1);
  Module module = llvm::cantFail(parseModule(kText, "layer.loom"));
  Compilation compilation = llvm::cantFail(compile(module.graphs.front(), withoutNvrtc()));
  unsetenv("WARPLOOM_DUMP");
  for (const char *name : {"scaled.groups.loom", "scaled.program.txt"})
    EXPECT_TRUE(llvm::sys::fs::exists(directory + "/" + name)) << name;
  for (const Kernel &kernel : compilation.program.kernels)
    EXPECT_TRUE(llvm::sys::fs::exists(directory + "/scaled." + kernel.name + ".cu"));
  ASSERT_EQ(compilation.warnings.size(), 1u);
  EXPECT_NE(compilation.warnings[0].find("'nothing' is no kind"), std::string::npos);
  llvm::sys::fs::remove_directories(directory);
}

TEST(Embedding, RefusesAnUnknownArch) {
  Module module = llvm::cantFail(parseModule(kText, "layer.loom"));
  CompileOptions options = withoutNvrtc();
  options.arch = "sm_12";
  llvm::Expected<Compilation> compilation = compile(module.graphs.front(), options);
  ASSERT_FALSE(bool(compilation));
  EXPECT_NE(llvm::toString(compilation.takeError()).find("'sm_12' is not an arch"),
            std::string::npos);
}

} // namespace
