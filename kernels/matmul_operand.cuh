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

// Which columns of the result the places of a tile hold: a run of `width`, or two of them where an
// epilogue pairs the halves of a span (rope and head_dim).
struct TileColumns {
  int first;  // of the first run
  int second; // of the second, or of what would follow the first
  int width;
  int used; // columns of a run that no other tile has

  DEVICE static TileColumns ofRun(int tile, int step, int width) {
    return {tile * step, tile * step + width, width, step};
  }
  // `tilesPerSpan` tiles share a span; the second run lies half a span behind the first.
  DEVICE static TileColumns ofPair(int tile, int tilesPerSpan, int span, int width) {
    int start = tile % tilesPerSpan * width;
    int first = tile / tilesPerSpan * span + start;
    int left = span / 2 - start;
    return {first, first + span / 2, width, left < width ? left : width};
  }
  DEVICE int column(int place) const {
    return place < width ? first + place : second + place - width;
  }
  DEVICE bool has(int place) const { return place % width < used; }
  DEVICE int place(int column) const {
    return column < second ? column - first : column - second + width;
  }
};

// Accumulators in shared memory, row-major; what an epilogue reads.
template <class T> struct Accumulators {
  T *data;
  int pitch;
  DEVICE T at(int row, int column) const { return load(data + row * pitch + column); }
};

} // namespace warploom
