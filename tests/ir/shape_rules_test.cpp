#include "ir/shape_rules.h"

#include "tests/ir/samples.h"

#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace warploom;
using testing::HasSubstr;

namespace {

// The signature makes the parser compare the inferred type with the expected one.
void expectType(llvm::StringRef arguments, llvm::StringRef op, llvm::StringRef type) {
  std::string text =
      llvm::formatv("graph @g({0}) -> ({1}) {{\n  %y = {2}\n  return %y\n}\n", arguments, type, op);
  EXPECT_EQ(diagnostic(text), "accepted") << text;
}

TEST(ShapeRules, BroadcastElementwiseOperands) {
  expectType("%a: f32[4], %b: f32[3, 1]", "add(%a, %b)", "f32[3, 4]");
  expectType("%a: f32[], %b: f32[n, 2]", "mul(%a, %b)", "f32[n, 2]");
  expectType("%a: f32[n, 1], %b: f32[1, m]", "max(%a, %b)", "f32[n, m]");
  expectType("%a: f32[n + 1], %b: f32[1 + n]", "sub(%a, %b)", "f32[n + 1]");
  expectType("%a: f32[0], %b: f32[1]", "sub(%a, %b)", "f32[0]");
  expectType("%a: i8[2], %b: i8[2]", "lt(%a, %b)", "i1[2]");
  expectType("%a: i1[2], %b: i1[1]", "eq(%a, %b)", "i1[2]");
  expectType("%a: f16[2, 1, 3], %b: f16[], %c: f16[5, 1]", "clamp(%a, %b, %c)", "f16[2, 5, 3]");
}

TEST(ShapeRules, ConvertAndSelect) {
  expectType("%x: f32[n]", "cast(%x) {to = i1}", "i1[n]");
  expectType("%x: bf16[n]", "bitcast(%x) {to = u16}", "u16[n]");
  expectType("%c: i1[3, 1], %a: f32[4], %b: f32[]", "select(%c, %a, %b)", "f32[3, 4]");
}

TEST(ShapeRules, ReduceTheNamedAxes) {
  expectType("%x: f32[2, n, 4]", "reduce_sum(%x)", "f32[]");
  expectType("%x: f32[2, n, 4]", "reduce_sum(%x) {axes = []}", "f32[2, n, 4]");
  expectType("%x: f32[2, n, 4]", "reduce_sum(%x) {axes = [-1, 0]}", "f32[n]");
  expectType("%x: f32[2, n, 4]", "reduce_max(%x) {axes = [1], keepdims = true}", "f32[2, 1, 4]");
  expectType("%x: f32[2, 0, 4]", "reduce_sum(%x) {axes = [1]}", "f32[2, 4]");
  expectType("%x: f32[2, 0, 4]", "reduce_max(%x) {axes = [0]}", "f32[0, 4]");
  expectType("%x: u8[2, 4]", "reduce_prod(%x) {axes = [1]}", "u8[2]");
  expectType("%x: f32[2, 4]", "reduce_var(%x) {axes = [1], correction = 0}", "f32[2]");
  expectType("%x: f32[]", "reduce_mean(%x)", "f32[]");
}

TEST(ShapeRules, SortTheReducedAxes) {
  Graph graph = parsedGraph(R"(graph @g(%x: f32[2, 3, 4]) -> (f32[], f32[3]) {
  %a = reduce_sum(%x)
  %b = reduce_sum(%x) {axes = [-1, 0]}
  return %a, %b
})");
  EXPECT_THAT(reducedAxes(*graph.find("a").node), testing::ElementsAre(0, 1, 2));
  EXPECT_THAT(reducedAxes(*graph.find("b").node), testing::ElementsAre(0, 2));
}

TEST(ShapeRules, KeepTheTypeOfComposites) {
  expectType("%x: f16[2, n]", "softmax(%x) {axis = 0}", "f16[2, n]");
  expectType("%x: f32[2, 3, n], %p: f32[3, n]", "layer_norm(%x, %p, %p) {axis = 1, eps = 0}",
             "f32[2, 3, n]");
  expectType("%x: f32[2, n], %p: f32[n]", "rms_norm(%x, %p)", "f32[2, n]");
  expectType("%x: bf16[b, 8, n, 64], %c: f32[n, 64]", "rope(%x, %c, %c)", "bf16[b, 8, n, 64]");
  expectType("%x: bf16[b, n, 8, 64], %c: f32[n, 1, 64]",
             "rope(%x, %c, %c) {style = \"interleaved\"}", "bf16[b, n, 8, 64]");
}

TEST(ShapeRules, MultiplyMatrices) {
  expectType("%a: f32[n, 8], %b: f32[8, m]", "matmul(%a, %b)", "f32[n, m]");
  expectType("%a: f32[8, n], %b: f32[m, 8]",
             "matmul(%a, %b) {transpose_a = true, transpose_b = true}", "f32[n, m]");
  expectType("%a: f32[b, 1, 4, 8], %b: f32[3, 8, 2]", "matmul(%a, %b)", "f32[b, 3, 4, 2]");
  expectType("%a: f32[4, 8], %b: f32[b, 8, 2]", "matmul(%a, %b)", "f32[b, 4, 2]");
  expectType("%a: f32[4, 0], %b: f32[0, 2]", "matmul(%a, %b)", "f32[4, 2]");
}

