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
reduce_max_reduce_sum_sub_exp_reciprocal_b25e36f5(
    const float *__restrict__ scores,
    float *__restrict__ weights) {
  const Threads threads = {threadIndex(), 512};
  const BlockSync sync;
  char *scratch = sharedMemory();
  const int thread = threads.index;
  const int row = blockIndex();
  float weights_max_partial = MaximumOf::identity<float>();
  for (int column = thread; column < 50257; column += 512) {
    const float scores_element = load(scores + (column + row * 50257));
    weights_max_partial = MaximumOf::combine(weights_max_partial, scores_element);
  }
  const float weights_max = reduceRow<MaximumOf, 512>(weights_max_partial, threads, reinterpret_cast<float *>(scratch + 0), sync);
  float weights_sum_partial = SumOf::identity<float>();
  for (int column = thread; column < 50257; column += 512) {
    const float scores_element_1 = load(scores + (column + row * 50257));
    const float weights_shifted = op_sub<float>(scores_element_1, weights_max);
    const float weights_exp = op_exp<float>(weights_shifted);
    weights_sum_partial = SumOf::combine(weights_sum_partial, weights_exp);
  }
  const float weights_sum = reduceRow<SumOf, 512>(weights_sum_partial, threads, reinterpret_cast<float *>(scratch + 256), sync);
  for (int column = thread; column < 50257; column += 512) {
    const float scores_element_2 = load(scores + (column + row * 50257));
    const float weights_shifted_1 = op_sub<float>(scores_element_2, weights_max);
    const float weights_exp_1 = op_exp<float>(weights_shifted_1);
    const float weights_scale = op_reciprocal<float>(weights_sum);
    const float weights_1 = op_mul<float>(weights_exp_1, weights_scale);
    store(weights + (column + row * 50257), weights_1);
  }
}
