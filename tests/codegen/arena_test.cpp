#include "codegen/arena.h"

#include "codegen/launch_graph.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

// Kernels in a row or side by side over buffers of the arena, `bytes` long each.
class Plan {
public:
  explicit Plan(llvm::ArrayRef<SizeExpr> bytes, BufferKind kind = BufferKind::temporary) {
    for (const SizeExpr &size : bytes) {
      Buffer buffer;
      buffer.kind = kind;
      buffer.bytes = size;
      program.buffers.push_back(buffer);
    }
  }
  Plan &kernel(llvm::ArrayRef<unsigned> reads, llvm::ArrayRef<unsigned> writes) {
    Kernel kernel;
    kernel.reads.assign(reads.begin(), reads.end());
    kernel.writes.assign(writes.begin(), writes.end());
    program.kernels.push_back(kernel);
    return *this;
  }
  Plan &plan(bool keepTemporaries = false) {
    program.edges = launchEdges(program.kernels);
    planArena(program, keepTemporaries);
    return *this;
  }
  std::string offset(unsigned buffer) const { return program.buffers[buffer].arenaOffset.str(); }

  Program program;
};

TEST(Arena, ReusesMemoryBehindItsLastReader) {
  Plan plan({100, 200, 300});
  plan.kernel({}, {0}).kernel({0}, {1}).kernel({1}, {2}).plan();
  EXPECT_EQ(plan.offset(0), "0");
  EXPECT_EQ(plan.offset(1), "512");
  EXPECT_EQ(plan.offset(2), "0");
  EXPECT_EQ(plan.program.arenaBytes.str(), "768");
}

TEST(Arena, KeepsBuffersOfParallelBranchesApart) {
  Plan plan({256, 256, 256, 256});
  plan.kernel({}, {0}).kernel({}, {1}).kernel({0}, {2}).kernel({1}, {3}).plan();
  // Buffer 3's kernel follows 1's writer, but no path leads to it from 0's reader.
  EXPECT_NE(plan.offset(0), plan.offset(1));
  EXPECT_NE(plan.offset(3), plan.offset(0));
  EXPECT_NE(plan.offset(3), plan.offset(2));
}

TEST(Arena, KeepsEveryTemporaryWhereAsked) {
  Plan plan({100, 200, 300});
  plan.kernel({}, {0}).kernel({0}, {1}).kernel({1}, {2}).plan(/*keepTemporaries=*/true);
  EXPECT_EQ(plan.offset(2), "512");
  EXPECT_EQ(plan.program.arenaBytes.str(), "1024");
}

// A counter is zero before the first launch and after every one, so nothing else may lie there.
TEST(Arena, SharesNoCounter) {
  Plan plan({4, 4, 4}, BufferKind::counter);
  plan.kernel({}, {0}).kernel({0}, {1}).kernel({1}, {2}).plan();
  EXPECT_EQ(plan.program.arenaBytes.str(), "768");
  Plan mixed({4, 4, 4});
  mixed.program.buffers[0].kind = BufferKind::counter;
  mixed.kernel({}, {0}).kernel({0}, {1}).kernel({1}, {2}).plan();
  EXPECT_NE(mixed.offset(2), mixed.offset(0));
}

TEST(Arena, TakesTheLargestOfSymbolicSizes) {
  SizeExpr batch = SizeExpr::symbol("batch");
  Plan plan({batch * SizeExpr(4), 256, 1024});
  plan.kernel({}, {0}).kernel({0}, {1}).kernel({1}, {2}).plan();
  llvm::StringMap<int64_t> symbols;
  symbols["batch"] = 10;
  EXPECT_EQ(*plan.program.arenaBytes.evaluate(symbols), 1024 + 256);
  symbols["batch"] = 1000;
  EXPECT_EQ(*plan.program.arenaBytes.evaluate(symbols), 4096 + 256);
  EXPECT_EQ(*plan.program.buffers[1].arenaOffset.evaluate(symbols), 4096);
}

TEST(Arena, IgnoresWhatTheCallerBinds) {
  Plan plan({100, 200}, BufferKind::result);
  plan.kernel({}, {0}).kernel({0}, {1}).plan();
  EXPECT_EQ(plan.program.arenaBytes.str(), "0");
}

} // namespace
