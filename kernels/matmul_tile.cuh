// A tile of a matmul on the matrix units: f16 or bf16 operands, f32 accumulators.
#pragma once

#include "kernels/matmul_operand.cuh"

namespace warploom {

// Shape of a tile and of its pipeline. Rows of shared memory are chunks of 16 bytes, permuted so
// that eight rows of one column of chunks lie in eight different bank groups.
template <int rows_, int columns_, int warpRows_, int warpColumns_> struct MatmulTileShape {
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  // Warps along each side of the tile; each computes a rectangle of it.
  static constexpr int warpRows = warpRows_;
  static constexpr int warpColumns = warpColumns_;
  static constexpr int threads = 32 * warpRows * warpColumns;
  static constexpr int depth = 64;
  static constexpr int stages = 3;
  static constexpr int pitch = columns + 8;
  static constexpr int stageBytes = (rows + columns) * depth * 2;
  static constexpr int pipelineBytes = stages * stageBytes;
  static constexpr int accumulatorBytes = rows * pitch * 4;
  static constexpr int sharedBytes =
      pipelineBytes > accumulatorBytes ? pipelineBytes : accumulatorBytes;
};

// Where one side of a stage lies in shared memory: `size` outer indices by 64 deep.
template <class T, Layout layout, int size> struct StagedSide {
  static constexpr int rowElements = layout == Layout::depthContiguous ? 64 : size;
  T *data;

  DEVICE T *chunk(int row, int column) const {
    return data + row * rowElements + (column ^ (row & 7)) * 8;
  }

  // Copies depth..depth+63 of a side, zeros beyond its end and beyond `depthEnd`.
  template <int runs, int width>
  DEVICE void fill(const Side<T, runs, width> &side, int depth, int depthEnd,
                   Threads threads) const {
    constexpr int rowChunks = rowElements / 8;
#pragma unroll 4
    for (int index = threads.index; index < size * 8; index += threads.count) {
      int row = index / rowChunks;
      int column = index % rowChunks;
      bool deep = layout == Layout::depthContiguous;
      Run<T> run = side.at(deep ? row : column * 8);
      int at = depth + (deep ? column * 8 : row);
      bool valid = run.first < run.end && at < depthEnd;
      copyAsync16(chunk(row, column),
                  valid ? run.template address<layout>(run.first, at) : run.data, valid);
    }
  }

  // The 16x16 part at (outer, depth) as four fragments, halves of the outer index in the order
  // (0, 1, 0, 1) for the left side and (0, 0, 1, 1) for the right.
  template <bool left>
  DEVICE void fragments(uint32_t (&registers)[4], int outer, int depth, int lane) const {
    int outerHalf = left ? lane / 8 % 2 : lane / 16;
    int depthHalf = left ? lane / 16 : lane / 8 % 2;
    if constexpr (layout == Layout::depthContiguous)
      loadMatrices(registers, chunk(outer + outerHalf * 8 + lane % 8, depth / 8 + depthHalf));
    else
      loadMatricesTransposed(registers,
                             chunk(depth + depthHalf * 8 + lane % 8, outer / 8 + outerHalf));
  }
};

// Computes one tile and leaves it in shared memory, which the pipeline no longer uses then; all
// threads may read it on return. `shared` holds Shape::sharedBytes. Addresses and strides of both
// sides are multiples of 16 bytes, depth is a multiple of 8; where the outer index is contiguous,
// `first` and `end` are multiples of 8.
template <class Shape, Layout leftLayout, Layout rightLayout, class T, int runs, int width,
          class Sync>
DEVICE Accumulators<float> matmulTile(Threads threads, char *shared,
                                      const Side<T, 1, Shape::rows> &left,
                                      const Side<T, runs, width> &right, int depth, Sync sync) {
  static_assert(Side<T, runs, width>::size == Shape::columns);
  constexpr int warpHeight = Shape::rows / Shape::warpRows;
  constexpr int warpWidth = Shape::columns / Shape::warpColumns;
  constexpr int tallFragments = warpHeight / 16;
  constexpr int wideFragments = warpWidth / 8;
  int lane = threads.index % 32;
  int warp = threads.index / 32;
  int warpRow = warp / Shape::warpColumns * warpHeight;
  int warpColumn = warp % Shape::warpColumns * warpWidth;
  auto leftStage = [&](int stage) {
    return StagedSide<T, leftLayout, Shape::rows>{
        reinterpret_cast<T *>(shared + stage * Shape::stageBytes)};
  };
  auto rightStage = [&](int stage) {
    return StagedSide<T, rightLayout, Shape::columns>{
        reinterpret_cast<T *>(shared + stage * Shape::stageBytes + Shape::rows * Shape::depth * 2)};
  };
  auto fill = [&](int stage, int from) {
    if (from < depth) {
      leftStage(stage).fill(left, from, depth, threads);
      rightStage(stage).fill(right, from, depth, threads);
    }
    // A group even when there is nothing to copy: waitCopies counts groups.
    commitCopies();
  };

  float sums[tallFragments][wideFragments][4] = {};
#pragma unroll
  for (int stage = 0; stage < Shape::stages - 1; ++stage)
    fill(stage, stage * Shape::depth);
  int stage = 0;
  int freeStage = Shape::stages - 1;
#pragma unroll 1
  for (int from = 0; from < depth; from += Shape::depth) {
    waitCopies<Shape::stages - 2>();
    // Also: every thread is done with the stage that is filled next.
    sync();
    fill(freeStage, from + (Shape::stages - 1) * Shape::depth);
    auto leftSide = leftStage(stage);
    auto rightSide = rightStage(stage);
#pragma unroll
    for (int step = 0; step < Shape::depth; step += 16) {
      uint32_t a[tallFragments][4];
      uint32_t b[wideFragments / 2][4];
#pragma unroll
      for (int row = 0; row < tallFragments; ++row)
        leftSide.template fragments<true>(a[row], warpRow + row * 16, step, lane);
#pragma unroll
      for (int pair = 0; pair < wideFragments / 2; ++pair)
        rightSide.template fragments<false>(b[pair], warpColumn + pair * 16, step, lane);
#pragma unroll
      for (int row = 0; row < tallFragments; ++row)
#pragma unroll
        for (int column = 0; column < wideFragments; ++column)
          multiplyAccumulate(sums[row][column], a[row], b[column / 2][column % 2 * 2],
                             b[column / 2][column % 2 * 2 + 1], T{});
    }
    stage = stage + 1 == Shape::stages ? 0 : stage + 1;
    freeStage = freeStage + 1 == Shape::stages ? 0 : freeStage + 1;
  }
  waitCopies<0>();
  sync();

  float *result = reinterpret_cast<float *>(shared);
#pragma unroll
  for (int row = 0; row < tallFragments; ++row)
#pragma unroll
    for (int column = 0; column < wideFragments; ++column)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        int atRow = warpRow + row * 16 + half * 8 + lane / 4;
        int atColumn = warpColumn + column * 8 + lane % 4 * 2;
        Vec<float, 2> pair{sums[row][column][half * 2], sums[row][column][half * 2 + 1]};
        store(result + atRow * Shape::pitch + atColumn, pair);
      }
  sync();
  return {result, Shape::pitch};
}

} // namespace warploom
