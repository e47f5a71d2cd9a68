// Attention of a few query rows that share keys and values: decode, and any type without matrix
// units. Keys and values are streamed once for all rows; the lanes of a warp share out the head,
// its groups of lanes the keys.
#pragma once

#include "kernels/attention.cuh"

namespace warploom {

template <class T, int headDim_, int rows_, int vector_> struct AttentionRowsShape {
  using C = Compute<T>;
  static constexpr int headDim = headDim_;
  static constexpr int rows = rows_;
  static constexpr int vector = vector_; // elements per load
  static constexpr int threads = 128;
  static constexpr int pieces = (headDim + vector - 1) / vector;
  static constexpr int lanes = pieces > 16  ? 32
                               : pieces > 8 ? 16
                               : pieces > 4 ? 8
                               : pieces > 2 ? 4
                               : pieces > 1 ? 2
                                            : 1;
  static constexpr int chunks = (pieces + lanes - 1) / lanes; // of `vector` elements per lane
  static constexpr int perLane = chunks * vector;
  static constexpr int groups = threads / lanes; // each looks at one key at a time
  static constexpr int unrolled = rows * perLane <= 32 ? 4 : 2;
  // A group's largest score, sum, and weighted values of one row.
  static constexpr int partElements = headDim + 2;
  static constexpr int sharedElements = groups * rows * partElements + rows * headDim + 4;
  static constexpr int sharedBytes = sharedElements * static_cast<int>(sizeof(C));
};

// Loads this lane's elements of a row of the head; zeros where !valid or past the head.
template <class Shape, class T>
DEVICE void loadHead(Compute<T> (&out)[Shape::perLane], const T *row, int lane, bool valid) {
#pragma unroll
  for (int chunk = 0; chunk < Shape::chunks; ++chunk) {
    int d = (chunk * Shape::lanes + lane) * Shape::vector;
    Vec<T, Shape::vector> part = {};
    if (valid && d < Shape::headDim)
      part = load<Shape::vector>(row + d);
#pragma unroll
    for (int index = 0; index < Shape::vector; ++index)
      out[chunk * Shape::vector + index] = convert<Compute<T>>(part.lane[index]);
  }
}

// Attends to keys [first, last) and leaves, for each row, the largest score, the sum and the
// weighted values over them in part[row * partElements ...]; all threads may read them on return.
// `place(row)` gives .head, .query and .data (the query's elements, null for a row that does not
// exist).
template <class Shape, class T, class Place, class Mask, class Sync>
DEVICE Compute<T> *attendToKeys(Threads threads, char *shared, Place place, HeadRows<T> keys,
                                HeadRows<T> values, int first, int last, Visibility visibility,
                                Compute<T> scale, Mask mask, Sync sync) {
  using C = Compute<T>;
  constexpr int rows = Shape::rows, perLane = Shape::perLane;
  int lane = threads.index % Shape::lanes;
  int group = threads.index / Shape::lanes;
  C query[rows][perLane], mix[rows][perLane] = {}, largest[rows], sum[rows];
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    auto where = place(row);
    loadHead<Shape>(query[row], where.data, lane, where.data != nullptr);
    largest[row] = lowest<C>();
    sum[row] = 0;
  }
#pragma unroll 1
  for (int start = first; start < last; start += Shape::groups * Shape::unrolled) {
    C key[perLane], score[Shape::unrolled][rows];
#pragma unroll
    for (int u = 0; u < Shape::unrolled; ++u) {
      int at = start + u * Shape::groups + group;
      loadHead<Shape>(key, keys.data + at * keys.stride, lane, at < last);
#pragma unroll
      for (int row = 0; row < rows; ++row) {
        C product = 0;
#pragma unroll
        for (int index = 0; index < perLane; ++index)
          product += query[row][index] * key[index];
#pragma unroll
        for (int distance = Shape::lanes / 2; distance > 0; distance /= 2)
          product += shuffleXor(product, distance);
        auto where = place(row);
        bool seen = at < last && where.data != nullptr && visibility.sees(where.query, at);
        score[u][row] = seen ? product * scale + mask(where.head, where.query, at) : lowest<C>();
      }
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
      C top = largest[row];
#pragma unroll
      for (int u = 0; u < Shape::unrolled; ++u)
        top = largerScore(top, score[u][row]);
      C shrink = powerBelow(largest[row], top);
      largest[row] = top;
      sum[row] *= shrink;
#pragma unroll
      for (int index = 0; index < perLane; ++index)
        mix[row][index] *= shrink;
#pragma unroll
      for (int u = 0; u < Shape::unrolled; ++u) {
        score[u][row] = powerBelow(score[u][row], top);
        sum[row] += score[u][row];
      }
    }
#pragma unroll
    for (int u = 0; u < Shape::unrolled; ++u) {
      int at = start + u * Shape::groups + group;
      C value[perLane];
      loadHead<Shape>(value, values.data + at * values.stride, lane, at < last);
#pragma unroll
      for (int row = 0; row < rows; ++row)
#pragma unroll
        for (int index = 0; index < perLane; ++index)
          mix[row][index] += score[u][row] * value[index];
    }
  }
  // Groups leave their parts; one thread for each element adds them in order.
  C *parts = reinterpret_cast<C *>(shared);
#pragma unroll
  for (int row = 0; row < rows; ++row) {
    C *part = parts + (group * rows + row) * Shape::partElements;
    if (lane == 0) {
      store(part, largest[row]);
      store(part + 1, sum[row]);
    }
#pragma unroll
    for (int index = 0; index < perLane; ++index) {
      int d = (index / Shape::vector * Shape::lanes + lane) * Shape::vector + index % Shape::vector;
      if (d < Shape::headDim)
        store(part + 2 + d, mix[row][index]);
    }
  }
  sync();
  return parts;
}

