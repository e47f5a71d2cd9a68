// A tile of a matmul on the ordinary units: any floating type and alignment, sums in its compute
// type (f32 without shortened operands, f64 in f64).
#pragma once

#include "kernels/matmul_operand.cuh"

namespace warploom {

template <class T, int rows_, int columns_> struct MatmulSimtShape {
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  // A thread's part of the tile, 4x4.
  static constexpr int part = 4;
  static constexpr int threads = (rows / part) * (columns / part);
  static constexpr int depth = 16;
  static constexpr int pitch = columns + 4;
  static constexpr int stagedElements = depth * (rows + 4 + columns + 4);
  static constexpr int sharedElements = stagedElements > rows *pitch ? stagedElements : rows *pitch;
  static constexpr int sharedBytes = sharedElements * static_cast<int>(sizeof(Compute<T>));
};

// Copies depth..depth+15 of a side to shared memory, the outer index contiguous, zeros outside.
template <int depthCount, Layout layout, class T, int runs, int width>
DEVICE void stageSide(Compute<T> *staged, const Side<T, runs, width> &side, int depth, int depthEnd,
                      Threads threads) {
  constexpr int size = runs * width;
#pragma unroll 4
  for (int index = threads.index; index < size * depthCount; index += threads.count) {
    bool deep = layout == Layout::depthContiguous;
    int outer = deep ? index / depthCount : index % size;
    int inner = deep ? index % depthCount : index / size;
    Run<T> run = side.at(outer);
    Compute<T> value = 0;
    if (run.first < run.end && depth + inner < depthEnd)
      value = convert<Compute<T>>(load(run.template address<layout>(run.first, depth + inner)));
    store(staged + inner * (size + 4) + outer, value);
  }
}

// Computes one tile and leaves it in shared memory; all threads may read it on return. `shared`
// holds Shape::sharedBytes. The sum runs over depth in order, by fused multiply-add.
template <class Shape, Layout leftLayout, Layout rightLayout, class T, int runs, int width,
          class Sync>
DEVICE Accumulators<Compute<T>>
matmulSimt(Threads threads, char *shared, const Side<T, 1, Shape::rows> &left,
           const Side<T, runs, width> &right, int depth, Sync sync) {
  static_assert(Side<T, runs, width>::size == Shape::columns);
  constexpr int part = Shape::part;
  auto *leftStaged = reinterpret_cast<Compute<T> *>(shared);
  auto *rightStaged = leftStaged + Shape::depth * (Shape::rows + 4);
  int row = threads.index / (Shape::columns / part) * part;
  int column = threads.index % (Shape::columns / part) * part;
  Compute<T> sums[part][part] = {};
#pragma unroll 1
  for (int from = 0; from < depth; from += Shape::depth) {
    stageSide<Shape::depth, leftLayout>(leftStaged, left, from, depth, threads);
    stageSide<Shape::depth, rightLayout>(rightStaged, right, from, depth, threads);
    sync();
#pragma unroll 4
    for (int inner = 0; inner < Shape::depth; ++inner) {
      Compute<T> a[part], b[part];
#pragma unroll
      for (int index = 0; index < part; ++index) {
        a[index] = load(leftStaged + inner * (Shape::rows + 4) + row + index);
        b[index] = load(rightStaged + inner * (Shape::columns + 4) + column + index);
      }
#pragma unroll
      for (int i = 0; i < part; ++i)
#pragma unroll
        for (int j = 0; j < part; ++j)
          sums[i][j] += a[i] * b[j];
    }
    sync();
  }
#pragma unroll
  for (int i = 0; i < part; ++i)
#pragma unroll
    for (int j = 0; j < part; ++j)
      store(leftStaged + (row + i) * Shape::pitch + column + j, sums[i][j]);
  sync();
  return {leftStaged, Shape::pitch};
}

} // namespace warploom
