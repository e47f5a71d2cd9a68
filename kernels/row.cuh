// Reductions over the threads that share a row.
#pragma once

#include "kernels/tile.cuh"

namespace warploom {

// What reductions start from and how they combine; both NaN-propagating where the op is.
struct SumOf {
  template <class T> DEVICE static T identity() { return T(0); }
  template <class T> DEVICE static T combine(T a, T b) { return scalar::add(a, b); }
};
struct ProductOf {
  template <class T> DEVICE static T identity() { return T(1); }
  template <class T> DEVICE static T combine(T a, T b) { return scalar::multiply(a, b); }
};
struct MaximumOf {
  template <class T> DEVICE static T identity() { return lowest<T>(); }
  template <class T> DEVICE static T combine(T a, T b) { return scalar::maximum(a, b); }
};
struct MinimumOf {
  template <class T> DEVICE static T identity() { return highest<T>(); }
  template <class T> DEVICE static T combine(T a, T b) { return scalar::minimum(a, b); }
};

// A shuffle of types narrower than 4 bytes goes through an int.
template <class T> DEVICE T shuffleXorAny(T value, int mask) {
  if constexpr (sizeof(T) >= 4)
    return shuffleXor(value, mask);
  else
    return static_cast<T>(shuffleXor(static_cast<int>(value), mask));
}

// The combination of `value` over the `threadsPerRow` threads of a row (a power of two), known to
// all of them. Up to 32 threads are lanes side by side of one warp; more are the whole team, which
// meets once: each warp leaves its part in a slot of `scratch`, and every warp combines the slots.
// Calls in a row must alternate between two scratch areas of 32 slots, so that a fast warp cannot
// overwrite what a slow one still reads.
template <class Combine, int threadsPerRow, class T, class Sync>
DEVICE T reduceRow(T value, Threads threads, T *scratch, Sync sync) {
  constexpr int lanes = threadsPerRow < 32 ? threadsPerRow : 32;
#pragma unroll
  for (int mask = lanes / 2; mask > 0; mask /= 2)
    value = Combine::combine(value, shuffleXorAny(value, mask));
  if constexpr (threadsPerRow > 32) {
    constexpr int warps = threadsPerRow / 32;
    if (threads.index % 32 == 0)
      store(scratch + threads.index / 32, value);
    sync();
    value = threads.index % 32 < warps ? load(scratch + threads.index % 32)
                                       : Combine::template identity<T>();
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2)
      value = Combine::combine(value, shuffleXorAny(value, mask));
  }
  return value;
}

// Chunks of a row that are cut at its ends: `column` is the chunk's first, below 0 in front of the
// row of `columns` elements. What is known at compile time to be whole costs no test.
template <class Column, class Columns> DEVICE bool isOutside(Column column, Columns columns) {
  return column < 0 || column >= columns;
}
template <int width, class Column, class Columns>
DEVICE bool isWholeChunk(Column column, Columns columns) {
  return column >= 0 && column + width <= columns;
}
template <int width, class T, class Column, class Columns>
DEVICE Vec<T, width> loadInside(const T *address, Column column, Columns columns, bool isWhole) {
  if (isWhole)
    return load<width>(address);
  Vec<T, width> chunk = {};
#pragma unroll
  for (int lane = 0; lane < width; ++lane)
    if (!isOutside(column + lane, columns))
      chunk.lane[lane] = load(address + lane);
  return chunk;
}
template <class T, int width, class Column, class Columns>
DEVICE void storeInside(T *address, const Vec<T, width> &chunk, Column column, Columns columns,
                        bool isWhole) {
  if (isWhole)
    return store(address, chunk);
#pragma unroll
  for (int lane = 0; lane < width; ++lane)
    if (!isOutside(column + lane, columns))
      store(address + lane, chunk.lane[lane]);
}

} // namespace warploom
