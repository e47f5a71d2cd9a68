// The two sides of a matmul tile as the tile bodies read them, and the accumulators they leave.
#pragma once

#include "kernels/tile.cuh"

namespace warploom {

// Which index of a matrix (outer, depth) is contiguous in memory, if any; depth is what a matmul
// sums over, outer is the row of the left side or the column of the right side.
enum class Layout { depthContiguous, outerContiguous, strided };

// Consecutive outer indices of a matrix: `first` and what follows it; at `end` and beyond the
// matrix reads as zero. The stride of the index that is contiguous is not looked at.
template <class T> struct Run {
  const T *data;
  int64_t outerStride;
  int64_t depthStride;
  int first;
  int end;

  template <Layout layout> DEVICE const T *address(int outer, int depth) const {
    if constexpr (layout == Layout::depthContiguous)
      return data + outer * outerStride + depth;
    else if constexpr (layout == Layout::outerContiguous)
      return data + depth * depthStride + outer;
    else
      return data + outer * outerStride + depth * depthStride;
  }
};

// One side of a tile: `runs` runs of `width` outer indices, one behind the other in the tile. Two
// runs hold the columns that an epilogue combines: gate and up, or the halves that rope pairs.
template <class T, int runs, int width> struct Side {
  static constexpr int size = runs * width;
  Run<T> run[runs];

  // The run of a place in the tile, moved so that its `first` is that place. Written as a chain of
  // selections, since an indexed array would live in local memory.
  DEVICE Run<T> at(int place) const {
    Run<T> found = run[0];
    int start = 0;
#pragma unroll
    for (int index = 1; index < runs; ++index)
      if (place >= index * width) {
        found = run[index];
        start = index * width;
      }
    found.first += place - start;
    return found;
  }
};

// Accumulators in shared memory, row-major; what an epilogue reads.
template <class T> struct Accumulators {
  T *data;
  int pitch;
  DEVICE T at(int row, int column) const { return load(data + row * pitch + column); }
};

} // namespace warploom
