#include "ir/parse.h"

#include "ir/print.h"
#include "tests/ir/samples.h"

#include "llvm/Support/FormatVariadic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace warploom;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

TEST(ParseGraph, ReadsArgumentsOpsAndResults) {
  Graph graph = parsedGraph(R"(// A comment.
graph @g(%x: bf16[batch, 4096], // Behind an argument.
         %cache: mut f32[2, 3] strides [1, 0] offset 5) -> (bf16[batch, 4096]) {
  %y = softmax(%x) {axis = -1} : bf16[batch, 4096] group 7
  return %y as "hidden"
})");
  EXPECT_EQ(graph.name(), "g");
  ASSERT_EQ(graph.arguments().size(), 2u);
  EXPECT_FALSE(graph.arguments()[0].isMutable);
  EXPECT_TRUE(graph.arguments()[1].isMutable);
  const TensorType &type = graph.arguments()[1].value.type();
  EXPECT_EQ(type.dtype, DType::f32);
  EXPECT_EQ(*type.strides, (Dims{1, 0}));
  EXPECT_EQ(type.offset, Dim(5));
  const Node &node = *graph.find("y").node;
  EXPECT_EQ(node.op, Op::softmax);
  EXPECT_EQ(node.attributes.integer("axis", 0), -1);
  EXPECT_EQ(node.group, 7u);
  EXPECT_EQ(node.location.line, 4u);
  EXPECT_EQ(node.location.column, 3u);
  EXPECT_EQ(node.type().dims, (Dims{Dim::symbol("batch"), 4096}));
  EXPECT_EQ(graph.results()[0].name, "hidden");
}

TEST(ParseGraph, SortsNamedOperands) {
  Graph graph = parsedGraph(R"(
graph @g(%q: f16[1, 2, 4, 8], %m: i1[4, 4], %n: i32[1]) -> (f16[1, 2, 4, 8], f16[1, 2, 4, 8]) {
  %y = attention(%q, %q, %q, mask = %m, lengths = %n)
  %z = attention(%q, %q, %q, lengths = %n, mask = %m)
  return %y, %z
})");
  for (const char *name : {"y", "z"}) {
    const Node &node = *graph.find(name).node;
    EXPECT_EQ(node.labels, (llvm::SmallVector<std::string, 0>{"lengths", "mask"}));
    EXPECT_EQ(node.labelled("mask").name(), "m");
    EXPECT_EQ(node.labelled("lengths").name(), "n");
  }
}

TEST(ParseGraph, KeepsTheKindOfEachAttribute) {
  Graph graph = parsedGraph(R"(graph @g(%x: f32[2]) -> (f64[], f64[], f64[], f64[], i64[]) {
  %a = constant {value = 1} : f64[]
  %b = constant {value = -inf} : f64[]
  %c = constant {value = nan} : f64[]
  %d = constant {value = -0.0} : f64[]
  %e = constant {value = -9223372036854775808} : i64[]
  return %a, %b, %c, %d, %e
})");
  auto value = [&](const char *name) { return *graph.find(name).node->attributes.find("value"); };
  EXPECT_EQ(value("a"), AttributeValue(int64_t(1)));
  EXPECT_EQ(value("b"), AttributeValue(-double(INFINITY)));
  EXPECT_TRUE(std::isnan(std::get<double>(value("c"))));
  EXPECT_TRUE(std::signbit(std::get<double>(value("d"))));
  EXPECT_EQ(value("e"), AttributeValue(std::numeric_limits<int64_t>::min()));
}

TEST(ParseGraph, ReadsSeveralGraphs) {
  Module module = llvm::cantFail(parseModule(R"(
graph @a(%x: f32[n]) -> (f32[n]) { return %x }
graph @b(%x: f32[m]) -> (f32[m]) { return %x })",
                                             "test.loom"));
  ASSERT_EQ(module.graphs.size(), 2u);
  EXPECT_EQ(module.graphs[1].name(), "b");
}

TEST(ParseGraph, ForgetsTheSymbolsOfTheGraphBefore) {
  EXPECT_THAT(diagnostic(R"(graph @a(%x: f32[n]) -> (f32[n]) { return %x }
graph @b(%x: f32[m]) -> (f32[n]) { return %x })"),
              StartsWith("test.loom:2:26: error: the symbol 'n' is in no argument's type"));
}

