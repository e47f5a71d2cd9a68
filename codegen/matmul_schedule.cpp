#include "codegen/matmul_schedule.h"

#include "ir/program/error.h"

#include "llvm/Support/MathExtras.h"

namespace warploom {
namespace {

constexpr int64_t kPipelineStages = 3;
constexpr int64_t kPipelineDepth = 64;
constexpr int64_t kSimtDepth = 16;

struct TileShape {
  unsigned rows, columns, warpRows, warpColumns;
};
// From the fewest loads per product to the most tiles.
constexpr TileShape kTileShapes[] = {{128, 128, 2, 4}, {128, 64, 4, 2}, {64, 64, 2, 2}};

int64_t computeBytes(DType dtype) {
  return dtype == DType::f64 ? 8 : 4;
}

// A count of unknown size is taken to be large.
int64_t known(const SizeExpr &size) {
  return size.constant().value_or(1 << 20);
}

BranchTiles tilesOf(const MatmulBranch &branch, unsigned columns) {
  BranchTiles tiles;
  unsigned matmuls = llvm::PowerOf2Ceil(branch.matmuls);
  unsigned width = columns / matmuls;
  if (branch.pairSpan == 0 || width >= branch.pairSpan) {
    tiles.runs = matmuls;
    tiles.width = width;
    tiles.step = branch.pairSpan ? width / branch.pairSpan * branch.pairSpan : width;
    tiles.tiles = ceilDiv(branch.columns, SizeExpr(tiles.step));
    return tiles;
  }
  tiles.pairRuns = 2;
  tiles.runs = matmuls * 2;
  tiles.width = width / 2;
  tiles.step = branch.pairSpan;
  if (tiles.width == 0)
    return tiles;
  tiles.tilesPerSpan = llvm::divideCeil(branch.pairSpan / 2, tiles.width);
  tiles.tiles = ceilDiv(branch.columns, SizeExpr(branch.pairSpan)) * SizeExpr(tiles.tilesPerSpan);
  return tiles;
}

// Spreads the branches over tiles of schedule.columns. False: a run would be narrower than
// `leastWidth`.
bool spreadColumns(const MatmulProblem &problem, MatmulSchedule &schedule, unsigned leastWidth) {
  schedule.branches.clear();
  schedule.columnTiles = 0;
  for (const MatmulBranch &branch : problem.branches) {
    BranchTiles tiles = tilesOf(branch, schedule.columns);
    if (tiles.width < leastWidth)
      return false;
    schedule.columnTiles = schedule.columnTiles + tiles.tiles;
    schedule.branches.push_back(tiles);
  }
  schedule.rowTiles = ceilDiv(problem.rows, SizeExpr(schedule.rows));
  return true;
}

bool fitsMatrixUnits(const MatmulProblem &problem) {
  if (problem.dtype != DType::f16 && problem.dtype != DType::bf16)
    return false;
  auto depth = problem.depth.constant();
  if (!depth || *depth % 8 != 0 || !problem.leftAligned || problem.left == MatmulLayout::strided)
    return false;
  return llvm::all_of(problem.branches, [](const MatmulBranch &branch) {
    return branch.aligned && branch.right != MatmulLayout::strided;
  });
}

bool chooseTile(const MatmulProblem &problem, const Target &target, MatmulSchedule &schedule) {
  bool found = false;
  for (const TileShape &shape : kTileShapes) {
    MatmulSchedule candidate;
    candidate.body = MatmulBody::tile;
    candidate.rows = shape.rows;
    candidate.columns = shape.columns;
    candidate.warpRows = shape.warpRows;
    candidate.warpColumns = shape.warpColumns;
    candidate.threads = 32 * shape.warpRows * shape.warpColumns;
    uint64_t pipeline = kPipelineStages * (shape.rows + shape.columns) * kPipelineDepth * 2;
    uint64_t accumulators = uint64_t(shape.rows) * (shape.columns + 8) * 4;
    candidate.bodyBytes = candidate.sharedBytes = std::max(pipeline, accumulators);
    if (candidate.sharedBytes > target.sharedBytesPerBlock || !spreadColumns(problem, candidate, 8))
      continue;
    schedule = candidate;
    found = true;
    if (known(candidate.rowTiles) * known(candidate.columnTiles) * known(problem.batches) >=
        target.multiprocessors)
      break;
  }
  return found;
}

bool chooseSimt(const MatmulProblem &problem, MatmulSchedule &schedule) {
  schedule.body = MatmulBody::simt;
  schedule.rows = schedule.columns = 64;
  schedule.threads = 256;
  uint64_t staged = kSimtDepth * (schedule.rows + 4 + schedule.columns + 4);
  uint64_t accumulators = uint64_t(schedule.rows) * (schedule.columns + 4);
  schedule.bodyBytes = schedule.sharedBytes =
      std::max(staged, accumulators) * computeBytes(problem.dtype);
  return spreadColumns(problem, schedule, 1);
}

// Rows are few and known, and the staged activations fit. Wide staging keeps f32 values of a
// prologue unrounded; narrow staging is for rows that would otherwise not fit.
bool chooseSkinny(const MatmulProblem &problem, const Target &target, MatmulSchedule &schedule) {
  auto rows = problem.rows.constant();
  auto depth = problem.depth.constant();
  if (!rows || !depth || *rows < 1 || *rows > kSkinnyRows)
    return false;
  bool aligned = llvm::all_of(problem.branches, [](const MatmulBranch &branch) {
    return branch.aligned && branch.right != MatmulLayout::strided;
  });
  int64_t elementBytes = byteSize(problem.dtype);
  schedule.body = MatmulBody::skinny;
  schedule.rows = *rows;
  schedule.vector = aligned ? 16 / elementBytes : 1;
  schedule.threads = 256;
  schedule.stagedPitch = llvm::alignTo(*depth, 16);
  bool anyOuter = llvm::any_of(problem.branches, [](const MatmulBranch &branch) {
    return branch.right == MatmulLayout::outerContiguous;
  });
  // Weights with contiguous columns come in sectors of 32 bytes; narrow tiles make more blocks.
  unsigned preferred = anyOuter ? 32 : 16;
  bool found = false;
  for (unsigned columns : {8u, 16u, 32u, 64u}) {
    MatmulSchedule candidate = schedule;
    candidate.columns = columns;
    candidate.bodyBytes = llvm::alignTo(
        *rows * columns * (candidate.threads / 32 + 1) * computeBytes(problem.dtype), 16);
    if ((anyOuter && columns / candidate.vector > 32) ||
        !spreadColumns(problem, candidate, anyOuter ? candidate.vector : 1))
      continue;
    bool manyTiles =
        known(candidate.columnTiles) * known(problem.batches) >= target.multiprocessors;
    if (found && (columns > preferred || !manyTiles))
      break;
    found = true;
    uint64_t wide = *rows * schedule.stagedPitch * computeBytes(problem.dtype);
    uint64_t narrow = *rows * schedule.stagedPitch * elementBytes;
    // Half the multiprocessor's memory keeps two blocks on it.
    uint64_t limit = target.sharedBytesPerMultiprocessor / 2 - 1024;
    candidate.stagesCompute = candidate.bodyBytes + wide <= limit;
    candidate.sharedBytes = candidate.bodyBytes + (candidate.stagesCompute ? wide : narrow);
    schedule = candidate;
  }
  return found && (problem.hasPrologue || schedule.sharedBytes <= target.sharedBytesPerBlock);
}

} // namespace

llvm::Expected<MatmulSchedule> scheduleMatmul(const MatmulProblem &problem, const Target &target) {
  MatmulSchedule schedule;
  if (chooseSkinny(problem, target, schedule)) {
    if (schedule.sharedBytes > target.sharedBytesPerBlock)
      return makeError("{0}: {1} rows of {2} staged in shared memory need {3} bytes, and {4} has "
                       "{5} for a block",
                       problem.op, schedule.rows, problem.depth.str(), schedule.sharedBytes,
                       target.arch, target.sharedBytesPerBlock);
    return schedule;
  }
  if (problem.hasPrologue)
    return makeError("{0}: the left operand can be computed in the matmul's kernel for 1 to {1} "
                     "rows of known length, not for {2} rows of {3}",
                     problem.op, kSkinnyRows, problem.rows.str(), problem.depth.str());
  schedule = {};
  if (fitsMatrixUnits(problem) && chooseTile(problem, target, schedule))
    return schedule;
  schedule = {};
  if (!chooseSimt(problem, schedule))
    return makeError("{0}: one epilogue combines more matmuls than the {1} columns of a tile hold",
                     problem.op, schedule.columns);
  if (schedule.sharedBytes > target.sharedBytesPerBlock)
    return makeError("{0}: a tile needs {1} bytes of shared memory, and {2} has {3} for a block",
                     problem.op, schedule.sharedBytes, target.arch, target.sharedBytesPerBlock);
  return schedule;
}

} // namespace warploom
