// The phases of a row: load, reduce, load or hold, reduce again, and use. Shared by row kernels and
// by the prologues of matmuls.
#pragma once

#include "codegen/evaluator.h"

namespace warploom {

// How threads share a row.
struct RowSchedule {
  unsigned width = 1;          // elements per access
  unsigned threadsPerRow = 32; // a power of two
  unsigned rowsPerBlock = 1;   // more than 1 only where a row has at most 32 threads
  unsigned items = 1;          // chunks of `width` per thread; the held form unrolls over them
  bool isHeld = true;          // loaded vectors stay in registers from the first phase to the last
  // The length is no multiple of `width`: chunks are aligned in memory and cut at the row's ends.
  bool isCut = false;
  unsigned blockThreads() const { return threadsPerRow * rowsPerBlock; }
  // Shared bytes that the reductions need.
  unsigned sharedBytes() const { return threadsPerRow > 32 ? 2 * 32 * 8 : 0; }
};

// What a row is: the dims that number the rows and the dims along it.
struct RowShape {
  Dims dims;                           // of the full shape
  llvm::SmallVector<unsigned, 4> axes; // reduced
  SizeExpr rows() const;
  SizeExpr columns() const;
};

RowShape rowShape(llvm::ArrayRef<const Node *> nodes);

// Threads and registers for a row over the stored `values` that its kernel touches; `maxThreads`
// bounds threadsPerRow (a matmul's block), up to `multiprocessors` rows are few, and only where
// `mayCut` are rows cut.
RowSchedule scheduleRow(const RowShape &shape, llvm::ArrayRef<Value> values, unsigned maxThreads,
                        unsigned multiprocessors = 0, bool mayCut = false);

// What is done with an element of the row once every reduction is known.
struct RowUse {
  Value value;
  // Emits the use of `value` (a C++ expression) at `index` of the full shape, where the thread's
  // chunk starts at column `column` of its row.
  std::function<void(Evaluator &, const Index &index, const std::string &expression,
                     const IndexExpr &column)>
      emit;
};

// Emits the phases for the row numbered `row` (a variable of the emitted code) with the team
// variable `threads` in scope (kernels/tile.cuh), `thread` being the thread's place in its row and
// `scratch` the shared memory of reductions. `nodes` are the row's nodes of the group, in order.
void emitRowPhases(KernelBuilder &kernel, llvm::ArrayRef<const Node *> nodes,
                   const RowSchedule &schedule, const RowShape &shape, const IndexExpr &row,
                   llvm::ArrayRef<RowUse> uses);

} // namespace warploom