TEST(ParseGraph, PointsBehindATextThatEnds) {
  EXPECT_EQ(diagnostic(""),
            "test.loom:1:1: error: expected 'graph' before the end of the text\n\n^");
  EXPECT_EQ(
      diagnostic("graph @g(%x: f32[4]) -> (f32[4]) {\n"),
      "test.loom:2:1: error: expected a value such as '%x', or 'return' before the end of the "
      "text\n\n^");
}

TEST(ParseGraph, RejectsWhatFollowsTheLastGraph) {
  EXPECT_THAT(diagnostic("graph @a(%x: f32[n]) -> (f32[n]) { return %x } }"),
              StartsWith("test.loom:1:48: error: expected 'graph', not '}'"));
}

TEST(ParseGraph, NamesBytesThatNoTextHas) {
  EXPECT_THAT(diagnostic(llvm::StringRef("graph \0 @g", 10)),
              StartsWith("test.loom:1:7: error: unexpected byte 0x00"));
  EXPECT_THAT(diagnostic("graph @g(%x: \xff\xfe)"),
              StartsWith("test.loom:1:14: error: unexpected byte 0xff"));
}

TEST(ParseGraph, KeepsADiagnosticOnItsLineWhateverTheNames) {
  EXPECT_THAT(diagnostic(R"(graph @g(%x: f32[4]) -> (f32[4]) { return %"a\0A\1B[2Jπ" })"),
              StartsWith("test.loom:1:43: error: '%a\\0A\\1B[2Jπ' is not defined"));
}

TEST(ParseGraph, ReadsLineEndsOfWindows) {
  EXPECT_EQ(diagnostic("graph @g(%x: f32[4]) -> (f32[4]) {\r\n  return %x\r\n}\r\n"), "accepted");
}

TEST(ParseGraph, StopsAtAnyDepthOfNesting) {
  for (const char *bracket : {"(", "[", "{", "-", "+"}) {
    std::string text = "graph @g(%x: f32[4]) -> (f32[4]) { %y = neg(%x) {a = ";
    for (unsigned depth = 0; depth < 100'000; ++depth)
      text += bracket;
    EXPECT_THAT(diagnostic(text), HasSubstr("error: ")) << bracket;
  }
}

TEST(ParseGraph, BoundsTheNumbersOfADim) {
  std::string dim = "n";
  for (unsigned term = 0; term < 5000; ++term)
    dim += " + 9007199254740992*n";
  EXPECT_THAT(diagnostic("graph @g(%x: f32[" + dim + "]) -> (f32[4]) { return %x }"),
              HasSubstr("9007199254740993*n is too large for a dim"));
}

TEST(ParseGraph, BoundsTheSymbolsOfADim) {
  std::string dim = "n";
  for (unsigned term = 0; term < 50'000; ++term)
    dim += llvm::formatv(" + n{0}", term);
  EXPECT_THAT(diagnostic("graph @g(%x: f32[" + dim + "]) -> (f32[4]) { return %x }"),
              HasSubstr("a dim has at most 64 symbols"));
}

TEST(ParseGraph, ReadsALongGraphInOneWalk) {
  std::string text = "graph @g(%v0: f32[4]) -> (f32[4]) {\n";
  for (unsigned index = 1; index <= 5000; ++index)
    text += llvm::formatv("  %v{0} = neg(%v{1})\n", index, index - 1);
  EXPECT_EQ(diagnostic(text + "  return %v5000\n}\n"), "accepted");
}

TEST(ParseDim, ReadsAffineExpressions) {
  auto text = [](llvm::StringRef dim) { return llvm::cantFail(parseDim(dim)).str(); };
  EXPECT_EQ(text("4096"), "4096");
  EXPECT_EQ(text("2*batch + 1"), "2*batch + 1");
  EXPECT_EQ(text("1 + n - 3*m - n + 4"), "-3*m + 5");
  EXPECT_EQ(text("-n"), "-n");
  EXPECT_EQ(text("n - n"), "0");
}

TEST(ParseDim, RejectsWhatIsNotOne) {
  for (const char *text : {"", "2*", "n*2", "n m", "1.5", "[4]", "n +", "99999999999999999999"}) {
    llvm::Expected<Dim> dim = parseDim(text);
    ASSERT_FALSE(bool(dim)) << text;
    EXPECT_THAT(llvm::toString(dim.takeError()), StartsWith("dim:1:")) << text;
  }
}

} // namespace
