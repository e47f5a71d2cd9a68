#include "kernels/row.cuh"

// group 0, row
//   %sum = add(%x, %residual) : bf16[512, 2048] group 0
//   %sum_wide = cast(%sum) {to = f32} : f32[512, 2048] group 0
//   %normalized_squares = mul(%sum_wide, %sum_wide) : f32[512, 2048] group 0
//   %normalized_variance = reduce_mean(%normalized_squares) {axes = [1], keepdims = true} : f32[512, 1] group 0
//   %normalized_shifted = add(%normalized_variance, %normalized_eps) : f32[512, 1] group 0
//   %normalized_scale = rsqrt(%normalized_shifted) : f32[512, 1] group 0
//   %normalized_normalized = mul(%sum_wide, %normalized_scale) : f32[512, 2048] group 0
//   %gain_wide = cast(%gain) {to = f32} : f32[2048] group 0
//   %normalized_scaled = mul(%normalized_normalized, %gain_wide) : f32[512, 2048] group 0
//   %normalized = cast(%normalized_scaled) {to = bf16} : bf16[512, 2048] group 0
using namespace warploom;

extern "C" __global__ void __launch_bounds__(64, 1)
reduce_mean_add_mul_rsqrt_02197b20(
    const bf16 *__restrict__ x,
    const bf16 *__restrict__ residual,
    bf16 *__restrict__ sum,
    const bf16 *__restrict__ gain,
    bf16 *__restrict__ normalized) {
  const Threads threads = {threadIndex(), 64};
  const BlockSync sync;
  char *scratch = sharedMemory();
  const int thread = threads.index;
  const int row = blockIndex();
  Vec<bf16, 8> x_held[4];
  Vec<bf16, 8> residual_held[4];
  float normalized_variance_partial = SumOf::identity<float>();
  #pragma unroll
  for (int item = 0; item < 4; ++item) {
    const int column = thread * 8 + item * 512;
    x_held[item] = load<8>(x + (column + row * 2048));
    residual_held[item] = load<8>(residual + (column + row * 2048));
    #pragma unroll
    for (int lane = 0; lane < 8; ++lane) {
      const float sum_1 = op_add<float>(convert<float>(x_held[item].lane[lane]), convert<float>(residual_held[item].lane[lane]));
      const bf16 sum_2 = convert<bf16>(sum_1);
      const float normalized_squares = op_mul<float>(convert<float>(sum_2), convert<float>(sum_2));
      normalized_variance_partial = SumOf::combine(normalized_variance_partial, normalized_squares * (1.0f / 2048));
    }
  }
  const float normalized_variance = reduceRow<SumOf, 64>(normalized_variance_partial, threads, reinterpret_cast<float *>(scratch + 0), sync);
  #pragma unroll
  for (int item = 0; item < 4; ++item) {
    const int column = thread * 8 + item * 512;
    Vec<bf16, 8> sum_out;
    const float normalized_shifted = op_add<float>(normalized_variance, 9.99999975e-06f);
    const float normalized_scale = op_rsqrt<float>(normalized_shifted);
    const Vec<bf16, 8> gain_chunk = load<8>(gain + column);
    Vec<bf16, 8> normalized_out;
    #pragma unroll
    for (int lane = 0; lane < 8; ++lane) {
      const float sum_3 = op_add<float>(convert<float>(x_held[item].lane[lane]), convert<float>(residual_held[item].lane[lane]));
      const bf16 sum_4 = convert<bf16>(sum_3);
      sum_out.lane[lane] = sum_4;
      const float normalized_normalized = op_mul<float>(convert<float>(sum_4), normalized_scale);
      const float normalized_scaled = op_mul<float>(normalized_normalized, convert<float>(gain_chunk.lane[lane]));
      const bf16 normalized_1 = convert<bf16>(normalized_scaled);
      normalized_out.lane[lane] = normalized_1;
    }
    store(sum + (column + row * 2048), sum_out);
    store(normalized + (column + row * 2048), normalized_out);
  }
}
