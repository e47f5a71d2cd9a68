// What the attention bodies share: operands in memory, what a query may see, and softmax in powers
// of two.
#pragma once

#include "kernels/tile.cuh"

namespace warploom {

// The rows of one head: element (row, d) at data[row * stride + d].
template <class T> struct HeadRows {
  const T *data;
  int64_t stride;
};

// Which keys a query sees: those below `valid`, and with `causal` none behind the query, where the
// last of `queries` stands at the last valid key.
struct Visibility {
  int queries;
  int valid;
  bool causal;

  DEVICE bool sees(int query, int key) const {
    return key < valid && (!causal || key <= query + valid - queries);
  }
  // One more than the last key that any query up to `query` sees.
  DEVICE int end(int query) const {
    int last = causal ? query + 1 + valid - queries : valid;
    return last < valid ? (last > 0 ? last : 0) : valid;
  }
};

// The mask of attention without one.
struct NoMask {
  DEVICE float operator()(int, int, int) const { return 0.0f; }
};

// exp(score - largest), where a row that has seen nothing (largest is -infinity) gives 0. The
// difference is taken first: the lowest finite number, which is a usual mask, times log2(e) would
// be -infinity.
template <class C> DEVICE C powerBelow(C score, C largest) {
  constexpr C log2OfE = C(1.4426950408889634074);
  return scalar::exp2((score - (largest == lowest<C>() ? C(0) : largest)) * log2OfE);
}

// The larger one; a NaN score does not become the largest, it makes the row's sum NaN instead.
template <class C> DEVICE C largerScore(C a, C b) {
  return b > a ? b : a;
}

// Outputs in shared memory, row-major; what an epilogue reads.
template <class C> struct AttentionOutput {
  C *data;
  int pitch;
  DEVICE C at(int row, int d) const { return load(data + row * pitch + d); }
};

} // namespace warploom
