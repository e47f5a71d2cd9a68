// What a kernel may ask of the machine: identity, memory, shuffles, barriers, copies, matrix units.
// The only header with inline PTX; each primitive has a host twin for the simulator in
// kernels/simulated_primitives.h, with the same meaning. Device code touches memory only through
// load, store and the copies below, so that the simulator can check every access.
#pragma once

#ifdef WARPLOOM_SIMULATOR
#include "kernels/simulated_primitives.h"
#else

#define DEVICE __device__ __forceinline__

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
#else
#include <cstdint>
#endif

#include "kernels/types.cuh"

namespace warploom {

// Identity. Grids and blocks are one-dimensional in x for threads, up to three for blocks.
DEVICE int threadIndex() {
  return threadIdx.x;
}
DEVICE int blockIndex() {
  return blockIdx.x;
}
DEVICE int blockIndexY() {
  return blockIdx.y;
}
DEVICE int blockIndexZ() {
  return blockIdx.z;
}
DEVICE int blockCount() {
  return gridDim.x;
}

// The block's dynamic shared memory, aligned to 128 bytes.
DEVICE char *sharedMemory() {
  extern __shared__ __align__(128) char memory[];
  return memory;
}

// Barriers over the whole block, over one warp, and over `count` threads (whole warps) that name
// the same barrier 1..15.
DEVICE void syncBlock() {
  __syncthreads();
}
DEVICE void syncWarp() {
  __syncwarp();
}
DEVICE void syncThreads(int barrier, int count) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Shuffles among the 32 lanes of a warp, all of which take part. T has 4 or 8 bytes.
template <class T> DEVICE T shuffleXor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T> DEVICE T shuffle(T value, int lane) {
  return __shfl_sync(0xffffffffu, value, lane);
}

// Global or shared memory, `width` elements that are aligned to their total size.
template <int width, class T> DEVICE Vec<T, width> load(const T *address) {
  return *reinterpret_cast<const Vec<T, width> *>(address);
}
template <class T> DEVICE T load(const T *address) {
  return *address;
}
template <class T, int width> DEVICE void store(T *address, const Vec<T, width> &value) {
  *reinterpret_cast<Vec<T, width> *>(address) = value;
}
template <class T> DEVICE void store(T *address, T value) {
  *address = value;
}

// 16 bytes of global memory that no kernel in flight writes and that are read once: weights.
template <class T> DEVICE Vec<T, 16 / sizeof(T)> loadOnce(const T *address) {
  union {
    uint32_t words[4];
    Vec<T, 16 / sizeof(T)> value;
  } result;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(result.words[0]), "=r"(result.words[1]), "=r"(result.words[2]),
                 "=r"(result.words[3])
               : "l"(address));
  return result.value;
}

// What another block of this launch has written: past the L1 cache, which may hold what was there
// before. T has 4 or 8 bytes.
template <class T> DEVICE T loadFresh(const T *address) {
  if constexpr (sizeof(T) == 4) {
    uint32_t bits;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(bits) : "l"(address) : "memory");
    return bitcast<T>(bits);
  } else {
    uint64_t bits;
    asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(bits) : "l"(address) : "memory");
    return bitcast<T>(bits);
  }
}

// Asynchronous copy of 16 bytes from global to shared memory; zeros where !valid (the address is
// then not read). A group of copies is committed, and arrives when at most `pending` younger
// groups of the thread are outstanding; other threads see it after a barrier.
DEVICE void copyAsync16(void *shared, const void *global, bool valid) {
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(global),
               "r"(valid ? 16 : 0)
               : "memory");
}
DEVICE void commitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int pending> DEVICE void waitCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

// Four 8x8 matrices of 16-bit elements from shared memory; lane i names row i % 8 of matrix i / 8
// (16 bytes each). Register r of a lane holds the two elements (lane / 4, 2 * (lane % 4)) of
// matrix r; of its transpose in the second form.
DEVICE void loadMatrices(uint32_t (&registers)[4], const void *row) {
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address)
               : "memory");
}
DEVICE void loadMatricesTransposed(uint32_t (&registers)[4], const void *row) {
  uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
               : "r"(address)
               : "memory");
}

// d += a * b, a 16x16 row-major, b 16x8 column-major, d 16x8 in f32, in the fragment layout of
// PTX's mma.m16n8k16 (ISA, "Matrix Fragments for mma.m16n8k16").
DEVICE void multiplyAccumulate(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                               bf16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
DEVICE void multiplyAccumulate(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                               f16) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Two adjacent elements in one register, the first in the low half.
DEVICE uint32_t packPair(float low, float high, bf16) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}
DEVICE uint32_t packPair(float low, float high, f16) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Adds 1 to a counter in global memory and returns the old value; everything this thread wrote
// (and what a barrier ordered before it) is visible to whoever sees the new value, and the other
// way round.
DEVICE uint32_t incrementCounter(uint32_t *counter) {
  __threadfence();
  uint32_t old = atomicAdd(counter, 1u);
  __threadfence();
  return old;
}

} // namespace warploom

#endif
