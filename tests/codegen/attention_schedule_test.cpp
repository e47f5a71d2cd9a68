#include "codegen/attention_schedule.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

AttentionProblem problem(SizeExpr queries, SizeExpr keys, int64_t heads, int64_t kvHeads,
                         int64_t headDim = 64, DType dtype = DType::bf16) {
  AttentionProblem problem;
  problem.op = "y = attention";
  problem.dtype = dtype;
  problem.batch = 1;
  problem.queries = queries;
  problem.keys = keys;
  problem.heads = heads;
  problem.kvHeads = kvHeads;
  problem.headDim = headDim;
  problem.aligned = true;
  return problem;
}

AttentionSchedule schedule(const AttentionProblem &problem, const Target &target = {}) {
  return llvm::cantFail(scheduleAttention(problem, target));
}

TEST(AttentionSchedule, OneTokenReadsTheKeysOfAGroupOnce) {
  AttentionSchedule llama = schedule(problem(1, 1024, 32, 8));
  EXPECT_EQ(llama.body, AttentionBody::shared);
  EXPECT_EQ(llama.rows, 4u);
  EXPECT_EQ(llama.rowBlocks, 1u);
  EXPECT_EQ(llama.vector, 8u);
  EXPECT_EQ(llama.splits, 16u);
  EXPECT_EQ(llama.blocksX, SizeExpr(16));
  EXPECT_EQ(llama.blocksY, 8);
  EXPECT_EQ(llama.blocksZ, 1);
}

TEST(AttentionSchedule, UpToSixteenRowsShareKeysAndMoreDoNot) {
  AttentionSchedule most = schedule(problem(4, 1024, 32, 8));
  EXPECT_EQ(most.body, AttentionBody::shared);
  EXPECT_EQ(most.rows, 8u);
  EXPECT_EQ(most.rowBlocks, 2u);
  EXPECT_EQ(most.blocksZ, 2);
  EXPECT_EQ(schedule(problem(5, 1024, 32, 8)).body, AttentionBody::tile);
  EXPECT_EQ(schedule(problem(SizeExpr::symbol("tokens"), 1024, 32, 8)).body, AttentionBody::tile);
}

TEST(AttentionSchedule, RowsAreSharedOutEvenly) {
  AttentionSchedule nine = schedule(problem(9, 1024, 8, 8));
  EXPECT_EQ(nine.rowBlocks, 2u);
  EXPECT_EQ(nine.rows, 5u);
}

TEST(AttentionSchedule, LongHeadsAndWideTypesTakeFewerRows) {
  EXPECT_EQ(schedule(problem(1, 1024, 8, 1, 256)).rows, 8u);
  EXPECT_EQ(schedule(problem(1, 1024, 8, 1, 512)).rows, 4u);
  EXPECT_EQ(schedule(problem(1, 1024, 8, 1, 576)).rows, 2u);
  EXPECT_EQ(schedule(problem(1, 1024, 8, 1, 64, DType::f64)).rows, 8u);
  EXPECT_EQ(schedule(problem(1, 1024, 8, 1, 128, DType::f64)).rows, 4u);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 64, DType::f32)).rows, 4u);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 1024, DType::f32)).rows, 2u);
}

TEST(AttentionSchedule, SplitsFillTheMultiprocessorsButNeverStarve) {
  EXPECT_EQ(schedule(problem(1, 64, 8, 8)).splits, 1u);
  EXPECT_EQ(schedule(problem(1, 65, 8, 8)).splits, 2u);
  EXPECT_EQ(schedule(problem(1, 1 << 20, 8, 8)).splits, 33u);
  EXPECT_EQ(schedule(problem(1, 1 << 20, 1, 1)).splits, 64u);
  AttentionProblem many = problem(1, 1 << 20, 8, 8);
  many.batch = 64;
  EXPECT_EQ(schedule(many).splits, 1u);
  Target small;
  small.multiprocessors = 4;
  EXPECT_EQ(schedule(problem(1, 1 << 20, 8, 8), small).splits, 1u);
}

TEST(AttentionSchedule, OnlyAlignedShortTypesRunOnTheMatrixUnits) {
  EXPECT_EQ(schedule(problem(512, 512, 8, 8)).body, AttentionBody::tile);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 64, DType::f16)).body, AttentionBody::tile);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 64, DType::f32)).body, AttentionBody::rows);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 64, DType::f64)).body, AttentionBody::rows);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 72)).body, AttentionBody::rows);
  EXPECT_EQ(schedule(problem(512, 512, 8, 8, 144)).body, AttentionBody::rows);
  AttentionProblem unaligned = problem(512, 512, 8, 8);
  unaligned.aligned = false;
  EXPECT_EQ(schedule(unaligned).body, AttentionBody::rows);
  EXPECT_EQ(schedule(unaligned).vector, 1u);
}

TEST(AttentionSchedule, AnyBatchFitsTheFirstAxisOfTheGrid) {
  AttentionProblem many = problem(130, 130, 8, 8);
  many.batch = 70000;
  EXPECT_EQ(schedule(many).blocksX, SizeExpr(3 * 70000));
  EXPECT_EQ(schedule(many).blocksY, 8);
  EXPECT_EQ(schedule(many).blocksZ, 1);
  many.batch = SizeExpr::symbol("batch");
  EXPECT_EQ(schedule(many).blocksX, SizeExpr::symbol("batch") * SizeExpr(3));
}

TEST(AttentionSchedule, NothingToDoNeedsNoBlocks) {
  EXPECT_EQ(schedule(problem(0, 64, 8, 8)).blocksX, SizeExpr(0));
  AttentionProblem none = problem(1, 64, 8, 8);
  none.batch = 0;
  EXPECT_EQ(schedule(none).blocksX, SizeExpr(0));
  EXPECT_EQ(schedule(problem(1, 0, 8, 8)).splits, 1u);
}

TEST(AttentionSchedule, SaysWhatDoesNotFit) {
  Target small;
  small.sharedBytesPerBlock = 40000;
  llvm::Expected<AttentionSchedule> result = scheduleAttention(problem(512, 512, 8, 8), small);
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "y = attention: a block needs 46080 bytes of shared memory for a head_dim of 64; "
            "sm_90a has 40000");
}

} // namespace
