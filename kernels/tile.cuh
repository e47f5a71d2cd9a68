// The contract of tile bodies. A tile body is a device function of (tile index, threads, shared
// memory, operands, sync). It never reads blockIndex(), never calls syncBlock() itself, and owns no
// static shared memory, so a kernel of its own and a persistent kernel can both run it.
#pragma once

#include "kernels/primitives.cuh"

namespace warploom {

// The threads that execute a tile body together: this thread's place among them, and their number
// (whole warps).
struct Threads {
  int index;
  int count;
};

// The barrier of a team that is the whole block.
struct BlockSync {
  DEVICE void operator()() const { syncBlock(); }
};

} // namespace warploom