// Adds `count` parts of one row, `stride` elements apart, of which `fetch` reads an element.
template <class C, class Fetch>
DEVICE C addParts(int count, int element, Fetch fetch, C &largest, C &sum) {
  largest = lowest<C>();
#pragma unroll 4
  for (int part = 0; part < count; ++part)
    largest = largerScore(largest, fetch(part, 0));
  C mix = 0;
  sum = 0;
#pragma unroll 4
  for (int part = 0; part < count; ++part) {
    C weight = powerBelow(fetch(part, 0), largest);
    sum += weight * fetch(part, 1);
    mix += weight * fetch(part, 2 + element);
  }
  return mix;
}

// What a row's mix and sum give: 0 where nothing was seen.
template <class C> DEVICE C normalized(C mix, C sum) {
  return sum == C(0) ? C(0) : mix / sum;
}

// All rows over keys [first, last). With splits > 1 this is one of that many parts: parts meet in
// `scratch` (splits * rows * partElements for this head), and the last block to come, by `counter`,
// adds them in their order and leaves the counter at zero. Returns whether `output` holds the
// result.
template <class Shape, class T, class Place, class Mask, class Sync>
DEVICE bool attentionRows(Threads threads, char *shared, Place place, HeadRows<T> keys,
                          HeadRows<T> values, int first, int last, Visibility visibility,
                          Compute<T> scale, Mask mask, int split, int splits, Compute<T> *scratch,
                          uint32_t *counter, AttentionOutput<Compute<T>> &output, Sync sync) {
  using C = Compute<T>;
  constexpr int rows = Shape::rows, headDim = Shape::headDim, size = Shape::partElements;
  C *parts = attendToKeys<Shape>(threads, shared, place, keys, values, first, last, visibility,
                                 scale, mask, sync);
  output = {parts + Shape::groups * rows * size, headDim};
  auto own = [&](int row) {
    return
        [=](int part, int element) { return load(parts + (part * rows + row) * size + element); };
  };
#pragma unroll 1
  for (int index = threads.index; index < rows * headDim; index += threads.count) {
    int row = index / headDim, d = index % headDim;
    C largest, sum;
    C mix = addParts(Shape::groups, d, own(row), largest, sum);
    if (splits == 1) {
      store(output.data + index, normalized(mix, sum));
      continue;
    }
    C *part = scratch + (split * rows + row) * size;
    store(part + 2 + d, mix);
    if (d == 0) {
      store(part, largest);
      store(part + 1, sum);
    }
  }
  sync();
  if (splits == 1)
    return true;
  C *flag = output.data + rows * headDim;
  if (threads.index == 0)
    store(flag, static_cast<C>(incrementCounter(counter) == static_cast<uint32_t>(splits - 1)));
  sync();
  if (load(flag) == C(0))
    return false;
#pragma unroll 1
  for (int index = threads.index; index < rows * headDim; index += threads.count) {
    int row = index / headDim, d = index % headDim;
    auto fetch = [&](int part, int element) {
      return loadFresh(scratch + (part * rows + row) * size + element);
    };
    C largest, sum;
    C mix = addParts(splits, d, fetch, largest, sum);
    store(output.data + index, normalized(mix, sum));
  }
  if (threads.index == 0)
    store(counter, uint32_t(0));
  sync();
  return true;
}

} // namespace warploom
