// How a group of matmuls of one left operand is cut into tiles: a pure function of shapes.
#pragma once

#include "ir/dtype.h"
#include "ir/program/size_expr.h"
#include "ir/target.h"

#include "llvm/ADT/SmallVector.h"

namespace warploom {

// As in kernels/matmul_operand.cuh.
enum class MatmulLayout : uint8_t { depthContiguous, outerContiguous, strided };

// The tile body that runs: matmul_tile.cuh, matmul_simt.cuh or matmul_skinny.cuh.
enum class MatmulBody : uint8_t { tile, simt, skinny };

// Matmuls that one epilogue combines: same columns, same layout of the right operand.
struct MatmulBranch {
  SizeExpr columns;
  unsigned matmuls = 1;
  MatmulLayout right = MatmulLayout::depthContiguous;
  // Every access of 16 bytes to the right operands is aligned, and does not cross their end.
  bool aligned = false;
  // Columns come in spans whose two halves the epilogue pairs (the head_dim of rope); 0 = no pairs.
  int64_t pairSpan = 0;
};

struct MatmulProblem {
  std::string op; // "value = matmul", for messages
  DType dtype = DType::f32;
  SizeExpr rows, depth;
  SizeExpr batches = 1; // matmuls of these sizes that run side by side
  MatmulLayout left = MatmulLayout::depthContiguous;
  bool leftAligned = false;
  // The left operand is computed in this kernel, row by row, and must be staged whole.
  bool hasPrologue = false;
  llvm::SmallVector<MatmulBranch, 3> branches;
};

// How the columns of a branch are spread over tiles; see Side in kernels/matmul_operand.cuh.
struct BranchTiles {
  unsigned runs = 1; // runs * width = MatmulSchedule::columns
  unsigned width = 0;
  unsigned pairRuns = 1;    // runs of one matmul; 2: the second starts half a span later
  int64_t step = 0;         // columns from one tile to the next; with pairRuns 2, between spans
  int64_t tilesPerSpan = 1; // with pairRuns 2: tiles that share a span, `width` columns apart
  SizeExpr tiles;
};

struct MatmulSchedule {
  MatmulBody body = MatmulBody::simt;
  unsigned rows = 0, columns = 0;         // of a tile
  unsigned warpRows = 0, warpColumns = 0; // body tile: warps along each side
  unsigned vector = 1;                    // body skinny: weights per load
  bool stagesCompute = true;              // body skinny: activations staged in the compute type
  int64_t stagedPitch = 0;                // body skinny: elements between staged rows
  unsigned threads = 0;
  uint64_t bodyBytes = 0;   // shared bytes of the body; staged rows lie behind them
  uint64_t sharedBytes = 0; // both
  SizeExpr rowTiles, columnTiles;
  llvm::SmallVector<BranchTiles, 3> branches;
};

// Most rows of the body that streams the weights once.
inline constexpr int64_t kSkinnyRows = 16;

// Error: the tile and the staged rows need more shared memory than the target has, or the epilogue
// combines more matmuls than a tile has room for; the message names the op.
llvm::Expected<MatmulSchedule> scheduleMatmul(const MatmulProblem &problem, const Target &target);

} // namespace warploom
