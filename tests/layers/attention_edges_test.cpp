// Where attention is easily wrong: masked rows, special values, computed operands, views, symbols,
// and names, on the simulator against the interpreter.
#include "tests/layers/kernel_checker.h"

#include <limits>

using namespace warploom;
using namespace warploom::testing;

namespace {

constexpr double kTolerance = 0.02; // weights are rounded to bf16

void fill(Tensor &tensor, llvm::function_ref<double(int64_t)> value) {
  WideTensor wide = widen(tensor);
  for (size_t index = 0; index < wide.reals.size(); ++index)
    wide.reals[index] = value(index);
  tensor = narrow(wide);
}

void fillIntegers(Tensor &tensor, llvm::function_ref<int64_t(int64_t)> value) {
  WideTensor wide = widen(tensor);
  for (size_t index = 0; index < wide.integers.size(); ++index)
    wide.integers[index] = value(index);
  tensor = narrow(wide);
}

CheckOptions loose(std::function<void(std::vector<Tensor> &)> arrange = nullptr) {
  CheckOptions options;
  options.tolerance = kTolerance;
  options.arrange = std::move(arrange);
  return options;
}

// Self-attention of 17 tokens under a float mask; decode of one token under the same.
std::string maskedGraph(llvm::StringRef dtype, int queries) {
  return llvm::formatv(R"(
graph @g(%q: {0}[1, 2, {1}, 16], %k: {0}[1, 2, 17, 16], %v: {0}[1, 2, 17, 16], %m: f32[{1}, 17])
    -> ({0}[1, 2, {1}, 16]) {{
  %y = attention(%q, %k, %v, mask = %m)
  return %y
})",
                       dtype, queries)
      .str();
}

TEST(AttentionEdges, SpreadEvenlyOverARowOfTheLowestFiniteMask) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17})
      expectMatchesInterpreter(maskedGraph(dtype, queries), loose([](std::vector<Tensor> &tensors) {
                                 fill(tensors[3], [](int64_t index) {
                                   return index < 17 ? std::numeric_limits<float>::lowest() : 0.0;
                                 });
                               }));
}

TEST(AttentionEdges, GiveZeroForARowOfInfiniteMask) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17})
      expectMatchesInterpreter(maskedGraph(dtype, queries), loose([](std::vector<Tensor> &tensors) {
                                 fill(tensors[3],
                                      [](int64_t index) { return index < 17 ? -INFINITY : 0.0; });
                               }));
}

TEST(AttentionEdges, KeepANaNUnderAnInfiniteMask) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17})
      expectMatchesInterpreter(maskedGraph(dtype, queries), loose([](std::vector<Tensor> &tensors) {
                                 fill(tensors[3],
                                      [](int64_t index) { return index < 17 ? -INFINITY : 0.0; });
                                 WideTensor query = widen(tensors[0]);
                                 query.reals[5] = std::nan("");
                                 tensors[0] = narrow(query);
                               }));
}

TEST(AttentionEdges, KeepANaNUnderAFalseMask) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17}) {
      std::string text = maskedGraph(dtype, queries);
      text.replace(text.find("%m: f32"), 7, "%m: i1");
      expectMatchesInterpreter(text, loose([](std::vector<Tensor> &tensors) {
                                 fillIntegers(tensors[3], [](int64_t index) { return index > 20; });
                                 WideTensor query = widen(tensors[0]);
                                 query.reals[5] = std::nan("");
                                 tensors[0] = narrow(query);
                               }));
    }
}

TEST(AttentionEdges, LeaveOutANaNKeyBehindACausalQuery) {
  for (const char *dtype : {"bf16", "f32"})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: {0}[1, 2, 90, 16], %k: {0}[1, 2, 90, 16], %v: {0}[1, 2, 90, 16])
    -> ({0}[1, 2, 90, 16]) {{
  %y = attention(%q, %k, %v) {{causal = true}
  return %y
})",
                                           dtype)
                                 .str(),
                             loose([](std::vector<Tensor> &tensors) {
                               WideTensor keys = widen(tensors[1]);
                               keys.reals[70 * 16] = std::nan("");
                               tensors[1] = narrow(keys);
                             }));
}

