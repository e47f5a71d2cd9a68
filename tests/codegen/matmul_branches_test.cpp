#include "codegen/matmul_branches.h"
#include "codegen/matmul_operand.h"
#include "ir/parse.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

// The first graph of a text, every costly node of it in group 0.
Graph grouped(llvm::StringRef text) {
  Module module = llvm::cantFail(parseModule(text, "test.loom"));
  Graph graph = std::move(module.graphs.front());
  for (Node &node : graph.nodes())
    if (node.op != Op::argument && !isView(node.op))
      node.group = 0;
  return graph;
}

std::vector<EpilogueBranch> branches(const Graph &graph) {
  return epilogueBranches(groupsOf(graph).front());
}

TEST(MatmulBranches, MatmulsThatMeetInOneOutputShareABranch) {
  Graph graph =
      grouped(R"(graph @g(%x: bf16[1, 64], %g: bf16[64, 32], %u: bf16[64, 32]) -> (bf16[1, 32]) {
  %gate = matmul(%x, %g)
  %up = matmul(%x, %u)
  %a = silu(%gate)
  %y = mul(%a, %up)
  return %y
})");
  std::vector<EpilogueBranch> found = branches(graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].matmuls.size(), 2u);
  ASSERT_EQ(found[0].outputs.size(), 1u);
  EXPECT_EQ(found[0].outputs[0].value.name(), "y");
  EXPECT_EQ(found[0].outputs[0].matmul->result().name(), "gate");
  EXPECT_EQ(found[0].outputs[0].path.size(), 2u);
}

TEST(MatmulBranches, SiblingsHaveBranchesOfTheirOwnAndRopePairsItsColumns) {
  Graph graph = grouped(
      R"(graph @g(%x: bf16[1, 64], %wq: bf16[64, 32], %wv: bf16[64, 16], %c: bf16[1, 16], %s: bf16[1, 16]) -> (bf16[2, 1, 16], bf16[1, 16]) {
  %q = matmul(%x, %wq)
  %v = matmul(%x, %wv)
  %h = reshape(%q) {shape = [1, 2, 16]}
  %t = transpose(%h) {permutation = [1, 0, 2]}
  %r = rope(%t, %c, %s) {style = "half"}
  return %r, %v
})");
  std::vector<EpilogueBranch> found = branches(graph);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].pairSpan, 16);
  EXPECT_EQ(found[0].outputs[0].path.size(), 3u);
  EXPECT_EQ(found[1].pairSpan, 0);
}

TEST(MatmulOperand, CollapsesRowsAndKnowsAlignment) {
  Graph graph = grouped(R"(graph @g(%x: bf16[b, s, 64], %w: bf16[96, 64]) -> (bf16[b, s, 96]) {
  %y = matmul(%x, %w) {transpose_b = true}
  return %y
})");
  const Node &matmul = *graph.find("y").node;
  MatmulExtent extent = extentOf(matmul, false);
  EXPECT_TRUE(extent.batch.empty());
  EXPECT_EQ(extent.rows.size(), 2u);
  MatrixOperand left = leftOperand(matmul, extent), right = rightOperand(matmul, extent);
  EXPECT_EQ(left.layout, MatmulLayout::depthContiguous);
  EXPECT_EQ(left.outerStride, SizeExpr(64));
  EXPECT_TRUE(left.aligned);
  EXPECT_EQ(right.layout, MatmulLayout::depthContiguous);
  EXPECT_TRUE(right.aligned);
}

TEST(MatmulOperand, SymbolicStridesAreAlignedWhateverTheSymbolsAre) {
  Graph graph = grouped(
      R"(graph @g(%x: bf16[2, s, 64], %w: bf16[2, 64, 40], %v: bf16[2, 64, s]) -> (bf16[2, s, 40], bf16[2, s, s]) {
  %y = matmul(%x, %w)
  %z = matmul(%x, %v)
  return %y, %z
})");
  const Node &aligned = *graph.find("y").node, &ragged = *graph.find("z").node;
  MatmulExtent extent = extentOf(aligned, false);
  EXPECT_EQ(extent.batch.size(), 1u);
  EXPECT_TRUE(leftOperand(aligned, extent).aligned);
  MatrixOperand right = rightOperand(aligned, extent);
  EXPECT_EQ(right.layout, MatmulLayout::outerContiguous);
  EXPECT_EQ(right.batchStrides[0], SizeExpr(64 * 40));
  EXPECT_TRUE(right.aligned);
  EXPECT_FALSE(rightOperand(ragged, extentOf(ragged, false)).aligned);
}

TEST(MatmulOperand, RepeatsOperandsOverBroadcastBatches) {
  Graph graph = grouped(R"(graph @g(%x: f32[3, 1, 5, 7], %w: f32[4, 7, 6]) -> (f32[3, 4, 5, 6]) {
  %y = matmul(%x, %w)
  return %y
})");
  const Node &matmul = *graph.find("y").node;
  MatmulExtent extent = extentOf(matmul, false);
  MatrixOperand left = leftOperand(matmul, extent), right = rightOperand(matmul, extent);
  ASSERT_EQ(left.batchStrides.size(), 2u);
  EXPECT_EQ(left.batchStrides[0], SizeExpr(35));
  EXPECT_EQ(left.batchStrides[1], SizeExpr(0));
  EXPECT_EQ(right.batchStrides[0], SizeExpr(0));
  EXPECT_EQ(right.batchStrides[1], SizeExpr(42));
  EXPECT_FALSE(left.aligned);
}

TEST(MatmulOperand, RowsThatDoNotCollapseAreBatches) {
  Graph graph = grouped(
      R"(graph @g(%x: f32[2, 3, 8] strides [64, 8, 1], %w: f32[8, 8]) -> (f32[2, 3, 8]) {
  %y = matmul(%x, %w)
  return %y
})");
  const Node &matmul = *graph.find("y").node;
  MatmulExtent extent = extentOf(matmul, false);
  ASSERT_EQ(extent.batch.size(), 1u);
  MatrixOperand left = leftOperand(matmul, extent), right = rightOperand(matmul, extent);
  EXPECT_EQ(left.batchStrides[0], SizeExpr(64));
  EXPECT_EQ(right.batchStrides[0], SizeExpr(0));
}

} // namespace
