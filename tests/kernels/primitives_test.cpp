// The simulator's primitives against plain arithmetic.
#include "tests/kernels/primitives.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace warploom::testing {
namespace {

std::vector<uint32_t> randomWords() {
  std::mt19937 random(std::random_device{}());
  std::vector<uint32_t> words(kWords);
  for (uint32_t &word : words)
    word = random();
  return words;
}

std::vector<uint32_t> run(llvm::StringRef name, const std::vector<uint32_t> &in) {
  std::unique_ptr<Device> device = llvm::cantFail(openSimulator());
  for (const PrimitiveCase &primitive : kPrimitives)
    if (name == primitive.name) {
      auto out = runPrimitive(*device, primitiveProgram(primitive), {}, in);
      if (out)
        return *out;
      ADD_FAILURE() << llvm::toString(out.takeError());
    }
  return std::vector<uint32_t>(kWords);
}

TEST(Primitives, ShuffleBetweenTheLanesOfOneWarp) {
  std::vector<uint32_t> in = randomWords(), out = run("shuffles", in);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(out[i], in[i ^ 5]);
    EXPECT_EQ(out[64 + i], in[i / 32 * 32 + (i * 7 + 3) % 32]);
  }
}

TEST(Primitives, OrderThreadsByNamedBarriers) {
  std::vector<uint32_t> in = randomWords(), out = run("named_barriers", in);
  for (int i = 0; i < kThreads; ++i)
    EXPECT_EQ(out[i], in[i ^ 31] + in[63 - i]);
}

TEST(Primitives, CopyGroupsInOrderAndZerosWhereNotValid) {
  std::vector<uint32_t> in = randomWords(), out = run("asynchronous_copies", in);
  for (int word = 0; word < 64; ++word) {
    int piece = word / 4;
    EXPECT_EQ(out[word], piece % 3 == 0 ? 0 : in[8 * piece + word % 4]);
    EXPECT_EQ(out[64 + word], in[512 + word]);
  }
}

TEST(Primitives, LoadMatricesInTheDocumentedLayout) {
  std::vector<uint32_t> in = randomWords(), out = run("matrix_loads", in);
  // Element (row, column) of a warp's matrix: 8 rows of 8 halves, one after another.
  auto element = [&](int warp, int matrix, int row, int column) {
    uint32_t word = in[warp * 128 + matrix * 32 + row * 4 + column / 2];
    return column % 2 ? word >> 16 : word & 0xffff;
  };
  for (int i = 0; i < kThreads; ++i)
    for (int matrix = 0; matrix < 4; ++matrix) {
      int warp = i / 32, first = i % 32 / 4, second = i % 4 * 2;
      EXPECT_EQ(out[matrix * 64 + i], element(warp, matrix, first, second) |
                                          element(warp, matrix, first, second + 1) << 16);
      EXPECT_EQ(out[256 + matrix * 64 + i], element(warp, matrix, second, first) |
                                                element(warp, matrix, second + 1, first) << 16);
    }
}

TEST(Primitives, MultiplyMatricesInTheDocumentedLayout) {
  std::vector<uint32_t> in = randomWords(), out = run("matrix_products", in);
  for (int i = 0; i < kThreads; ++i)
    for (int index = 0; index < 4; ++index) {
      int row = i % 32 / 4 + index / 2 * 8, column = i % 4 * 2 + index % 2;
      float sum = 0;
      for (int k = 0; k < 16; ++k)
        sum += float(in[row * 16 + k] % 17) * float(in[256 + column * 16 + k] % 13);
      EXPECT_EQ(std::bit_cast<float>(out[index * 64 + i]), sum + float(index + 1));
      EXPECT_EQ(std::bit_cast<float>(out[256 + index * 64 + i]), sum);
    }
}

TEST(Primitives, PackPairsRoundedToNearestEven) {
  std::vector<uint32_t> in = randomWords();
  in[0] = std::bit_cast<uint32_t>(1.0f + 0x1p-8f); // a tie of bf16, down to even
  in[1] = std::bit_cast<uint32_t>(1.0f + 0x3p-8f); // a tie of bf16, up to even
  in[2] = std::bit_cast<uint32_t>(65520.0f);       // rounds to infinity in f16
  in[3] = std::bit_cast<uint32_t>(0x1p-24f);       // the smallest of f16
  std::vector<uint32_t> out = run("pairs", in), scalar = run("scalar_rounding", in);
  EXPECT_EQ(out[0] & 0xffff, 0x3f80u);
  EXPECT_EQ(out[1] & 0xffff, 0x3f82u);
  EXPECT_EQ(out[512 + 2] & 0xffff, 0x7c00u);
  EXPECT_EQ(out[512 + 3] & 0xffff, 1u);
  for (int word = 0; word < 512; ++word) {
    EXPECT_EQ(out[word] & 0xffff, scalar[word]);
    EXPECT_EQ(out[512 + word] & 0xffff, scalar[512 + word]);
  }
}

TEST(Primitives, MoveVectors) {
  std::vector<uint32_t> in = randomWords(), out = run("vectors", in);
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(out[4 * i], in[4 * i + 3]);
    EXPECT_EQ(out[4 * i + 1], in[256 + 2 * i + 1]);
    EXPECT_EQ(out[4 * i + 2], in[4 * i]);
    EXPECT_EQ(out[4 * i + 3], in[i]);
  }
}

} // namespace
} // namespace warploom::testing
