#include "codegen/attention_schedule.h"

#include "ir/program/error.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace warploom {
namespace {

constexpr int64_t kDecodeRows = 16;   // most rows of a kv head that are worth splitting its keys
constexpr int64_t kBlockRows = 8;     // most rows of a block that shares keys
constexpr int64_t kTiledRows = 4;     // the same where queries are plenty
constexpr int64_t kTileHeadDim = 128; // most the tile's accumulators allow
constexpr int64_t kSplitKeys = 64;    // fewest keys worth a block of their own

unsigned computeBytes(DType dtype) {
  return dtype == DType::f64 ? 8 : 4;
}

// As AttentionRowsShape::lanes.
int64_t lanesOf(const AttentionSchedule &schedule, const AttentionProblem &problem) {
  int64_t pieces = llvm::divideCeil(problem.headDim, schedule.vector);
  return std::min<int64_t>(32, llvm::PowerOf2Ceil(pieces));
}

// The most rows of which a thread holds query and sum in registers: with more, NVRTC spills.
int64_t rowsThatFit(const AttentionSchedule &schedule, const AttentionProblem &problem) {
  int64_t lanes = lanesOf(schedule, problem);
  int64_t perLane = llvm::divideCeil(problem.headDim, lanes * schedule.vector) * schedule.vector;
  int64_t elements = problem.dtype == DType::f64 ? 16 : 64;
  return std::max<int64_t>(1, elements / std::max<int64_t>(1, perLane));
}

// As AttentionRowsShape::sharedBytes.
unsigned rowsSharedBytes(const AttentionSchedule &schedule, const AttentionProblem &problem) {
  int64_t groups = schedule.threads / lanesOf(schedule, problem);
  int64_t elements =
      groups * schedule.rows * (problem.headDim + 2) + schedule.rows * problem.headDim + 4;
  return elements * computeBytes(problem.dtype);
}

// As AttentionTileShape::sharedBytes.
unsigned tileSharedBytes(const AttentionProblem &problem) {
  int64_t staged = 5 * 64 * (problem.headDim + 8) * 2, output = 64 * (problem.headDim + 4) * 4;
  return std::max(staged, output);
}

bool fitsTile(const AttentionProblem &problem) {
  return (problem.dtype == DType::bf16 || problem.dtype == DType::f16) && problem.aligned &&
         problem.headDim % 16 == 0 && problem.headDim <= kTileHeadDim;
}

// Enough blocks to fill the multiprocessors twice, but none with too few keys.
unsigned splitsFor(const AttentionSchedule &schedule, const AttentionProblem &problem,
                   const Target &target) {
  std::optional<int64_t> keys = problem.keys.constant(), batch = problem.batch.constant();
  int64_t blocks = std::max<int64_t>(1, problem.kvHeads * schedule.rowBlocks * batch.value_or(1));
  int64_t wanted = llvm::divideCeil(2 * int64_t(target.multiprocessors), blocks);
  int64_t most = keys ? llvm::divideCeil(*keys, kSplitKeys) : 16;
  return std::clamp<int64_t>(std::min(wanted, most), 1, 64);
}

} // namespace

llvm::Expected<AttentionSchedule> scheduleAttention(const AttentionProblem &problem,
                                                    const Target &target) {
  AttentionSchedule schedule;
  int64_t group = problem.heads / std::max<int64_t>(1, problem.kvHeads);
  std::optional<int64_t> queries = problem.queries.constant();
  unsigned wide = 16 / byteSize(problem.dtype);
  schedule.vector = problem.aligned && problem.headDim % wide == 0 ? wide : 1;
  schedule.blocksY = problem.heads;
  if (queries && *queries * group <= kDecodeRows) {
    int64_t rows = std::max<int64_t>(1, *queries * group);
    schedule.body = AttentionBody::shared;
    schedule.rowBlocks =
        llvm::divideCeil(rows, std::min(kBlockRows, rowsThatFit(schedule, problem)));
    schedule.rows = llvm::divideCeil(rows, schedule.rowBlocks);
    schedule.splits = splitsFor(schedule, problem, target);
    schedule.blocksPerBatch = *queries == 0 ? 0 : schedule.splits;
    schedule.blocksY = problem.kvHeads;
    schedule.blocksZ = schedule.rowBlocks;
  } else if (fitsTile(problem)) {
    schedule.body = AttentionBody::tile;
    schedule.rows = 64;
    schedule.blocksPerBatch = ceilDiv(problem.queries, SizeExpr(64));
  } else {
    schedule.body = AttentionBody::rows;
    schedule.rows = std::min(kTiledRows, rowsThatFit(schedule, problem));
    schedule.blocksPerBatch = ceilDiv(problem.queries, SizeExpr(schedule.rows));
  }
  schedule.blocksX = problem.batch * schedule.blocksPerBatch;
  schedule.sharedBytes = schedule.body == AttentionBody::tile ? tileSharedBytes(problem)
                                                              : rowsSharedBytes(schedule, problem);
  if (schedule.sharedBytes > target.sharedBytesPerBlock)
    return makeError("{0}: a block needs {1} bytes of shared memory for a head_dim of {2}; {3} has "
                     "{4}",
                     problem.op, schedule.sharedBytes, problem.headDim, target.arch,
                     target.sharedBytesPerBlock);
  return schedule;
}

} // namespace warploom