TEST(AttentionEdges, GiveNaNForAnInfiniteScore) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17})
      expectMatchesInterpreter(maskedGraph(dtype, queries), loose([](std::vector<Tensor> &tensors) {
                                 fill(tensors[3],
                                      [](int64_t index) { return index == 4 ? INFINITY : 0.0; });
                               }));
}

TEST(AttentionEdges, AddASteepMaskUnscaled) {
  for (const char *dtype : {"bf16", "f32"})
    for (int queries : {1, 17})
      expectMatchesInterpreter(maskedGraph(dtype, queries), loose([](std::vector<Tensor> &tensors) {
                                 fill(tensors[3],
                                      [](int64_t index) { return -0.35 * (index % 17); });
                               }));
}

TEST(AttentionEdges, IgnoreWhatLiesBeyondTheLengths) {
  for (int queries : {1, 20})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: bf16[2, 4, {0}, 32], %k: bf16[2, 2, 200, 32], %v: bf16[2, 2, 200, 32], %n: i32[2])
    -> (bf16[2, 4, {0}, 32]) {{
  %y = attention(%q, %k, %v, lengths = %n) {{causal = true}
  return %y
})",
                                           queries)
                                 .str(),
                             loose([](std::vector<Tensor> &tensors) {
                               fillIntegers(tensors[3],
                                            [](int64_t batch) { return 3 + batch * 67; });
                               for (unsigned operand : {1, 2}) {
                                 WideTensor cache = widen(tensors[operand]);
                                 for (size_t index = 0; index < cache.reals.size(); ++index)
                                   if (index / 32 % 200 >= 3 + index / (400 * 32) * 67)
                                     cache.reals[index] = std::nan("");
                                 tensors[operand] = narrow(cache);
                               }
                             }));
}

TEST(AttentionEdges, TakeALengthOutsideOfTheCacheForItsNearestEnd) {
  for (int queries : {1, 20})
    expectMatchesInterpreter(
        llvm::formatv(R"(
graph @g(%q: bf16[2, 2, {0}, 16], %k: bf16[2, 2, 130, 16], %v: bf16[2, 2, 130, 16], %n: i32[2])
    -> (bf16[2, 2, {0}, 16]) {{
  %y = attention(%q, %k, %v, lengths = %n)
  return %y
})",
                      queries)
            .str(),
        loose([](std::vector<Tensor> &tensors) {
          fillIntegers(tensors[3], [](int64_t batch) { return batch ? 2147483647 : -2147483647; });
        }));
}

// Several tokens at a time and many heads of one group: up to 16 rows share the keys.
TEST(AttentionEdges, DecodeSeveralRowsOfOneKeyHead) {
  struct Case {
    int group, queries;
  };
  for (Case c : {Case{16, 1}, Case{3, 3}, Case{1, 13}, Case{4, 4}, Case{17, 1}})
    for (const char *dtype : {"bf16", "f64"})
      expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: {0}[2, {1}, {2}, 32], %k: {0}[2, 2, 150, 32], %v: {0}[2, 2, 150, 32], %n: i32[2])
    -> ({0}[2, {1}, {2}, 32]) {{
  %y = attention(%q, %k, %v, lengths = %n) {{causal = true}
  return %y
})",
                                             dtype, 2 * c.group, c.queries)
                                   .str(),
                               loose([](std::vector<Tensor> &tensors) {
                                 fillIntegers(tensors[3],
                                              [](int64_t batch) { return batch ? 5 : 131; });
                               }));
}

TEST(AttentionEdges, ReadLongHeads) {
  for (int headDim : {256, 512})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: bf16[1, 8, 1, {0}], %k: bf16[1, 1, 70, {0}], %v: bf16[1, 1, 70, {0}])
    -> (bf16[1, 8, 1, {0}]) {{
  %y = attention(%q, %k, %v)
  return %y
})",
                                           headDim)
                                 .str(),
                             loose());
}

TEST(AttentionEdges, SurviveEmptyCachesAndNoQueries) {
  for (const char *dims : {"1, 2, 0, 16", "0, 2, 5, 16"})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: bf16[{0}], %k: bf16[{0}], %v: bf16[{0}]) -> (bf16[{0}]) {{
  %y = attention(%q, %k, %v)
  return %y
})",
                                           dims)
                                 .str(),
                             loose());
  for (int queries : {1, 40})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%q: bf16[1, 2, {0}, 16], %k: bf16[1, 2, 0, 16], %v: bf16[1, 2, 0, 16])
    -> (bf16[1, 2, {0}, 16]) {{
  %y = attention(%q, %k, %v)
  return %y
})",
                                           queries)
                                 .str(),
                             loose());
}

