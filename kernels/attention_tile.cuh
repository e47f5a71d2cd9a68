// Attention of many queries on the matrix units: a tile of queries walks over tiles of keys with an
// online softmax, in the manner of FlashAttention-2 (Dao, 2023, algorithm 1). Scores and sums are
// f32; the weights are rounded to T for their product with the values.
#pragma once

#include "kernels/attention.cuh"

namespace warploom {

template <int headDim_> struct AttentionTileShape {
  static constexpr int headDim = headDim_;
  static constexpr int queries = 64;
  static constexpr int keys = 64;
  static constexpr int warps = 4; // 16 queries each
  static constexpr int threads = warps * 32;
  static constexpr int pitch = headDim + 8; // elements; keeps rows of 16 bytes in distinct banks
  static constexpr int outputPitch = headDim + 4;
  static constexpr int tileBytes = keys * pitch * 2;
  // The queries, and two stages of keys and values; the output takes their place at the end.
  static constexpr int stagedBytes = 5 * tileBytes;
  static constexpr int outputBytes = queries * outputPitch * 4;
  static constexpr int sharedBytes = stagedBytes > outputBytes ? stagedBytes : outputBytes;
};

// Copies `count` rows of the head from `first` on; rows at `end` and beyond become zero.
template <class Shape, class T>
DEVICE void copyRows(Threads threads, T *staged, HeadRows<T> rows, int first, int end, int count) {
  constexpr int pieces = Shape::headDim / 8;
#pragma unroll 4
  for (int index = threads.index; index < count * pieces; index += threads.count) {
    int row = index / pieces, piece = index % pieces;
    bool valid = first + row < end;
    const T *source = rows.data + (valid ? (first + row) * rows.stride + piece * 8 : 0);
    copyAsync16(staged + row * Shape::pitch + piece * 8, source, valid);
  }
}

// The output of queries [firstQuery, firstQuery + 64) of one head; all threads may read it on
// return. Rows past the last query are not meaningful. Strides and data are aligned to 16 bytes.
template <class Shape, class T, class Mask, class Sync>
DEVICE AttentionOutput<float> attentionTile(Threads threads, char *shared, int head, int firstQuery,
                                            HeadRows<T> queries, HeadRows<T> keys,
                                            HeadRows<T> values, Visibility visibility, float scale,
                                            Mask mask, Sync sync) {
  constexpr int headDim = Shape::headDim;
  constexpr int steps = headDim / 16;        // of the matrix unit along the head
  constexpr int keyBlocks = Shape::keys / 8; // columns of scores
  constexpr int valueBlocks = headDim / 8;   // columns of the output
  T *stagedQueries = reinterpret_cast<T *>(shared);
  T *stagedKeys = stagedQueries + Shape::queries * Shape::pitch;
  T *stagedValues = stagedKeys + 2 * Shape::keys * Shape::pitch;
  int lane = threads.index % 32, warp = threads.index / 32;
  int lastQuery = firstQuery + Shape::queries - 1;
  if (lastQuery >= visibility.queries)
    lastQuery = visibility.queries - 1;
  int end = visibility.end(lastQuery);
  int tiles = (end + Shape::keys - 1) / Shape::keys;

  auto stage = [&](int tile) {
    int first = tile * Shape::keys, place = tile % 2 * Shape::keys * Shape::pitch;
    copyRows<Shape>(threads, stagedKeys + place, keys, first, visibility.valid, Shape::keys);
    copyRows<Shape>(threads, stagedValues + place, values, first, visibility.valid, Shape::keys);
  };
  copyRows<Shape>(threads, stagedQueries, queries, firstQuery, visibility.queries, Shape::queries);
  if (tiles > 0)
    stage(0);
  commitCopies();
  waitCopies<0>();
  sync();

  uint32_t query[steps][4];
#pragma unroll
  for (int step = 0; step < steps; ++step)
    loadMatrices(query[step], stagedQueries + (warp * 16 + lane % 16) * Shape::pitch + step * 16 +
                                  lane / 16 * 8);
  float output[valueBlocks][4] = {};
  // A lane holds scores of two rows: lane / 4, and 8 below it.
  float largest[2] = {lowest<float>(), lowest<float>()}, sum[2] = {};
  int row = firstQuery + warp * 16 + lane / 4;

#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile + 1 < tiles)
      stage(tile + 1);
    commitCopies();
    const T *tileKeys = stagedKeys + tile % 2 * Shape::keys * Shape::pitch;
    const T *tileValues = stagedValues + tile % 2 * Shape::keys * Shape::pitch;

    float score[keyBlocks][4] = {};
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int pair = 0; pair < keyBlocks / 2; ++pair) {
        uint32_t key[4];
        loadMatrices(key, tileKeys + (pair * 16 + lane / 16 * 8 + lane % 8) * Shape::pitch +
                              step * 16 + lane / 8 % 2 * 8);
        multiplyAccumulate(score[2 * pair], query[step], key[0], key[1], T());
        multiplyAccumulate(score[2 * pair + 1], query[step], key[2], key[3], T());
      }

