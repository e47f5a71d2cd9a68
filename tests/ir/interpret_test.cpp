#include "ir/interpret.h"
#include "ir/parse.h"

#include <gtest/gtest.h>

#include <random>

using namespace warploom;

namespace {

Tensor tensorOf(DType dtype, llvm::ArrayRef<int64_t> dims, std::vector<double> values) {
  WideTensor wide;
  wide.dtype = dtype;
  wide.dims.assign(dims.begin(), dims.end());
  if (isFloating(dtype))
    wide.reals = std::move(values);
  else
    wide.integers.assign(values.begin(), values.end());
  return narrow(wide);
}

std::vector<double> randomValues(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double &value : values)
    value = normal(random);
  return values;
}

std::vector<double> runReal(llvm::StringRef text, std::vector<Tensor> arguments) {
  Module module = llvm::cantFail(parseModule(text, "test.loom"));
  Interpretation result = llvm::cantFail(interpret(module.graphs.front(), arguments, {}));
  return result.results.front().reals;
}

void expectNear(const std::vector<double> &actual, const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << "element " << i;
}

TEST(Interpret, MultipliesMatricesInEveryOrientation) {
  constexpr int64_t kRows = 5, kColumns = 7, kDepth = 9;
  std::vector<double> a = randomValues(kRows * kDepth, 1), b = randomValues(kDepth * kColumns, 2);
  for (bool transposeA : {false, true})
    for (bool transposeB : {false, true}) {
      std::vector<double> expected(kRows * kColumns, 0);
      for (int64_t row = 0; row < kRows; ++row)
        for (int64_t column = 0; column < kColumns; ++column)
          for (int64_t k = 0; k < kDepth; ++k)
            expected[row * kColumns + column] +=
                a[transposeA ? k * kRows + row : row * kDepth + k] *
                b[transposeB ? column * kDepth + k : k * kColumns + column];
      std::string text = std::string("graph @g(%a: f64[") + (transposeA ? "9, 5" : "5, 9") +
                         "], %b: f64[" + (transposeB ? "7, 9" : "9, 7") +
                         "]) -> (f64[5, 7]) {\n  %y = matmul(%a, %b) {transpose_a = " +
                         (transposeA ? "true" : "false") +
                         ", transpose_b = " + (transposeB ? "true" : "false") + "}\n  return %y\n}";
      llvm::SmallVector<int64_t, 2> dimsA = {kRows, kDepth}, dimsB = {kDepth, kColumns};
      if (transposeA)
        std::swap(dimsA[0], dimsA[1]);
      if (transposeB)
        std::swap(dimsB[0], dimsB[1]);
      expectNear(runReal(text, {tensorOf(DType::f64, dimsA, a), tensorOf(DType::f64, dimsB, b)}),
                 expected);
    }
}

TEST(Interpret, AttendsAsTheFormulaSays) {
  constexpr int64_t kQueries = 3, kKeys = 5, kDim = 4;
  std::vector<double> q = randomValues(2 * kQueries * kDim, 1), k = randomValues(kKeys * kDim, 2),
                      v = randomValues(kKeys * kDim, 3), expected;
  // Two heads share the one kv head; the last query sees every key.
  for (int64_t row = 0; row < 2 * kQueries; ++row) {
    std::vector<double> weights(kKeys, 0);
    double sum = 0;
    for (int64_t key = 0; key <= row % kQueries + kKeys - kQueries; ++key) {
      double dot = 0;
      for (int64_t d = 0; d < kDim; ++d)
        dot += q[row * kDim + d] * k[key * kDim + d];
      sum += weights[key] = std::exp(dot / 2);
    }
    for (int64_t d = 0; d < kDim; ++d) {
      double mix = 0;
      for (int64_t key = 0; key < kKeys; ++key)
        mix += weights[key] / sum * v[key * kDim + d];
      expected.push_back(mix);
    }
  }
  expectNear(runReal(R"(
graph @g(%q: f64[1, 2, 3, 4], %k: f64[1, 1, 5, 4], %v: f64[1, 1, 5, 4]) -> (f64[1, 2, 3, 4]) {
  %y = attention(%q, %k, %v) {causal = true}
  return %y
})",
                     {tensorOf(DType::f64, {1, 2, 3, 4}, q), tensorOf(DType::f64, {1, 1, 5, 4}, k),
                      tensorOf(DType::f64, {1, 1, 5, 4}, v)}),
             expected);
}

TEST(Interpret, KeepsANaNScoreUnderAFalseMaskAndGivesZeroForNoKeyAtAll) {
  for (double score : {1.0, double(NAN)}) {
    std::vector<double> result = runReal(
        R"(
graph @g(%q: f64[1, 1, 1, 1], %k: f64[1, 1, 2, 1], %v: f64[1, 1, 2, 1], %m: i1[1, 2])
    -> (f64[1, 1, 1, 1]) {
  %y = attention(%q, %k, %v, mask = %m)
  return %y
})",
        {tensorOf(DType::f64, {1, 1, 1, 1}, {1}), tensorOf(DType::f64, {1, 1, 2, 1}, {score, 2}),
         tensorOf(DType::f64, {1, 1, 2, 1}, {3, 4}), narrow({DType::i1, {1, 2}, {}, {0, 0}})});
    EXPECT_EQ(std::isnan(result[0]), std::isnan(score));
    if (!std::isnan(score)) {
      EXPECT_EQ(result[0], 0);
    }
  }
}

