#include "codegen/matmul_schedule.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

MatmulProblem problem(SizeExpr rows, int64_t columns, int64_t depth, DType dtype = DType::bf16) {
  MatmulProblem problem;
  problem.op = "y = matmul";
  problem.dtype = dtype;
  problem.rows = rows;
  problem.depth = depth;
  problem.leftAligned = true;
  MatmulBranch branch;
  branch.columns = columns;
  branch.aligned = true;
  problem.branches.push_back(branch);
  return problem;
}

MatmulSchedule schedule(const MatmulProblem &problem, const Target &target = {}) {
  return llvm::cantFail(scheduleMatmul(problem, target));
}

TEST(MatmulSchedule, LargeProblemsTakeLargeTilesAndSmallOnesMoreTiles) {
  MatmulSchedule large = schedule(problem(4096, 4096, 4096));
  EXPECT_EQ(large.body, MatmulBody::tile);
  EXPECT_EQ(large.rows, 128u);
  EXPECT_EQ(large.columns, 128u);
  MatmulSchedule small = schedule(problem(197, 768, 768));
  EXPECT_EQ(small.rows, 64u);
  EXPECT_EQ(small.columns, 64u);
  EXPECT_EQ(small.rowTiles, SizeExpr(4));
  EXPECT_EQ(small.columnTiles, SizeExpr(12));
}

TEST(MatmulSchedule, SixteenRowsStreamTheWeightsAndSeventeenDoNot) {
  EXPECT_EQ(schedule(problem(16, 4096, 1024)).body, MatmulBody::skinny);
  EXPECT_EQ(schedule(problem(17, 4096, 1024)).body, MatmulBody::tile);
  EXPECT_EQ(schedule(problem(SizeExpr::symbol("batch"), 4096, 1024)).body, MatmulBody::tile);
}

TEST(MatmulSchedule, FewRowsOccupyEveryMultiprocessor) {
  EXPECT_GE(*schedule(problem(1, 2112, 2048)).columnTiles.constant(), 132);
  EXPECT_EQ(schedule(problem(1, 2048, 2048)).columns, 8u);
  EXPECT_EQ(schedule(problem(1, 4096, 2048)).columns, 16u);
}

TEST(MatmulSchedule, OnlyAlignedShortTypesRunOnTheMatrixUnits) {
  EXPECT_EQ(schedule(problem(64, 64, 64, DType::f32)).body, MatmulBody::simt);
  EXPECT_EQ(schedule(problem(64, 64, 64, DType::f64)).body, MatmulBody::simt);
  EXPECT_EQ(schedule(problem(64, 64, 63)).body, MatmulBody::simt);
  MatmulProblem unaligned = problem(64, 64, 64);
  unaligned.branches[0].aligned = false;
  EXPECT_EQ(schedule(unaligned).body, MatmulBody::simt);
  unaligned = problem(64, 64, 64);
  unaligned.leftAligned = false;
  EXPECT_EQ(schedule(unaligned).body, MatmulBody::simt);
}

TEST(MatmulSchedule, UnalignedWeightsOfFewRowsAreLoadedOneByOne) {
  MatmulProblem unaligned = problem(2, 99, 63);
  unaligned.branches[0].aligned = false;
  EXPECT_EQ(schedule(unaligned).vector, 1u);
  EXPECT_EQ(schedule(problem(2, 96, 64)).vector, 8u);
  EXPECT_EQ(schedule(problem(2, 96, 64, DType::f32)).vector, 4u);
}

TEST(MatmulSchedule, PairedColumnsShareATile) {
  MatmulProblem rope = problem(1, 2048, 2048);
  rope.branches[0].pairSpan = 64;
  MatmulSchedule narrow = schedule(rope);
  ASSERT_EQ(narrow.branches[0].pairRuns, 2u);
  EXPECT_EQ(narrow.branches[0].runs * narrow.branches[0].width, narrow.columns);
  // Each span is covered: its half is tilesPerSpan runs.
  EXPECT_GE(narrow.branches[0].tilesPerSpan * narrow.branches[0].width, 32);
  EXPECT_EQ(narrow.branches[0].tiles, SizeExpr(32 * narrow.branches[0].tilesPerSpan));

  rope.rows = 128;
  MatmulSchedule whole = schedule(rope);
  EXPECT_EQ(whole.branches[0].pairRuns, 1u);
  EXPECT_EQ(whole.branches[0].step, 64);

  // Spans of 48 do not divide a tile of 64 columns: one span to a tile.
  rope.branches[0].columns = 96;
  rope.branches[0].pairSpan = 48;
  EXPECT_EQ(schedule(rope).branches[0].step, 48);
  EXPECT_EQ(schedule(rope).branches[0].tiles, SizeExpr(2));
}

TEST(MatmulSchedule, CombinedMatmulsShareATile) {
  MatmulProblem gated = problem(1, 8192, 2048);
  gated.branches[0].matmuls = 2;
  MatmulSchedule two = schedule(gated);
  EXPECT_EQ(two.branches[0].runs, 2u);
  EXPECT_EQ(two.branches[0].step, two.columns / 2);
  gated.branches[0].matmuls = 3;
  EXPECT_EQ(schedule(gated).branches[0].runs, 4u);
}

TEST(MatmulSchedule, SiblingsStandSideBySide) {
  MatmulProblem siblings = problem(512, 2048, 2048);
  siblings.branches.push_back(siblings.branches[0]);
  siblings.branches[1].columns = 512;
  MatmulSchedule result = schedule(siblings);
  EXPECT_EQ(result.columnTiles, result.branches[0].tiles + result.branches[1].tiles);
}

TEST(MatmulSchedule, StagesNarrowWhereWideRowsDoNotFit) {
  EXPECT_TRUE(schedule(problem(1, 2048, 8192)).stagesCompute);
  EXPECT_FALSE(schedule(problem(8, 2048, 8192)).stagesCompute);
  // Too long even then: tiles take over.
  EXPECT_EQ(schedule(problem(16, 2048, 8192)).body, MatmulBody::tile);
}

TEST(MatmulSchedule, SaysWhyAPrologueDoesNotFit) {
  MatmulProblem folded = problem(16, 2048, 8192);
  folded.hasPrologue = true;
  llvm::Expected<MatmulSchedule> result = scheduleMatmul(folded, Target());
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  EXPECT_NE(message.find("y = matmul"), std::string::npos) << message;
  EXPECT_NE(message.find("232448"), std::string::npos) << message;

  folded = problem(SizeExpr::symbol("batch"), 64, 64);
  folded.hasPrologue = true;
  result = scheduleMatmul(folded, Target());
  ASSERT_FALSE(static_cast<bool>(result));
  message = llvm::toString(result.takeError());
  EXPECT_NE(message.find("batch"), std::string::npos) << message;
}

TEST(MatmulSchedule, SaysWhichMatmulsAreTooManyForATile) {
  MatmulProblem crowded = problem(64, 64, 64, DType::f32);
  crowded.branches[0].matmuls = 65;
  llvm::Expected<MatmulSchedule> result = scheduleMatmul(crowded, Target());
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  EXPECT_NE(message.find("y = matmul"), std::string::npos) << message;
}

TEST(MatmulSchedule, NamesTheLimitOfASmallTarget) {
  Target small;
  small.sharedBytesPerBlock = 1024;
  llvm::Expected<MatmulSchedule> result = scheduleMatmul(problem(64, 64, 64), small);
  ASSERT_FALSE(static_cast<bool>(result));
  std::string message = llvm::toString(result.takeError());
  EXPECT_NE(message.find("1024"), std::string::npos) << message;
}

} // namespace
