// A matmul of few rows (1 to 16): the weights are streamed once, the activations lie in shared
// memory, and the threads share out the depth.
#pragma once

#include "kernels/matmul_operand.cuh"

namespace warploom {

// `vector` weights are loaded at once: 16 bytes of them, or 1 where they are not aligned.
template <class T, int rows_, int columns_, int vector_, int threads_> struct MatmulSkinnyShape {
  static constexpr int rows = rows_;
  static constexpr int columns = columns_;
  static constexpr int vector = vector_;
  static constexpr int threads = threads_;
  static constexpr int warps = threads / 32;
  // Depth contiguous: columns that a warp takes at once. At most 64 sums stay in a thread.
  static constexpr int warpColumns = columns % 4 == 0 && rows <= 16 ? 4 : 1;
  static constexpr int columnGroups = columns / warpColumns;
  // Warps that share one group of columns, each with a slice of the depth.
  static constexpr int slices = columnGroups >= warps ? 1 : warps / columnGroups;
  static constexpr int sharedElements = rows * columns * (warps + 1);
  static constexpr int sharedBytes = sharedElements * static_cast<int>(sizeof(Compute<T>));
};

// Adds values[0..count) over the lanes that differ in the bits from `distance` down to `smallest`.
// Each step that can halves the values a lane goes on with; returns the index of the first one
// left, and sets `spare` for lanes whose values another lane holds too. The order is fixed.
template <int count, int distance, int smallest, class T>
DEVICE int sumOverLanes(T *values, int lane, bool &spare) {
  if constexpr (distance < smallest) {
    return 0;
  } else if constexpr (count % 2 == 0) {
    constexpr int half = count / 2;
    bool upper = (lane & distance) != 0;
#pragma unroll
    for (int index = 0; index < half; ++index) {
      T given = upper ? values[index] : values[index + half];
      T kept = upper ? values[index + half] : values[index];
      values[index] = kept + shuffleXor(given, distance);
    }
    return (upper ? half : 0) + sumOverLanes<half, distance / 2, smallest>(values, lane, spare);
  } else {
#pragma unroll
    for (int index = 0; index < count; ++index)
      values[index] += shuffleXor(values[index], distance);
    spare |= (lane & distance) != 0;
    return sumOverLanes<count, distance / 2, smallest>(values, lane, spare);
  }
}

// How many values sumOverLanes leaves in a lane.
DEVICE constexpr int valuesLeft(int count, int distance, int smallest) {
  for (; distance >= smallest; distance /= 2)
    if (count % 2 == 0)
      count /= 2;
  return count;
}

template <int vector, class T> DEVICE Vec<T, vector> loadWeights(const T *address) {
  if constexpr (vector == 16 / sizeof(T))
    return loadOnce(address);
  else
    return Vec<T, vector>{{load(address)}};
}

// `vector` staged activations; several accesses where they take more than 16 bytes.
template <int vector, class S, class C>
DEVICE void loadActivations(C (&values)[vector], const S *address) {
  constexpr int most = 16 / static_cast<int>(sizeof(S));
  constexpr int step = vector < most ? vector : most;
#pragma unroll
  for (int start = 0; start < vector; start += step) {
    Vec<S, step> part = load<step>(address + start);
#pragma unroll
    for (int index = 0; index < step; ++index)
      values[start + index] = convert<C>(part.lane[index]);
  }
}

// Weights with the depth contiguous, or strided: a warp takes `warpColumns` columns and a slice of
// the depth, its lanes lie side by side along it. Writes its sums to partial[slice][row][column].
template <class Shape, Layout layout, class S, class T, int runs, int width>
DEVICE void sumAlongDepth(Threads threads, Compute<T> *partial, const S *activations, int pitch,
                          const Side<T, runs, width> &weights, int depth) {
  using C = Compute<T>;
  constexpr int columns = Shape::warpColumns;
  constexpr int count = columns * Shape::rows;
  constexpr int unrolled = Shape::rows <= 4 ? 4 : 2;
  constexpr int lanesDepth = 32 * Shape::vector;
  constexpr int step = lanesDepth * Shape::slices;
  int lane = threads.index % 32;
  int warp = threads.index / 32;
  int slice = warp % Shape::slices;
#pragma unroll 1
  for (int group = warp / Shape::slices; group < Shape::columnGroups;
       group += Shape::warps / Shape::slices) {
    Run<T> runOf[columns];
#pragma unroll
    for (int column = 0; column < columns; ++column) {
      runOf[column] = weights.at(group * columns + column);
      // Columns past the end repeat the last one; nobody stores them.
      if (runOf[column].first >= runOf[column].end)
        runOf[column].first = runOf[column].end - 1;
    }
    C sums[count] = {};
#pragma unroll 1
    for (int from = slice * lanesDepth + lane * Shape::vector; from < depth;
         from += step * unrolled) {
      Vec<T, Shape::vector> loaded[unrolled][columns];
#pragma unroll
      for (int u = 0; u < unrolled; ++u)
        if (from + u * step < depth)
#pragma unroll
          for (int column = 0; column < columns; ++column)
            loaded[u][column] = loadWeights<Shape::vector>(
                runOf[column].template address<layout>(runOf[column].first, from + u * step));
#pragma unroll
      for (int u = 0; u < unrolled; ++u)
        if (from + u * step < depth)
#pragma unroll
          for (int row = 0; row < Shape::rows; ++row) {
            C values[Shape::vector];
            loadActivations(values, activations + row * pitch + from + u * step);
#pragma unroll
            for (int column = 0; column < columns; ++column)
#pragma unroll
              for (int index = 0; index < Shape::vector; ++index)
                sums[row * columns + column] +=
                    values[index] * convert<C>(loaded[u][column].lane[index]);
          }
    }
    bool spare = false;
    int first = sumOverLanes<count, 16, 1>(sums, lane, spare);
    if (!spare)
#pragma unroll
      for (int index = 0; index < valuesLeft(count, 16, 1); ++index) {
        int value = first + index;
        store(partial + (slice * Shape::rows + value / columns) * Shape::columns + group * columns +
                  value % columns,
              sums[index]);
      }
  }
}

// Weights with the columns contiguous: a thread takes `vector` columns and every so many steps of
// the depth. Writes the sums of each warp to partial[warp][row][column].
template <class Shape, class S, class T, int runs, int width>
DEVICE void sumAcrossDepth(Threads threads, Compute<T> *partial, const S *activations, int pitch,
                           const Side<T, runs, width> &weights, int depth) {
  using C = Compute<T>;
  constexpr int vector = Shape::vector;
  constexpr int groups = Shape::columns / vector;
  static_assert(groups <= 32 && (groups & (groups - 1)) == 0);
  constexpr int count = vector * Shape::rows;
  constexpr int unrolled = Shape::rows <= 4 ? 8 : 2;
  constexpr int step = Shape::threads / groups;
  int lane = threads.index % 32;
  int group = threads.index % groups;
  Run<T> run = weights.at(group * vector);
  int outer = run.first < run.end ? run.first : run.end - vector;
  C sums[count] = {};
#pragma unroll 1
  for (int from = threads.index / groups; from < depth; from += step * unrolled) {
    Vec<T, vector> loaded[unrolled];
#pragma unroll
    for (int u = 0; u < unrolled; ++u)
      if (from + u * step < depth)
        loaded[u] = loadWeights<vector>(
            run.template address<Layout::outerContiguous>(outer, from + u * step));
#pragma unroll
    for (int u = 0; u < unrolled; ++u)
      if (from + u * step < depth)
#pragma unroll
        for (int row = 0; row < Shape::rows; ++row) {
          C value = convert<C>(load(activations + row * pitch + from + u * step));
#pragma unroll
          for (int index = 0; index < vector; ++index)
            sums[row * vector + index] += value * convert<C>(loaded[u].lane[index]);
        }
  }
  bool spare = false;
  int first = sumOverLanes<count, 16, groups>(sums, lane, spare);
  if (!spare)
#pragma unroll
    for (int index = 0; index < valuesLeft(count, 16, groups); ++index) {
      int value = first + index;
      store(partial + (threads.index / 32 * Shape::rows + value / vector) * Shape::columns +
                group * vector + value % vector,
            sums[index]);
    }
}

// Computes `columns` columns for all rows and leaves them in shared memory; all threads may read
// them on return. `shared` holds Shape::sharedBytes. activations[row * pitch + k] are staged in
// shared memory, visible to all threads, rows aligned to 16 bytes. With vector > 1 the contiguous
// index of the weights is a multiple of it in `stride`, depth and `end`, and 16 bytes aligned.
template <class Shape, Layout layout, class S, class T, int runs, int width, class Sync>
DEVICE Accumulators<Compute<T>> matmulSkinny(Threads threads, char *shared, const S *activations,
                                             int pitch, const Side<T, runs, width> &weights,
                                             int depth, Sync sync) {
  static_assert(Side<T, runs, width>::size == Shape::columns);
  using C = Compute<T>;
  constexpr int elements = Shape::rows * Shape::columns;
  C *sums = reinterpret_cast<C *>(shared);
  C *partial = sums + elements;
  constexpr bool deep = layout != Layout::outerContiguous;
  if constexpr (deep)
    sumAlongDepth<Shape, layout>(threads, partial, activations, pitch, weights, depth);
  else
    sumAcrossDepth<Shape>(threads, partial, activations, pitch, weights, depth);
  sync();
#pragma unroll 1
  for (int index = threads.index; index < elements; index += threads.count) {
    C sum = 0;
#pragma unroll
    for (int part = 0; part < (deep ? Shape::slices : Shape::warps); ++part)
      sum += load(partial + part * elements + index);
    store(sums + index, sum);
  }
  sync();
  return {sums, Shape::columns};
}

} // namespace warploom
