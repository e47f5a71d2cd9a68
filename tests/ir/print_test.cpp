#include "ir/print.h"

#include "ir/parse.h"
#include "ir/shape_rules.h"
#include "tests/ir/samples.h"

#include "llvm/ADT/STLExtras.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>

using namespace warploom;
using testing::HasSubstr;

namespace {

// What a graph is, value by value, without printing.
void expectSameGraph(const Graph &a, const Graph &b) {
  EXPECT_EQ(a.name(), b.name());
  ASSERT_EQ(a.nodes().size(), b.nodes().size());
  for (const auto &[x, y] : llvm::zip(a.nodes(), b.nodes())) {
    EXPECT_EQ(x.op, y.op);
    EXPECT_EQ(x.labels, y.labels);
    EXPECT_EQ(x.attributes, y.attributes) << print(x);
    EXPECT_EQ(x.group, y.group);
    ASSERT_EQ(x.operands.size(), y.operands.size());
    for (const auto &[left, right] : llvm::zip(x.operands, y.operands)) {
      EXPECT_EQ(left.name(), right.name());
      EXPECT_EQ(left.index, right.index);
    }
    ASSERT_EQ(x.results.size(), y.results.size());
    for (const auto &[left, right] : llvm::zip(x.results, y.results)) {
      EXPECT_EQ(left.name, right.name);
      EXPECT_EQ(left.type, right.type);
    }
  }
  ASSERT_EQ(a.arguments().size(), b.arguments().size());
  for (const auto &[left, right] : llvm::zip(a.arguments(), b.arguments())) {
    EXPECT_EQ(left.value.name(), right.value.name());
    EXPECT_EQ(left.isMutable, right.isMutable);
  }
  ASSERT_EQ(a.results().size(), b.results().size());
  for (const auto &[left, right] : llvm::zip(a.results(), b.results())) {
    EXPECT_EQ(left.name, right.name);
    EXPECT_EQ(left.value.name(), right.value.name());
  }
}

void expectRoundTrip(llvm::StringRef text, llvm::StringRef where) {
  SCOPED_TRACE(where.str());
  llvm::Expected<Module> module = parseModule(text, where);
  ASSERT_TRUE(bool(module)) << llvm::toString(module.takeError());
  std::string printed = print(*module);
  llvm::Expected<Module> again = parseModule(printed, "printed");
  ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(print(*again), printed);
  ASSERT_EQ(again->graphs.size(), module->graphs.size());
  for (const auto &[a, b] : llvm::zip(module->graphs, again->graphs))
    expectSameGraph(a, b);
}

TEST(PrintGraph, ParsesBackToTheSameGraph) {
  for (const std::string &text : sampleGraphs())
    expectRoundTrip(text, text);
  std::vector<std::string> examples = loomFiles("examples");
  ASSERT_FALSE(examples.empty());
  for (const std::string &path : examples)
    expectRoundTrip(fileText(path), path);
}

TEST(PrintGraph, HasASampleOfEveryOp) {
  std::set<Op> sampled;
  for (const std::string &text : sampleGraphs()) {
    Module module = llvm::cantFail(parseModule(text, "sample"));
    for (const Graph &graph : module.graphs)
      for (const Node &node : graph.nodes())
        sampled.insert(node.op);
  }
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  EXPECT_TRUE(sampled.contains(Op::name)) << #name;
#define WARPLOOM_STRUCTURED(name, arity, kind) EXPECT_TRUE(sampled.contains(Op::name)) << #name;
#include "ir/ops.def"
}

TEST(PrintGraph, WritesOneCanonicalText) {
  Graph graph = parsedGraph(R"(graph @g ( %x:bf16[ batch,1,64 ],%gain:bf16[64],
   %c:mut f32[4] strides[2]offset 1)->(bf16[batch,1,64],bf16[batch,1,64]){
  %n=rms_norm(%x,%gain){eps=1.0e-5,axis=-1} group 0 return %n as "hidden",%x})");
  EXPECT_EQ(
      print(graph),
      R"(graph @g(%x: bf16[batch, 1, 64], %gain: bf16[64], %c: mut f32[4] strides [2] offset 1))"
      R"( -> (bf16[batch, 1, 64], bf16[batch, 1, 64]) {
  %n = rms_norm(%x, %gain) {axis = -1, eps = 1.0e-05} : bf16[batch, 1, 64] group 0
  return %n as "hidden", %x
}
)");
}

TEST(PrintGraph, ParsesBackTheLargestSizesOrTheyAreRejected) {
  expectRoundTrip("graph @g(%x: i8[9007199254740992]) -> (i8[9007199254740992]) { return %x }",
                  "the largest dim");
  EXPECT_THAT(diagnostic("graph @g(%x: i8[9007199254740992*n + 1*n]) -> (i8[4]) { return %x }"),
              HasSubstr("is too large for a dim"));
  EXPECT_THAT(diagnostic(R"(graph @g(%x: i8[1073741824, 1073741824]) -> (i8[4]) {
  %y = reshape(%x) {shape = [-1]}
  return %y
})"),
              HasSubstr("reshape gives i8[1152921504606846976], which has too large a dim"));
  EXPECT_THAT(diagnostic(R"(graph @g(%x: i8[4503599627370496*n, 4]) -> (i8[4]) {
  %y = reshape(%x) {shape = [-1]}
  return %y
})"),
              HasSubstr("which has too large a dim"));
  EXPECT_THAT(diagnostic(R"(graph @g(%x: i8[4503599627370496*n, 1073741824]) -> (i8[4]) {
  %y = reshape(%x) {shape = [-1]}
  return %y
})"),
              HasSubstr("no number of elements fits the -1"));
}

TEST(PrintGraph, QuotesNamesThatAreNotPlain) {
  Graph graph("g");
  TensorType type;
  std::vector<std::string> names = {"plain",
                                    "1st",
                                    "a.b$c-d",
                                    "a b",
                                    "x/y:0",
                                    "π",
                                    "%",
                                    "*/ int x;",
                                    "\"\n#include",
                                    "\\",
                                    std::string("nul\0", 4),
                                    "\xff",
                                    "return",
                                    "//"};
  for (const std::string &name : names)
    graph.addArgument(name, type);
  graph.addResult(graph.arguments()[0].value, "a \"b\"\n");
  Graph again = parsedGraph(print(graph));
  ASSERT_EQ(again.arguments().size(), names.size());
  for (const auto &[argument, name] : llvm::zip(again.arguments(), names))
    EXPECT_EQ(argument.value.name(), name);
  EXPECT_EQ(again.results()[0].name, "a \"b\"\n");
  EXPECT_EQ(print(graph).find('\n'), print(graph).find(" {\n") + 2) << "a name broke the line";
}

TEST(PrintGraph, WritesRealNumbersBitForBit) {
  std::mt19937_64 random(20);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    double value = std::bit_cast<double>(random());
    if (!std::isfinite(value))
      continue;
    Graph graph("g");
    Attributes attributes;
    attributes.set("value", value);
    attributes.set("dtype", DType::f64);
    attributes.set("shape", Dims());
    graph.addResult(buildValue(graph, nullptr, "c", Op::constant, {}, attributes));
    Graph again = parsedGraph(print(graph));
    double read = again.find("c").node->attributes.real("value", 0);
    ASSERT_EQ(std::bit_cast<uint64_t>(read), std::bit_cast<uint64_t>(value)) << value;
  }
}

} // namespace
