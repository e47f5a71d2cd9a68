#include "kernels/row.cuh"

// group 0, row
//   %weights_max = reduce_max(%scores) {axes = [1], keepdims = true} : f32[16, 1] group 0
//   %weights_shifted = sub(%scores, %weights_max) : f32[16, 50257] group 0
//   %weights_exp = exp(%weights_shifted) : f32[16, 50257] group 0
//   %weights_sum = reduce_sum(%weights_exp) {axes = [1], keepdims = true} : f32[16, 1] group 0
//   %weights_scale = reciprocal(%weights_sum) : f32[16, 1] group 0
//   %weights = mul(%weights_exp, %weights_scale) : f32[16, 50257] group 0
using namespace warploom;

extern "C" __global__ void __launch_bounds__(512, 1)
reduce_max_reduce_sum_sub_exp_reciprocal_c46d8601(
    const float *__restrict__ scores,
    float *__restrict__ weights) {
  const Threads threads = {threadIndex(), 512};
  const BlockSync sync;
  char *scratch = sharedMemory();
  const int thread = threads.index;
  const int row = blockIndex();
  const int shift = ((row * 50257) % 4);
  float weights_max_partial = MaximumOf::identity<float>();
  for (int column = thread * 4 - shift; column < 50257; column += 2048) {
    const bool is_whole = isWholeChunk<4>(column, 50257);
    const Vec<float, 4> scores_chunk = loadInside<4>(scores + (column + row * 50257), column, 50257, is_whole);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      if (!is_whole && isOutside(column + lane, 50257))
        continue;
      weights_max_partial = MaximumOf::combine(weights_max_partial, scores_chunk.lane[lane]);
    }
  }
  const float weights_max = reduceRow<MaximumOf, 512>(weights_max_partial, threads, reinterpret_cast<float *>(scratch + 0), sync);
  float weights_sum_partial = SumOf::identity<float>();
  for (int column = thread * 4 - shift; column < 50257; column += 2048) {
    const bool is_whole = isWholeChunk<4>(column, 50257);
    const Vec<float, 4> scores_chunk_1 = loadInside<4>(scores + (column + row * 50257), column, 50257, is_whole);
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      if (!is_whole && isOutside(column + lane, 50257))
        continue;
      const float weights_shifted = op_sub<float>(scores_chunk_1.lane[lane], weights_max);
      const float weights_exp = op_exp<float>(weights_shifted);
      weights_sum_partial = SumOf::combine(weights_sum_partial, weights_exp);
    }
  }
  const float weights_sum = reduceRow<SumOf, 512>(weights_sum_partial, threads, reinterpret_cast<float *>(scratch + 256), sync);
  for (int column = thread * 4 - shift; column < 50257; column += 2048) {
    const bool is_whole = isWholeChunk<4>(column, 50257);
    const Vec<float, 4> scores_chunk_2 = loadInside<4>(scores + (column + row * 50257), column, 50257, is_whole);
    const float weights_scale = op_reciprocal<float>(weights_sum);
    Vec<float, 4> weights_out;
    #pragma unroll
    for (int lane = 0; lane < 4; ++lane) {
      if (!is_whole && isOutside(column + lane, 50257))
        continue;
      const float weights_shifted_1 = op_sub<float>(scores_chunk_2.lane[lane], weights_max);
      const float weights_exp_1 = op_exp<float>(weights_shifted_1);
      const float weights_1 = op_mul<float>(weights_exp_1, weights_scale);
      weights_out.lane[lane] = weights_1;
    }
    storeInside(weights + (column + row * 50257), weights_out, column, 50257, is_whole);
  }
}
