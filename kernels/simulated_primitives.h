// The host twin of each primitive of kernels/primitives.cuh, for kernels compiled for the
// simulator.
#pragma once

#include "kernels/simulated_machine.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

#define DEVICE inline
#define __global__
#define __launch_bounds__(...)

#include "kernels/types.cuh"

namespace warploom {

// Bound when the compiled kernel is loaded; each kernel is a library of its own.
inline const SimulatedMachine *machine = nullptr;

#define WARPLOOM_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

DEVICE int threadIndex() {
  return machine->threadIndex();
}
DEVICE int blockIndex() {
  return machine->blockIndex(0);
}
DEVICE int blockIndexY() {
  return machine->blockIndex(1);
}
DEVICE int blockIndexZ() {
  return machine->blockIndex(2);
}
DEVICE int blockCount() {
  return machine->blockCount();
}
DEVICE char *sharedMemory() {
  return machine->sharedMemory();
}

DEVICE void syncBlock(WARPLOOM_SITE) {
  machine->syncThreads(0, 0, {file, line});
}
DEVICE void syncWarp(WARPLOOM_SITE) {
  machine->gather(nullptr, 0, {file, line});
}
DEVICE void syncThreads(int barrier, int count, WARPLOOM_SITE) {
  machine->syncThreads(barrier, count, {file, line});
}

template <class T> DEVICE T gathered(const char *slots, int lane) {
  T value;
  std::memcpy(&value, slots + lane * 64, sizeof(T));
  return value;
}

template <class T> DEVICE T shuffleXor(T value, int mask, WARPLOOM_SITE) {
  int lane = threadIndex() % 32;
  return gathered<T>(machine->gather(&value, sizeof(T), {file, line}), lane ^ mask);
}
template <class T> DEVICE T shuffle(T value, int from, WARPLOOM_SITE) {
  return gathered<T>(machine->gather(&value, sizeof(T), {file, line}), from % 32);
}

template <int width, class T> DEVICE Vec<T, width> load(const T *address, WARPLOOM_SITE) {
  machine->check(address, sizeof(Vec<T, width>), MemoryAccess::read, alignof(Vec<T, width>),
                 {file, line});
  Vec<T, width> value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}
template <class T> DEVICE T load(const T *address, WARPLOOM_SITE) {
  machine->check(address, sizeof(T), MemoryAccess::read, alignof(T), {file, line});
  return *address;
}
template <class T, int width>
DEVICE void store(T *address, const Vec<T, width> &value, WARPLOOM_SITE) {
  machine->check(address, sizeof(value), MemoryAccess::write, alignof(Vec<T, width>), {file, line});
  std::memcpy(address, &value, sizeof(value));
}
template <class T> DEVICE void store(T *address, T value, WARPLOOM_SITE) {
  machine->check(address, sizeof(T), MemoryAccess::write, alignof(T), {file, line});
  *address = value;
}
template <class T> DEVICE Vec<T, 16 / sizeof(T)> loadOnce(const T *address, WARPLOOM_SITE) {
  machine->check(address, 16, MemoryAccess::readOnce, 16, {file, line});
  Vec<T, 16 / sizeof(T)> value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

template <class T> DEVICE T loadFresh(const T *address, WARPLOOM_SITE) {
  return load(address, file, line);
}

DEVICE void copyAsync16(void *shared, const void *global, bool valid, WARPLOOM_SITE) {
  machine->copyAsync16(shared, global, valid, {file, line});
}
DEVICE void commitCopies() {
  machine->commitCopies();
}
template <int pending> DEVICE void waitCopies() {
  machine->waitCopies(pending);
}

// Element (row, column) of one of the four matrices, whose rows the lanes name.
DEVICE uint16_t matrixElement(const char *rows, int matrix, int row, int column, CallSite site) {
  const char *start = gathered<const char *>(rows, matrix * 8 + row);
  machine->check(start + column * 2, 2, MemoryAccess::read, 2, site);
  uint16_t element;
  std::memcpy(&element, start + column * 2, sizeof(element));
  return element;
}

DEVICE void loadMatrices(uint32_t (&registers)[4], const void *row, WARPLOOM_SITE) {
  machine->check(row, 16, MemoryAccess::read, 16, {file, line});
  const char *rows = machine->gather(&row, sizeof(row), {file, line});
  int lane = threadIndex() % 32;
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint32_t low = matrixElement(rows, matrix, lane / 4, lane % 4 * 2, {file, line});
    uint32_t high = matrixElement(rows, matrix, lane / 4, lane % 4 * 2 + 1, {file, line});
    registers[matrix] = low | high << 16;
  }
}
DEVICE void loadMatricesTransposed(uint32_t (&registers)[4], const void *row, WARPLOOM_SITE) {
  machine->check(row, 16, MemoryAccess::read, 16, {file, line});
  const char *rows = machine->gather(&row, sizeof(row), {file, line});
  int lane = threadIndex() % 32;
  for (int matrix = 0; matrix < 4; ++matrix) {
    uint32_t low = matrixElement(rows, matrix, lane % 4 * 2, lane / 4, {file, line});
    uint32_t high = matrixElement(rows, matrix, lane % 4 * 2 + 1, lane / 4, {file, line});
    registers[matrix] = low | high << 16;
  }
}

// The lanes' fragments of a and b; the layout is PTX's for mma.m16n8k16.
struct MatrixFragments {
  uint32_t a[4];
  uint32_t b[2];
};

template <class T>
DEVICE void multiplyAccumulate(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, T,
                               WARPLOOM_SITE) {
  MatrixFragments own = {{a[0], a[1], a[2], a[3]}, {b0, b1}};
  const char *slots = machine->gather(&own, sizeof(own), {file, line});
  int lane = threadIndex() % 32;
  auto half = [](uint32_t pair, int k) {
    return toFloat(T{static_cast<uint16_t>(k % 2 ? pair >> 16 : pair)});
  };
  float left[2][16], right[2][16];
  for (int k = 0; k < 16; ++k) {
    int quad = k % 8 / 2, upper = k / 8;
    const auto *rowLane =
        reinterpret_cast<const MatrixFragments *>(slots + (lane / 4 * 4 + quad) * 64);
    left[0][k] = half(rowLane->a[upper * 2], k);
    left[1][k] = half(rowLane->a[upper * 2 + 1], k);
    for (int n = 0; n < 2; ++n) {
      int column = lane % 4 * 2 + n;
      const auto *columnLane =
          reinterpret_cast<const MatrixFragments *>(slots + (column * 4 + quad) * 64);
      right[n][k] = half(columnLane->b[upper], k);
    }
  }
  for (int row = 0; row < 2; ++row)
    for (int n = 0; n < 2; ++n) {
      float sum = d[row * 2 + n];
      for (int k = 0; k < 16; ++k)
        sum += left[row][k] * right[n][k];
      d[row * 2 + n] = sum;
    }
}

template <class T> DEVICE uint32_t packPair(float low, float high, T) {
  return fromFloat<T>(low).bits | static_cast<uint32_t>(fromFloat<T>(high).bits) << 16;
}

DEVICE uint32_t incrementCounter(uint32_t *counter, WARPLOOM_SITE) {
  machine->check(counter, 4, MemoryAccess::write, 4, {file, line});
  return std::atomic_ref<uint32_t>(*counter).fetch_add(1);
}

// Calls a kernel with parameters that lie where `arguments` point.
template <class... Parameters, size_t... places>
void invokeAt(void (*kernel)(Parameters...), void **arguments, std::index_sequence<places...>) {
  kernel(*static_cast<std::remove_reference_t<Parameters> *>(arguments[places])...);
}
template <class... Parameters> void invoke(void (*kernel)(Parameters...), void **arguments) {
  invokeAt(kernel, arguments, std::index_sequence_for<Parameters...>());
}

} // namespace warploom