TEST(AttentionEdges, BindEverySizeToOneCompilation) {
  for (int batch : {1, 3})
    for (int tokens : {1, 37, 65}) {
      CheckOptions options = loose();
      options.symbols["batch"] = batch;
      options.symbols["tokens"] = tokens;
      expectMatchesInterpreter(R"(
graph @g(%q: bf16[batch, 4, tokens, 32], %k: bf16[batch, 2, tokens, 32],
         %v: bf16[batch, 2, tokens, 32], %m: i1[batch, 1, 1, tokens])
    -> (bf16[batch, 4, tokens, 32]) {
  %y = attention(%q, %k, %v, mask = %m) {causal = true}
  return %y
})",
                               options);
    }
}

// Mask and lengths are computed where they are read; q, k and v are slices of one packed tensor.
TEST(AttentionEdges, ComputeMaskAndLengthsWhereTheyAreRead) {
  for (int queries : {1, 21})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @g(%qkv: bf16[2, {0}, 192], %slope: f32[4, 1, 1], %distance: f32[{0}, {0}], %p: i32[2])
    -> (bf16[2, {0}, 64]) {{
  %qf = slice(%qkv) {{starts = [0, 0, 0], limits = [2, {0}, 64]}
  %kf = slice(%qkv) {{starts = [0, 0, 64], limits = [2, {0}, 128]}
  %vf = slice(%qkv) {{starts = [0, 0, 128], limits = [2, {0}, 192]}
  %qs = reshape(%qf) {{shape = [2, {0}, 4, 16]}
  %ks = reshape(%kf) {{shape = [2, {0}, 4, 16]}
  %vs = reshape(%vf) {{shape = [2, {0}, 4, 16]}
  %q = transpose(%qs) {{permutation = [0, 2, 1, 3]}
  %k = transpose(%ks) {{permutation = [0, 2, 1, 3]}
  %v = transpose(%vs) {{permutation = [0, 2, 1, 3]}
  %one = constant {{value = 1} : i32[2]
  %n = add(%p, %one)
  %m = mul(%slope, %distance)
  %y = attention(%q, %k, %v, mask = %m, lengths = %n)
  %t = transpose(%y) {{permutation = [0, 2, 1, 3]}
  %r = reshape(%t) {{shape = [2, {0}, 64]}
  %z = silu(%r)
  return %z
})",
                                           queries)
                                 .str(),
                             loose());
}

// Names that the emitted text uses for itself.
TEST(AttentionEdges, SurviveNamesOfItsOwnText) {
  for (int queries : {1, 20})
    expectMatchesInterpreter(llvm::formatv(R"(
graph @attentionRows(%place: bf16[1, 2, {0}, 16], %keys: bf16[1, 2, 200, 16],
                     %output: bf16[1, 2, 200, 16], %share: i1[{0}, 200], %split: i32[1],
                     %isResult: bf16[1, 2, {0}, 16], %block: bf16[16])
    -> (bf16[1, 2, {0}, 16]) {{
  %row = attention(%place, %keys, %output, mask = %share, lengths = %split)
  %tile = add(%row, %isResult)
  %threads = mul(%tile, %block)
  return %threads
})",
                                           queries)
                                 .str(),
                             loose());
}

TEST(AttentionEdges, StayInsideTheGridOfAManyfoldBatch) {
  for (int queries : {1, 64}) {
    Compiled compiled = compileText(llvm::formatv(R"(
graph @g(%q: bf16[70000, 2, {0}, 16], %k: bf16[70000, 2, 64, 16], %v: bf16[70000, 2, 64, 16])
    -> (bf16[70000, 2, {0}, 16]) {{
  %y = attention(%q, %k, %v)
  return %y
})",
                                                  queries)
                                        .str());
    const Kernel &kernel = compiled.program.kernels.front();
    for (unsigned axis : {1, 2})
      EXPECT_LE(*kernel.grid[axis].constant(), 65535);
  }
}

} // namespace
