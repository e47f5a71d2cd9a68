#include "ir/interpret_ops.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ThreadPool.h"

#include <cmath>

namespace warploom {

void parallelFor(int64_t count, unsigned threads, llvm::function_ref<void(int64_t)> body) {
  llvm::ThreadPoolStrategy strategy = llvm::hardware_concurrency(threads);
  if (count < 2 || strategy.compute_thread_count() == 1) {
    for (int64_t i = 0; i < count; ++i)
      body(i);
    return;
  }
  llvm::DefaultThreadPool pool(strategy);
  // Several pieces a worker even out rows of unequal cost.
  int64_t pieces = std::min<int64_t>(count, 8 * strategy.compute_thread_count());
  for (int64_t piece = 0; piece < pieces; ++piece)
    pool.async([=] {
      for (int64_t i = count * piece / pieces; i < count * (piece + 1) / pieces; ++i)
        body(i);
    });
  pool.wait();
}

void evaluateMatmul(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                    WideTensor &result, unsigned threads) {
  const WideTensor &a = *operands[0], &b = *operands[1];
  bool transposeA = node.attributes.boolean("transpose_a", false);
  bool transposeB = node.attributes.boolean("transpose_b", false);
  size_t rank = result.dims.size();
  int64_t rows = result.dims[rank - 2], columns = result.dims[rank - 1];
  int64_t depth = a.dims[a.dims.size() - (transposeA ? 2 : 1)];
  Shape batch(result.dims.begin(), result.dims.end() - 2);
  Shape batchA(a.dims.begin(), a.dims.end() - 2), batchB(b.dims.begin(), b.dims.end() - 2);
  struct Product {
    const double *a, *b;
    double *c;
  };
  std::vector<Product> products;
  BroadcastWalk walk(batch, {batchA, batchB});
  for (int64_t i = 0; i < elementCount(batch); ++i, walk.next())
    products.push_back({a.reals.data() + walk.position(0) * rows * depth,
                        b.reals.data() + walk.position(1) * depth * columns,
                        result.reals.data() + i * rows * columns});
  // Row by row: a row of the result stays in cache while the rows of b stream past.
  constexpr int64_t kColumns = 512;
  int64_t blocks = (columns + kColumns - 1) / kColumns;
  parallelFor(int64_t(products.size()) * blocks, threads, [&](int64_t task) {
    const Product &product = products[task / blocks];
    int64_t first = task % blocks * kColumns, last = std::min(columns, first + kColumns);
    for (int64_t row = 0; row < rows; ++row) {
      double *out = product.c + row * columns;
      auto left = [&](int64_t k) {
        return transposeA ? product.a[k * rows + row] : product.a[row * depth + k];
      };
      if (transposeB) {
        for (int64_t column = first; column < last; ++column) {
          const double *right = product.b + column * depth;
          double sums[4] = {};
          int64_t k = 0;
          for (; k + 4 <= depth; k += 4)
            for (int lane = 0; lane < 4; ++lane)
              sums[lane] += left(k + lane) * right[k + lane];
          double sum = sums[0] + sums[1] + sums[2] + sums[3];
          for (; k < depth; ++k)
            sum += left(k) * right[k];
          out[column] = sum;
        }
      } else {
        std::fill(out + first, out + last, 0.0);
        for (int64_t k = 0; k < depth; ++k) {
          double factor = left(k);
          const double *right = product.b + k * columns;
          for (int64_t column = first; column < last; ++column)
            out[column] += factor * right[column];
        }
      }
    }
  });
}

namespace {

// One query row: the scores of its keys, their softmax, and the mix of values. A row whose scores
// are all -infinity gives 0; a NaN score makes the row NaN; a value of weight 0 adds nothing.
void attendRow(llvm::MutableArrayRef<double> scores, const double *values, int64_t headDim,
               double *out) {
  double largest = -INFINITY;
  bool hasNaN = false;
  for (double score : scores) {
    hasNaN |= std::isnan(score);
    largest = std::max(largest, score);
  }
  std::fill(out, out + headDim, hasNaN ? NAN : 0.0);
  if (hasNaN || largest == -INFINITY)
    return;
  double sum = 0;
  for (double &score : scores)
    sum += score = std::exp(score - largest);
  for (size_t key = 0; key < scores.size(); ++key)
    if (scores[key] != 0)
      for (int64_t d = 0; d < headDim; ++d)
        out[d] += scores[key] / sum * values[key * headDim + d];
}

} // namespace

void evaluateAttention(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                       WideTensor &result, unsigned threads) {
  const WideTensor &q = *operands[0], &k = *operands[1], &v = *operands[2];
  int64_t heads = q.dims[1], queries = q.dims[2], headDim = q.dims[3];
  int64_t kvHeads = k.dims[1], keys = k.dims[2];
  double scale = node.attributes.real("scale", 1 / std::sqrt(double(headDim)));
  bool causal = node.attributes.boolean("causal", false);
  const WideTensor *mask = nullptr, *lengths = nullptr;
  for (const auto &[index, label] : llvm::enumerate(node.labels))
    (label == "mask" ? mask : lengths) = operands[3 + index];
  // Positions of the mask's element at [b, h, q, k], 0 along broadcast dims.
  Shape scoreShape = {q.dims[0], heads, queries, keys};
  Shape maskStrides(4, 0);
  if (mask) {
    Shape own = contiguousStrides(Shape(mask->dims));
    size_t lead = 4 - mask->dims.size();
    for (size_t i = 0; i < mask->dims.size(); ++i)
      maskStrides[lead + i] = mask->dims[i] == 1 ? 0 : own[i];
  }
  parallelFor(q.dims[0] * heads * queries, threads, [&](int64_t row) {
    int64_t query = row % queries, head = row / queries % heads, batch = row / queries / heads;
    int64_t kvHead = batch * kvHeads + head / (heads / kvHeads);
    int64_t valid = lengths ? std::clamp<int64_t>(lengths->integers[batch], 0, keys) : keys;
    std::vector<double> scores(keys);
    for (int64_t key = 0; key < keys; ++key) {
      double sum = 0;
      for (int64_t d = 0; d < headDim; ++d)
        sum += q.reals[row * headDim + d] * k.reals[(kvHead * keys + key) * headDim + d];
      double score = sum * scale;
      // Aligned to the end of the valid keys: the last query sees all of them.
      bool visible = key < valid && (!causal || key <= query + valid - queries);
      if (mask) {
        int64_t place = batch * maskStrides[0] + head * maskStrides[1] + query * maskStrides[2] +
                        key * maskStrides[3];
        // A false mask is added as -infinity, so that a NaN score stays.
        if (mask->dtype == DType::i1)
          score += mask->integers[place] ? 0.0 : -INFINITY;
        else
          score += mask->reals[place];
      }
      scores[key] = visible ? score : -INFINITY;
    }
    attendRow(scores, v.reals.data() + kvHead * keys * headDim, headDim,
              result.reals.data() + row * headDim);
  });
}

} // namespace warploom
