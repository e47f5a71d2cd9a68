#include "ir/verify.h"

#include "ir/parse.h"
#include "ir/shape_rules.h"
#include "tests/ir/samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace warploom;
using testing::HasSubstr;

namespace {

std::string verified(const Graph &graph) {
  return llvm::toString(verify(graph));
}

Graph chain() {
  return parsedGraph(R"(graph @g(%x: f32[n, 4]) -> (f32[n, 4]) {
  %a = neg(%x)
  %b = exp(%a)
  %y = add(%a, %b)
  return %y
})");
}

TEST(VerifyGraph, AcceptsWhatTheParserAccepts) {
  EXPECT_EQ(verified(chain()), "");
  for (const std::string &text : sampleGraphs()) {
    Module module = llvm::cantFail(parseModule(text, "sample"));
    for (const Graph &graph : module.graphs)
      EXPECT_EQ(verified(graph), "");
  }
}

TEST(VerifyGraph, RejectsAUseBeforeTheDefinition) {
  Graph graph = chain();
  graph.find("a").node->operands[0] = graph.find("b");
  EXPECT_THAT(verified(graph), HasSubstr("'%a', a neg, uses a value that is not defined before"));
}

TEST(VerifyGraph, RejectsAnOperandThatIsNoValue) {
  Graph graph = chain();
  graph.find("a").node->operands[0] = {};
  EXPECT_THAT(verified(graph), HasSubstr("'%a', a neg, uses a value that is not defined before"));
  graph.find("a").node->operands[0] = {graph.find("x").node, 1};
  EXPECT_THAT(verified(graph), HasSubstr("'%a', a neg, uses a value that is not defined before"));
}

TEST(VerifyGraph, RejectsAValueOfAnotherGraph) {
  Graph graph = chain(), other = chain();
  graph.find("b").node->operands[0] = other.find("a");
  EXPECT_THAT(verified(graph), HasSubstr("'%b', a exp, uses a value that is not defined before"));
}

TEST(VerifyGraph, RejectsAResultOfAnotherGraph) {
  Graph graph = chain(), other = chain();
  graph.setResult(0, other.find("y"));
  EXPECT_THAT(verified(graph), HasSubstr("the result \"result0\" is not a value of the graph"));
}

TEST(VerifyGraph, InfersEveryTypeAgain) {
  Graph graph = chain();
  graph.find("b").node->results[0].type.dims[1] = 5;
  EXPECT_THAT(verified(graph), HasSubstr("'%b = exp(%a) : f32[n, 5]' is of type f32[n, 4]"));
}

TEST(VerifyGraph, PassesOnWhatTheShapeRuleSays) {
  Graph graph = chain();
  graph.find("b").node->attributes.set("axis", int64_t(1));
  EXPECT_THAT(verified(graph), HasSubstr("exp has no attribute 'axis'"));
}

TEST(VerifyGraph, RejectsAMissingOrExtraResult) {
  Graph graph = chain();
  graph.find("b").node->results.push_back({"c", graph.find("b").type()});
  EXPECT_THAT(verified(graph), HasSubstr("has 1 results, not 2"));
}

TEST(VerifyGraph, RejectsNamesThatAreTwiceOrOutsideTheTable) {
  Graph twice = chain();
  twice.find("b").node->results[0].name = "a";
  EXPECT_THAT(verified(twice), HasSubstr("two values are named '%a'"));
  Graph renamed = chain();
  renamed.find("b").node->results[0].name = "c";
  EXPECT_THAT(verified(renamed), HasSubstr("the graph's table of names lacks '%c'"));
}

constexpr llvm::StringLiteral kUpdate = R"(
graph @g(%c: mut f32[1, 8, 4], %k: f32[1, 8, 4], %x: f32[1, 1, 4], %p: i32[]) -> (f32[1, 8, 4]) {
  %v = reshape(%c) {shape = [8, 4]}
  %before = exp(%c)
  %y = kv_update(%c, %x, %p)
  %z = neg(%y)
  %w = reshape(%k) {shape = [8, 4]}
  %u = neg(%w)
  return %z
})";

TEST(VerifyUpdates, AcceptsAUseBeforeTheUpdate) {
  EXPECT_EQ(verified(parsedGraph(kUpdate)), "");
}