TEST(Interpret, GivesNaNForASoftmaxOfNothing) {
  for (double value : {-double(INFINITY), double(INFINITY), double(NAN)})
    for (double result : runReal("graph @g(%x: f32[3]) -> (f32[3]) {\n  %y = softmax(%x)\n"
                                 "  return %y\n}",
                                 {tensorOf(DType::f32, {3}, {value, value, value})}))
      EXPECT_TRUE(std::isnan(result));
}

TEST(Interpret, NormalizesLargeRows) {
  expectNear(
      runReal("graph @g(%x: f32[1, 4], %g: f32[4], %b: f32[4]) -> (f32[1, 4]) {\n"
              "  %y = layer_norm(%x, %g, %b)\n  return %y\n}",
              {tensorOf(DType::f32, {1, 4}, {8.5e37, 8.5e37, 8.5e37, 8.5e37}),
               tensorOf(DType::f32, {4}, {1, 1, 1, 1}), tensorOf(DType::f32, {4}, {1, 2, 3, 4})}),
      {1, 2, 3, 4});
}

TEST(Interpret, ReallyRoundsAnExplicitCast) {
  std::vector<double> result =
      runReal("graph @g(%x: f32[1]) -> (f32[1]) {\n  %n = cast(%x) {to = bf16}\n"
              "  %y = cast(%n) {to = f32}\n  return %y\n}",
              {tensorOf(DType::f32, {1}, {1.001953125})});
  EXPECT_EQ(result[0], 1.0);
}

TEST(Interpret, WritesNothingOutsideOfACache) {
  const char *text = R"(
graph @g(%cache: mut f32[1, 1, 4, 1], %new: f32[1, 1, 2, 1], %position: i32[])
    -> (f32[1, 1, 4, 1]) {
  %y = kv_update(%cache, %new, %position)
  return %y
})";
  struct Case {
    double position;
    std::vector<double> expected;
  };
  for (const Case &c : {Case{1, {0, 8, 9, 0}}, Case{3, {0, 0, 0, 8}}, Case{-1, {9, 0, 0, 0}},
                        Case{4, {0, 0, 0, 0}}})
    expectNear(runReal(text, {tensorOf(DType::f32, {1, 1, 4, 1}, {0, 0, 0, 0}),
                              tensorOf(DType::f32, {1, 1, 2, 1}, {8, 9}),
                              tensorOf(DType::i32, {}, {c.position})}),
               c.expected);
}

TEST(Interpret, RotatesHalvesAndNeighbours) {
  Tensor x = tensorOf(DType::f64, {1, 4}, {1, 2, 3, 4});
  Tensor cos = tensorOf(DType::f64, {1, 4}, {0, 0, 0, 0}),
         sin = tensorOf(DType::f64, {1, 4}, {1, 1, 1, 1});
  std::string head = "graph @g(%x: f64[1, 4], %c: f64[1, 4], %s: f64[1, 4]) -> (f64[1, 4]) {\n"
                     "  %y = rope(%x, %c, %s) {style = \"";
  expectNear(runReal(head + "half\"}\n  return %y\n}", {x, cos, sin}), {-3, -4, 1, 2});
  expectNear(runReal(head + "interleaved\"}\n  return %y\n}", {x, cos, sin}), {-2, 1, -4, 3});
}

TEST(Interpret, NamesTheArgumentThatDoesNotFit) {
  Module module = llvm::cantFail(
      parseModule("graph @g(%x: f32[n, 2]) -> (f32[n, 2]) {\n  %y = exp(%x)\n  return %y\n}", "t"));
  SymbolBindings symbols;
  auto failure = [&](std::vector<Tensor> arguments) {
    llvm::Expected<Interpretation> result = interpret(module.graphs.front(), arguments, symbols);
    return result ? std::string() : llvm::toString(result.takeError());
  };
  EXPECT_NE(failure({}).find("takes 1 arguments"), std::string::npos);
  EXPECT_NE(failure({tensorOf(DType::f32, {1, 2}, {1, 2})}).find("'n' has no value"),
            std::string::npos);
  symbols["n"] = 2;
  EXPECT_NE(failure({tensorOf(DType::f32, {1, 2}, {1, 2})}).find("argument 'x'"),
            std::string::npos);
}

TEST(Interpret, SolvesSymbolsFromShapes) {
  Module module = llvm::cantFail(parseModule(
      "graph @g(%x: f32[n, 2*m + 1]) -> (f32[n, 2*m + 1]) {\n  %y = exp(%x)\n  return %y\n}", "t"));
  SymbolBindings symbols;
  llvm::SmallVector<int64_t, 2> shape = {3, 9};
  llvm::cantFail(bindSymbols(module.graphs.front(), {shape}, symbols));
  EXPECT_EQ(symbols["n"], 3);
  EXPECT_EQ(symbols["m"], 4);
  SymbolBindings others;
  shape = {3, 8};
  EXPECT_NE(llvm::toString(bindSymbols(module.graphs.front(), {shape}, others)).find("'m'"),
            std::string::npos);
}

} // namespace
