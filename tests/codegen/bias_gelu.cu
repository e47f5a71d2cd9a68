#include "kernels/tile.cuh"

// group 0, map
//   %s = add(%x, %bias) : bf16[128, 768] group 0
//   %y = gelu(%s) : bf16[128, 768] group 0
using namespace warploom;

extern "C" __global__ void __launch_bounds__(256, 1)
add_gelu_7a97a577(
    const bf16 *__restrict__ x,
    const bf16 *__restrict__ bias,
    bf16 *__restrict__ y) {
  const int chunk = int(blockIndex()) * 256 + threadIndex();
  if (chunk >= 12288)
    return;
  const Vec<bf16, 8> x_chunk = load<8>(x + chunk * 8);
  const Vec<bf16, 8> bias_chunk = load<8>(bias + (chunk % 96) * 8);
  Vec<bf16, 8> y_out;
  #pragma unroll
  for (int lane = 0; lane < 8; ++lane) {
    const float s = op_add<float>(convert<float>(x_chunk.lane[lane]), convert<float>(bias_chunk.lane[lane]));
    const float y_1 = op_gelu<float>(s);
    y_out.lane[lane] = convert<bf16>(y_1);
  }
  store(y + chunk * 8, y_out);
}