TEST(VerifyUpdates, RejectsAUseAfterTheUpdate) {
  Graph graph = parsedGraph(kUpdate);
  graph.find("z").node->operands[0] = graph.find("c");
  EXPECT_THAT(verified(graph), HasSubstr("uses '%c' after its update in place"));
}

TEST(VerifyUpdates, RejectsAViewOfWhatWasUpdated) {
  Graph graph = parsedGraph(kUpdate);
  graph.find("w").node->operands[0] = graph.find("c");
  EXPECT_THAT(verified(graph), HasSubstr("uses '%c' after its update in place"));
  Graph viewed = parsedGraph(kUpdate);
  viewed.find("u").node->operands[0] = viewed.find("v");
  EXPECT_THAT(verified(viewed), HasSubstr("uses '%c' after its update in place"));
  Graph returned = parsedGraph(kUpdate);
  returned.setResult(0, returned.find("v"));
  EXPECT_THAT(verified(returned), HasSubstr("'%v' is returned after its update in place"));
}

TEST(VerifyUpdates, AcceptsAViewThatHasAKernelOfItsOwn) {
  Graph graph = parsedGraph(kUpdate);
  graph.find("v").node->group = 0;
  graph.setResult(0, graph.find("v"));
  EXPECT_EQ(verified(graph), "");
}

TEST(VerifyUpdates, RejectsAnUpdateOfWhatIsNotMut) {
  Graph graph = parsedGraph(kUpdate);
  graph.find("y").node->operands[0] = graph.find("k");
  EXPECT_THAT(verified(graph), HasSubstr("updates '%k', which is no mut argument"));
}

TEST(VerifyUpdates, RejectsAnUpdateFromItself) {
  Graph graph = parsedGraph(kUpdate);
  graph.find("y").node->operands[1] = graph.find("c");
  EXPECT_THAT(verified(graph), HasSubstr("reads '%c', which it updates"));
}

TEST(VerifyUpdates, RejectsAReturnOfWhatWasUpdated) {
  Graph graph = parsedGraph(kUpdate);
  graph.setResult(0, graph.find("c"));
  EXPECT_THAT(verified(graph), HasSubstr("'%c' is returned after its update in place"));
}

// %y joins %a, directly and through %b.
std::string groups(std::optional<unsigned> a, std::optional<unsigned> b,
                   std::optional<unsigned> y) {
  Graph graph = chain();
  graph.find("a").node->group = a;
  graph.find("b").node->group = b;
  graph.find("y").node->group = y;
  return verified(graph);
}

TEST(VerifyGroups, AcceptsConvexGroups) {
  EXPECT_EQ(groups(0, 0, 0), "");
  EXPECT_EQ(groups(0, 1, 1), "");
  EXPECT_EQ(groups(0, 0, 1), "");
  EXPECT_EQ(groups(0, 1, 2), "");
}

TEST(VerifyGroups, RejectsAPathThatLeavesAGroupAndComesBack) {
  EXPECT_THAT(groups(0, 1, 0), HasSubstr("group 0 is not convex"));
}

TEST(VerifyGroups, LooksThroughViewsOfNoGroup) {
  Graph graph = parsedGraph(R"(graph @g(%x: f32[2, 4]) -> (f32[8]) {
  %a = neg(%x) group 0
  %b = exp(%a) group 1
  %v = reshape(%b) {shape = [8]}
  %w = reshape(%a) {shape = [8]}
  %y = add(%v, %w) group 2
  return %y
})");
  EXPECT_EQ(verified(graph), "");
  graph.find("y").node->group = 0;
  EXPECT_THAT(verified(graph), HasSubstr("group 0 is not convex"));
}

TEST(VerifyGroups, NamesTheGroupOfACycleThroughANodeOfNone) {
  EXPECT_THAT(groups(5, std::nullopt, 5), HasSubstr("group 5 is not convex"));
}

TEST(VerifyGroups, SeesTwoGroupsThatNeedEachOther) {
  EXPECT_THAT(diagnostic(R"(graph @g(%x: f32[4], %z: f32[4]) -> (f32[4], f32[4]) {
  %a = neg(%x) group 0
  %b = neg(%z) group 1
  %c = exp(%a) group 1
  %d = exp(%b) group 0
  return %c, %d
})"),
              HasSubstr("not convex"));
}

} // namespace
