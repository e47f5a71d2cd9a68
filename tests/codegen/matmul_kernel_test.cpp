#include "codegen/group_kernels.h"
#include "ir/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace warploom;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

// The kernel of a graph whose costly nodes are one group.
llvm::Expected<Kernel> emitted(llvm::StringRef text) {
  Module module = llvm::cantFail(parseModule(text, "test.loom"));
  Graph &graph = module.graphs.front();
  for (Node &node : graph.nodes())
    if (node.op != Op::argument && !isView(node.op))
      node.group = 0;
  std::vector<Group> groups = groupsOf(graph);
  BufferTable buffers(graph, groups);
  Target target;
  FunctionTable functions;
  KernelContext context{graph, target, buffers, functions};
  return emitMatmulKernel(context, groups.front());
}

std::string sourceOf(llvm::StringRef text) {
  return llvm::cantFail(emitted(text)).source;
}

TEST(MatmulKernel, GivesSiblingsRangesOfTilesInOneGrid) {
  Kernel kernel = llvm::cantFail(emitted(R"(
graph @g(%x: bf16[64, 64], %q: bf16[128, 64], %k: bf16[64, 64]) -> (bf16[64, 128], bf16[64, 64]) {
  %a = matmul(%x, %q) {transpose_b = true}
  %b = matmul(%x, %k) {transpose_b = true}
  return %a, %b
})"));
  EXPECT_EQ(kernel.grid[0], SizeExpr(3));
  EXPECT_THAT(kernel.source, HasSubstr("if (blockIndex() < 2) {"));
  EXPECT_THAT(kernel.source, HasSubstr("int tile = blockIndex() - 2;"));
  EXPECT_THAT(kernel.source, HasSubstr("#include \"kernels/matmul_tile.cuh\""));
}

TEST(MatmulKernel, ReadsBothGatesInOneTile) {
  std::string source = sourceOf(R"(
graph @g(%x: bf16[1, 64], %g: bf16[64, 64], %u: bf16[64, 64]) -> (bf16[1, 64]) {
  %a = matmul(%x, %g) {transpose_b = true}
  %b = matmul(%x, %u) {transpose_b = true}
  %y = mul(%a, %b)
  return %y
})");
  EXPECT_THAT(source, HasSubstr("Side<bf16, 2, "));
  EXPECT_THAT(source, HasSubstr("matmulSkinny<Shape, Layout::depthContiguous>"));
  EXPECT_THAT(source, Not(HasSubstr("else")));
}

TEST(MatmulKernel, StoresSlicesUnderTheirConditions) {
  std::string source = sourceOf(R"(
graph @g(%x: bf16[4, 64], %w: bf16[64, 96]) -> (bf16[4, 32], bf16[4, 64]) {
  %y = matmul(%x, %w)
  %a = slice(%y) {starts = [0, 0], limits = [4, 32]}
  %b = slice(%y) {starts = [0, 32], limits = [4, 96]}
  %c = neg(%a)
  %d = exp(%b)
  return %c, %d
})");
  EXPECT_THAT(source, HasSubstr("< 32) {"));
  EXPECT_THAT(source, HasSubstr(">= 32) {"));
}

TEST(MatmulKernel, BatchesAreTheThirdDimOfTheGrid) {
  Kernel kernel = llvm::cantFail(emitted(R"(
graph @g(%x: f32[b, 3, 40, 16], %w: f32[b, 3, 16, 24]) -> (f32[b, 3, 40, 24]) {
  %y = matmul(%x, %w)
  return %y
})"));
  llvm::StringMap<int64_t> symbols;
  symbols["b"] = 5;
  EXPECT_EQ(llvm::cantFail(kernel.grid[2].evaluate(symbols)), 15);
  EXPECT_THAT(kernel.source, HasSubstr("batch = blockIndexZ();"));
}

TEST(MatmulKernel, NamesOfValuesDoNotShadowItsOwn) {
  std::string source = sourceOf(R"(
graph @g(%Side: bf16[4, 64], %tile: bf16[64, 96]) -> (bf16[4, 96]) {
  %sums = matmul(%Side, %tile)
  return %sums
})");
  EXPECT_THAT(source, HasSubstr("*__restrict__ side,"));
  EXPECT_THAT(source, HasSubstr("tile_1"));
  EXPECT_THAT(source, HasSubstr("sums_1"));
}

TEST(MatmulKernel, RefusesAPrologueOfManyRows) {
  llvm::Expected<Kernel> kernel = emitted(R"(
graph @g(%x: bf16[40, 64], %w: bf16[64, 96]) -> (bf16[40, 96]) {
  %a = silu(%x)
  %y = matmul(%a, %w)
  return %y
})");
  ASSERT_FALSE(bool(kernel));
  EXPECT_THAT(llvm::toString(kernel.takeError()), HasSubstr("y = matmul"));
}

} // namespace
