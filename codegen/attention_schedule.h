// How an attention is cut into blocks: a pure function of shapes.
#pragma once

#include "ir/dtype.h"
#include "ir/program/size_expr.h"
#include "ir/target.h"

namespace warploom {

struct AttentionProblem {
  std::string op; // "value = attention", for messages
  DType dtype = DType::f32;
  SizeExpr batch, queries, keys; // `keys`: how many the caches hold
  int64_t heads = 1, kvHeads = 1, headDim = 1;
  // Every row of q, k and v starts at a multiple of 16 bytes.
  bool aligned = false;
};

// The body that runs: attention_tile.cuh or attention_rows.cuh.
enum class AttentionBody : uint8_t {
  tile,   // 64 queries of one head on the matrix units
  rows,   // a few queries of one head
  shared, // queries of all heads that share a kv head, keys split over blocks: decode
};

struct AttentionSchedule {
  AttentionBody body = AttentionBody::rows;
  unsigned rows = 1;      // queries of a block
  unsigned rowBlocks = 1; // blocks that share the rows of one kv head
  unsigned vector = 1;    // elements per load of the bodies rows and shared
  unsigned splits = 1;    // blocks that share the keys of one kv head
  unsigned threads = 128;
  unsigned sharedBytes = 0;
  // The grid: batch * blocksPerBatch (splits, or tiles of queries), then heads (kv heads where they
  // are shared), then rowBlocks. Only the first axis of a GPU's grid has room for any batch.
  SizeExpr blocksPerBatch, blocksX;
  int64_t blocksY = 1, blocksZ = 1;
};

// Error: the tile needs more shared memory than the target has; the message names the op.
llvm::Expected<AttentionSchedule> scheduleAttention(const AttentionProblem &problem,
                                                    const Target &target);

} // namespace warploom
