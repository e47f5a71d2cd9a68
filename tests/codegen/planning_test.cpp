// What planning costs for many layers: the passes and the code generator, without compilation.
#include "ir/parse.h"
#include "tests/codegen/planned.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

#include <chrono>

using namespace warploom;

namespace {

// `layers` gated MLPs, each with a norm and a residual, for four tokens.
std::string stackOf(unsigned layers) {
  std::string arguments = "%x0: bf16[4, 256]", body;
  for (unsigned layer = 0; layer < layers; ++layer) {
    arguments += llvm::formatv(", %g{0}: bf16[256], %gate{0}: bf16[256, 512], %up{0}: bf16[256, "
                               "512], %down{0}: bf16[512, 256]",
                               layer);
    body += llvm::formatv(R"(  %n{0} = rms_norm(%x{0}, %g{0})
  %a{0} = matmul(%n{0}, %gate{0})
  %b{0} = matmul(%n{0}, %up{0})
  %c{0} = swiglu(%a{0}, %b{0})
  %d{0} = matmul(%c{0}, %down{0})
  %x{1} = add(%x{0}, %d{0})
)",
                          layer, layer + 1);
  }
  return llvm::formatv("graph @stack({0}) -> (bf16[4, 256]) {{\n{1}  return %x{2}\n}\n", arguments,
                       body, layers);
}

Graph parsedStack(unsigned layers) {
  return std::move(llvm::cantFail(parseModule(stackOf(layers), "stack.loom")).graphs.front());
}

TEST(Planning, TakesTimeLinearInTheLayers) {
  // The least of several runs, taken in turns: other work on the machine only adds.
  Graph half = parsedStack(32), whole = parsedStack(64);
  double halfSeconds = 1e9, wholeSeconds = 1e9;
  auto time = [](const Graph &graph, double &least) {
    auto start = std::chrono::steady_clock::now();
    planned(graph.clone());
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    least = std::min(least, elapsed.count());
  };
  for (unsigned run = 0; run < 9; ++run) {
    time(half, halfSeconds);
    time(whole, wholeSeconds);
  }
  RecordProperty("half_ms", std::to_string(1e3 * halfSeconds));
  RecordProperty("whole_ms", std::to_string(1e3 * wholeSeconds));
  EXPECT_LE(wholeSeconds, 2.3 * halfSeconds);
}

TEST(Planning, EmitsOneFunctionForTheSameKernelOfEveryLayer) {
  Program program = planned(parsedStack(16));
  llvm::StringSet<> functions;
  for (const Kernel &kernel : program.kernels)
    functions.insert(kernel.symbol());
  EXPECT_EQ(program.kernels.size(), 32u);
  EXPECT_EQ(functions.size(), 2u);
}

} // namespace
