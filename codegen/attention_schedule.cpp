#include "codegen/attention_schedule.h"

#include "ir/program/error.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace warploom {
namespace {

constexpr int64_t kSharedRows = 8;    // most rows whose sums fit a thread's registers
constexpr int64_t kTileHeadDim = 128; // most the tile's accumulators allow
constexpr int64_t kSplitKeys = 64;    // fewest keys worth a block of their own

unsigned computeBytes(DType dtype) {
  return dtype == DType::f64 ? 8 : 4;
}

// As AttentionRowsShape::sharedBytes.
unsigned rowsSharedBytes(const AttentionSchedule &schedule, const AttentionProblem &problem) {
  int64_t pieces = llvm::divideCeil(problem.headDim, schedule.vector);
  int64_t lanes = std::min<int64_t>(32, llvm::PowerOf2Ceil(pieces));
  int64_t groups = schedule.threads / lanes;
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
unsigned splitsFor(const AttentionProblem &problem, const Target &target) {
  std::optional<int64_t> keys = problem.keys.constant(), batch = problem.batch.constant();
  int64_t heads = problem.kvHeads * batch.value_or(1);
  int64_t wanted = llvm::divideCeil(2 * int64_t(target.multiprocessors), heads);
  int64_t most = keys ? llvm::divideCeil(*keys, kSplitKeys) : 16;
  return std::clamp<int64_t>(std::min(wanted, most), 1, 64);
}

} // namespace

llvm::Expected<AttentionSchedule> scheduleAttention(const AttentionProblem &problem,
                                                    const Target &target) {
  AttentionSchedule schedule;
  int64_t group = problem.heads / problem.kvHeads;
  std::optional<int64_t> queries = problem.queries.constant();
  unsigned wide = 16 / byteSize(problem.dtype);
  schedule.vector = problem.aligned && problem.headDim % wide == 0 ? wide : 1;
  if (queries && *queries * group <= kSharedRows) {
    schedule.body = AttentionBody::shared;
    schedule.rows = *queries * group;
    schedule.splits = splitsFor(problem, target);
    schedule.blocksX = schedule.splits;
    schedule.blocksY = problem.kvHeads;
  } else if (fitsTile(problem)) {
    schedule.body = AttentionBody::tile;
    schedule.rows = 64;
    schedule.blocksX = ceilDiv(problem.queries, SizeExpr(64));
    schedule.blocksY = problem.heads;
  } else {
    schedule.body = AttentionBody::rows;
    schedule.rows = problem.headDim <= 128 ? 4 : 1;
    schedule.blocksX = ceilDiv(problem.queries, SizeExpr(schedule.rows));
    schedule.blocksY = problem.heads;
  }
  schedule.blocksZ = problem.batch;
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