    float top[2] = {largest[0], largest[1]};
#pragma unroll
    for (int block = 0; block < keyBlocks; ++block)
#pragma unroll
      for (int index = 0; index < 4; ++index) {
        int at = tile * Shape::keys + block * 8 + lane % 4 * 2 + index % 2;
        int asking = row + index / 2 * 8;
        float &value = score[block][index];
        bool seen = asking < visibility.queries && visibility.sees(asking, at);
        value = seen ? value * scale + mask(head, asking, at) : lowest<float>();
        top[index / 2] = largerScore(top[index / 2], value);
      }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      top[half] = largerScore(top[half], shuffleXor(top[half], 1));
      top[half] = largerScore(top[half], shuffleXor(top[half], 2));
      float shrink = powerBelow(largest[half], top[half]);
      largest[half] = top[half];
      sum[half] *= shrink;
#pragma unroll
      for (int block = 0; block < valueBlocks; ++block) {
        output[block][2 * half] *= shrink;
        output[block][2 * half + 1] *= shrink;
      }
    }
#pragma unroll
    for (int block = 0; block < keyBlocks; ++block)
#pragma unroll
      for (int index = 0; index < 4; ++index) {
        score[block][index] = powerBelow(score[block][index], largest[index / 2]);
        sum[index / 2] += score[block][index];
      }

#pragma unroll
    for (int step = 0; step < Shape::keys / 16; ++step) {
      // The accumulator layout of two blocks of scores is the operand layout of their weights.
      uint32_t weight[4] = {packPair(score[2 * step][0], score[2 * step][1], T()),
                            packPair(score[2 * step][2], score[2 * step][3], T()),
                            packPair(score[2 * step + 1][0], score[2 * step + 1][1], T()),
                            packPair(score[2 * step + 1][2], score[2 * step + 1][3], T())};
#pragma unroll
      for (int pair = 0; pair < valueBlocks / 2; ++pair) {
        uint32_t value[4];
        loadMatricesTransposed(value, tileValues + (step * 16 + lane % 16) * Shape::pitch +
                                          pair * 16 + lane / 16 * 8);
        multiplyAccumulate(output[2 * pair], weight, value[0], value[1], T());
        multiplyAccumulate(output[2 * pair + 1], weight, value[2], value[3], T());
      }
    }
    waitCopies<0>();
    sync();
  }

  float *result = reinterpret_cast<float *>(shared);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    sum[half] += shuffleXor(sum[half], 1);
    sum[half] += shuffleXor(sum[half], 2);
    float factor = 1.0f / sum[half];
    bool sawNothing = sum[half] == 0.0f;
    float *line = result + (warp * 16 + lane / 4 + half * 8) * Shape::outputPitch;
#pragma unroll
    for (int block = 0; block < valueBlocks; ++block) {
      float left = output[block][2 * half] * factor, right = output[block][2 * half + 1] * factor;
      store(line + block * 8 + lane % 4 * 2, sawNothing ? 0.0f : left);
      store(line + block * 8 + lane % 4 * 2 + 1, sawNothing ? 0.0f : right);
    }
  }
  sync();
  return {result, Shape::outputPitch};
}

} // namespace warploom
