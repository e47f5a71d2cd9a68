#include "kernels/tile.cuh"

// group 0, map
//   %turned = rope(%keys, %cos, %sin) : bf16[1, 8, 16, 64] group 0
//   %updated = kv_update(%cache, %turned, %position) : bf16[1, 8, 1024, 64] group 0
using namespace warploom;

extern "C" __global__ void __launch_bounds__(256, 1)
rope_kv_update_a2c4a81e(
    const int32_t *__restrict__ position,
    const bf16 *__restrict__ keys_1,
    const bf16 *__restrict__ cos,
    const bf16 *__restrict__ sin,
    bf16 *__restrict__ cache) {
  const int chunk = int(blockIndex()) * 256 + threadIndex();
  if (chunk >= 1024)
    return;
  const int32_t position_element = load(position);
  const Vec<bf16, 8> keys_chunk = load<8>(keys_1 + chunk * 8);
  const Vec<bf16, 8> keys_chunk_1 = load<8>(keys_1 + ((((chunk % 8) + 4) % 8) * 8 + (chunk / 8) * 64));
  const Vec<bf16, 8> cos_chunk = load<8>(cos + (((chunk / 8) % 16) * 64 + (chunk % 8) * 8));
  const Vec<bf16, 8> sin_chunk = load<8>(sin + (((chunk / 8) % 16) * 64 + (chunk % 8) * 8));
  Vec<bf16, 8> updated_out;
  #pragma unroll
  for (int lane = 0; lane < 8; ++lane) {
    const float turned = convert<float>(keys_chunk.lane[lane]) * convert<float>(cos_chunk.lane[lane]) + ((chunk % 8) * 8 + lane < 32 ? -convert<float>(keys_chunk_1.lane[lane]) : convert<float>(keys_chunk_1.lane[lane])) * convert<float>(sin_chunk.lane[lane]);
    updated_out.lane[lane] = convert<bf16>(turned);
  }
  if ((((chunk / 8) % 16) + position_element) >= 0 && (((chunk / 8) % 16) + position_element) < 1024)
    store(cache + (((chunk / 8) % 16) * 64 + ((chunk / 8) / 16) * 65536 + (chunk % 8) * 8 + position_element * 64), updated_out);
}
