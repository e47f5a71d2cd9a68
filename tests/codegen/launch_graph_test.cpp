#include "codegen/launch_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace warploom;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

Kernel touching(llvm::ArrayRef<unsigned> reads, llvm::ArrayRef<unsigned> writes) {
  Kernel kernel;
  kernel.reads.assign(reads.begin(), reads.end());
  kernel.writes.assign(writes.begin(), writes.end());
  return kernel;
}

TEST(LaunchEdges, OrdersAReadBehindItsWrite) {
  EXPECT_THAT(launchEdges({touching({0}, {1}), touching({1}, {2})}), ElementsAre(Edge{0, 1}));
}

TEST(LaunchEdges, OrdersAWriteBehindEarlierReadsAndWrites) {
  EXPECT_THAT(launchEdges({touching({0}, {1}), touching({2}, {0}), touching({2}, {0})}),
              ElementsAre(Edge{0, 1}, Edge{1, 2}));
}

TEST(LaunchEdges, LeavesReadersOfOneBufferApart) {
  EXPECT_THAT(launchEdges({touching({0}, {1}), touching({0}, {2})}), IsEmpty());
}

TEST(LaunchEdges, DropsWhatAPathAlreadyOrders) {
  EXPECT_THAT(launchEdges({touching({0}, {1}), touching({1}, {2}), touching({1, 2}, {3})}),
              ElementsAre(Edge{0, 1}, Edge{1, 2}));
}

TEST(LaunchEdges, KeepsBothSidesOfADiamond) {
  EXPECT_THAT(launchEdges({touching({0}, {1}), touching({1}, {2}), touching({1}, {3}),
                           touching({2, 3}, {4})}),
              ElementsAre(Edge{0, 1}, Edge{0, 2}, Edge{1, 3}, Edge{2, 3}));
}

TEST(Reachability, FollowsPathsAndOnlyForwards) {
  auto reaches = reachability(4, {{0, 1}, {1, 3}});
  EXPECT_TRUE(reaches[0][1]);
  EXPECT_TRUE(reaches[0][3]);
  EXPECT_FALSE(reaches[3][0]);
  EXPECT_FALSE(reaches[0][2]);
  EXPECT_FALSE(reaches[0][0]);
}

} // namespace
