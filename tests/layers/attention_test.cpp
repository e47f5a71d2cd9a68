#include "tests/layers/kernel_checker.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

struct Shape {
  int batch, heads, kvHeads, queries, keys, headDim;
};

std::string type(const std::string &dtype, std::initializer_list<int> dims) {
  std::string text = dtype + "[";
  for (int dim : dims)
    text += (text.back() == '[' ? "" : ", ") + std::to_string(dim);
  return text + "]";
}

// One attention; `operands` and `attributes` are what stands behind %v.
std::string attentionGraph(const std::string &dtype, const Shape &s, const std::string &arguments,
                           const std::string &operands, const std::string &attributes) {
  std::string q = type(dtype, {s.batch, s.heads, s.queries, s.headDim});
  std::string kv = type(dtype, {s.batch, s.kvHeads, s.keys, s.headDim});
  return "graph @g(%q: " + q + ", %k: " + kv + ", %v: " + kv + arguments + ") -> (" + q +
         ") {\n  %y = attention(%q, %k, %v" + operands + ")" + attributes + "\n  return %y\n}\n";
}

void expectAttention(const std::string &dtype, const Shape &shape,
                     const std::string &arguments = "", const std::string &operands = "",
                     const std::string &attributes = "", CheckOptions options = {}) {
  // Weights are rounded to the storage type before their product with the values.
  if (dtype == "bf16")
    options.tolerance = 0.02;
  if (dtype == "f16")
    options.tolerance = 0.004;
  SCOPED_TRACE(dtype + " queries " + std::to_string(shape.queries) + " keys " +
               std::to_string(shape.keys) + " head_dim " + std::to_string(shape.headDim));
  expectMatchesInterpreter(attentionGraph(dtype, shape, arguments, operands, attributes), options);
}

TEST(AttentionKernel, PrefillsOnMatrixUnits) {
  for (const char *dtype : {"bf16", "f16"})
    for (Shape shape :
         {Shape{1, 2, 2, 64, 64, 16}, Shape{2, 4, 2, 13, 13, 32}, Shape{1, 2, 1, 70, 130, 64},
          Shape{1, 1, 1, 17, 40, 128}, Shape{1, 2, 2, 20, 20, 80}})
      expectAttention(dtype, shape);
}

TEST(AttentionKernel, PrefillsCausally) {
  for (Shape shape :
       {Shape{1, 2, 2, 64, 64, 16}, Shape{1, 4, 2, 13, 21, 32}, Shape{1, 2, 1, 130, 130, 64}})
    expectAttention("bf16", shape, "", "", " {causal = true}");
}

TEST(AttentionKernel, ComputesInEveryFloatingType) {
  for (const char *dtype : {"f32", "f64"})
    for (Shape shape :
         {Shape{1, 2, 1, 9, 9, 16}, Shape{2, 2, 2, 5, 33, 24}, Shape{1, 1, 1, 1, 100, 20}})
      expectAttention(dtype, shape, "", "", " {causal = true}");
}

TEST(AttentionKernel, DecodesEveryLength) {
  for (int length : {1, 2, 47, 48, 63, 64, 65, 200})
    for (const char *dtype : {"bf16", "f32"}) {
      CheckOptions options;
      options.arrange = [length](std::vector<Tensor> &arguments) {
        WideTensor lengths = widen(arguments[3]);
        std::fill(lengths.integers.begin(), lengths.integers.end(), length);
        arguments[3] = narrow(lengths);
      };
      expectAttention(dtype, {2, 4, 2, 1, 200, 64}, ", %n: i32[2]", ", lengths = %n", "", options);
    }
}

TEST(AttentionKernel, DecodesForGroupsOfHeads) {
  for (int group : {1, 2, 4, 8})
    expectAttention("bf16", {1, 2 * group, 2, 1, 300, 64});
  expectAttention("bf16", {1, 1, 1, 1, 520, 128});
}

TEST(AttentionKernel, SeesNothingWhereTheLengthIsZero) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    WideTensor lengths = widen(arguments[3]);
    lengths.integers = {0, 3};
    arguments[3] = narrow(lengths);
  };
  expectAttention("f32", {2, 2, 2, 1, 64, 16}, ", %n: i32[2]", ", lengths = %n", "", options);
  expectAttention("bf16", {2, 2, 2, 20, 64, 16}, ", %n: i32[2]", ", lengths = %n", "", options);
}

TEST(AttentionKernel, MasksByTruthAndByAddition) {
  for (const char *dtype : {"bf16", "f32"}) {
    expectAttention(dtype, {2, 2, 2, 17, 33, 32}, ", %m: i1[2, 1, 1, 33]", ", mask = %m");
    expectAttention(dtype, {2, 2, 2, 17, 33, 32}, ", %m: f32[17, 33]", ", mask = %m",
                    " {scale = 0.5}");
  }
}

TEST(AttentionKernel, GivesZeroForAMaskedRowAndKeepsANaN) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    WideTensor mask = widen(arguments[3]);
    std::fill(mask.integers.begin(), mask.integers.begin() + 17, 0);
    arguments[3] = narrow(mask);
    WideTensor query = widen(arguments[0]);
    query.reals[3 * 16] = std::nan("");
    arguments[0] = narrow(query);
  };
  for (const char *dtype : {"bf16", "f32"})
    expectAttention(dtype, {1, 1, 1, 17, 17, 16}, ", %m: i1[17, 17]", ", mask = %m", "", options);
}

TEST(AttentionKernel, StoresTheViewThatIsRead) {
  CheckOptions options;
  options.tolerance = 0.02;
  expectMatchesInterpreter(R"(
graph @g(%q: bf16[2, 4, 19, 16], %k: bf16[2, 2, 19, 16], %v: bf16[2, 2, 19, 16])
    -> (bf16[2, 19, 64]) {
  %a = attention(%q, %k, %v) {causal = true}
  %t = transpose(%a) {permutation = [0, 2, 1, 3]}
  %y = reshape(%t) {shape = [2, 19, 64]}
  return %y
})",
                           options);
}

} // namespace