TEST(ShapeRules, AttendOverKeysAndValues) {
  llvm::StringRef qkv = "%q: f16[b, 8, 4, 16], %k: f16[b, 2, kv, 16], %v: f16[b, 2, kv, 16]";
  auto with = [&](llvm::StringRef more) { return (qkv + ", " + more).str(); };
  expectType(qkv, "attention(%q, %k, %v) {scale = 1}", "f16[b, 8, 4, 16]");
  for (const char *mask : {"i1[kv]", "f32[4, kv]", "f16[b, 1, 1, kv]", "i1[8, 1, 1]"})
    expectType(with(std::string("%m: ") + mask), "attention(%q, %k, %v, mask = %m)",
               "f16[b, 8, 4, 16]");
  expectType(with("%n: i32[b]"), "attention(%q, %k, %v, lengths = %n) {causal = true}",
             "f16[b, 8, 4, 16]");
}

TEST(ShapeRules, TakeTheTypeOfASourceFromItsAscription) {
  expectType("%x: f32[n]", "constant {value = 1} : f32[n, 3]", "f32[n, 3]");
  expectType("%x: f32[n]", "constant {value = -1} : i8[]", "i8[]");
  expectType("%x: f32[n]", "iota {axis = -2} : i64[n, 3]", "i64[n, 3]");
}

TEST(ShapeRules, ReshapeToTheSameNumberOfElements) {
  expectType("%x: f32[4, 6]", "reshape(%x) {shape = [3, 8]}", "f32[3, 8]");
  expectType("%x: f32[4, 6]", "reshape(%x) {shape = [2, -1, 3]}", "f32[2, 4, 3]");
  expectType("%x: f32[n, 6]", "reshape(%x) {shape = [3, n, 2]}", "f32[3, n, 2]");
  expectType("%x: f32[n, 6]", "reshape(%x) {shape = [n, -1]}", "f32[n, 6]");
  expectType("%x: f32[n, 6]", "reshape(%x) {shape = [-1, 2]}", "f32[3*n, 2]");
  expectType("%x: f32[m, n, n]", "reshape(%x) {shape = [n, m, n]}", "f32[n, m, n]");
  expectType("%x: f32[1]", "reshape(%x) {shape = []}", "f32[]");
  expectType("%x: f32[4, 0]", "reshape(%x) {shape = [0, 7]}", "f32[0, 7]");
  expectType("%x: f32[4, 0]", "reshape(%x) {shape = [4, -1]}", "f32[4, 0]");
}

TEST(ShapeRules, MoveElements) {
  expectType("%x: f32[2, n, 4]", "transpose(%x) {permutation = [2, 0, 1]}", "f32[4, 2, n]");
  expectType("%x: f32[n, 1]", "broadcast(%x) {dims = [1, 3], shape = [2, n, 3, 5]}",
             "f32[2, n, 3, 5]");
  expectType("%x: f32[]", "broadcast(%x) {dims = [], shape = [2]}", "f32[2]");
  expectType("%x: f32[7, 4]", "slice(%x) {limits = [7, 3], starts = [1, 3], steps = [4, 1]}",
             "f32[2, 0]");
  expectType("%x: f32[n, 4]", "slice(%x) {limits = [-1, 3], starts = [0, 1]}", "f32[n, 2]");
}

TEST(ShapeRules, UpdateACache) {
  expectType("%c: mut f32[b, 2, 8, 4], %x: f32[b, 2, 3, 4], %p: i32[b]", "kv_update(%c, %x, %p)",
             "f32[b, 2, 8, 4]");
  expectType("%c: mut f32[8, b], %x: f32[n, b], %p: i32[]", "kv_update(%c, %x, %p) {axis = 0}",
             "f32[8, b]");
}

TEST(ShapeRules, RejectAttributesOfTheWrongKindFromABuilder) {
  Graph graph("g");
  Node node;
  node.op = Op::constant;
  node.attributes.set("value", int64_t(1));
  node.attributes.set("dtype", std::string("f32"));
  node.attributes.set("shape", Integers{4});
  llvm::Expected<Node *> built = build(graph, std::move(node));
  ASSERT_FALSE(bool(built));
  EXPECT_THAT(llvm::toString(built.takeError()),
              HasSubstr("attribute 'dtype' of constant is \"f32\"; expected a dtype"));
}

TEST(ShapeRules, LeaveAGraphAloneWhenTheyFail) {
  Graph graph("g");
  graph.addArgument("x", TensorType());
  Node node;
  node.op = Op::add;
  node.operands.push_back(graph.find("x"));
  llvm::Expected<Node *> built = build(graph, std::move(node));
  ASSERT_FALSE(bool(built));
  EXPECT_EQ(llvm::toString(built.takeError()), "add takes 2 operands, not 1");
  EXPECT_EQ(graph.nodes().size(), 1u);
}

} // namespace
