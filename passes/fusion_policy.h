// Every threshold of fusion, by name; none is a number inside a pass.
#pragma once

#include <cstdint>

namespace warploom {

struct FusionPolicy {
  // Most rows of a matmul that runs as the memory-bound kernel, with weights read once.
  unsigned skinnyRows = 16;
  // Most bytes of shared memory that a norm folded into a matmul may stage; above it the norm is
  // a kernel of its own. 96 KiB leaves two blocks on a multiprocessor of sm_90.
  uint64_t prologueSharedBytes = 96 * 1024;
};

} // namespace warploom
