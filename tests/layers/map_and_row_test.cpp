#include "tests/layers/kernel_checker.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

std::string unaryGraph(const std::string &op, const std::string &type) {
  return "graph @g(%x: " + type + ") -> (" + type + ") {\n  %y = " + op + "(%x)\n  return %y\n}\n";
}

TEST(MapKernel, ComputesOnOddAndVectorSizes) {
  for (const char *type :
       {"f32[3, 5]", "bf16[8, 64]", "f16[7, 24]", "f64[4, 6]", "f32[1]", "f32[]"})
    expectMatchesInterpreter(unaryGraph("gelu", type));
}

TEST(MapKernel, BroadcastsAndSelects) {
  expectMatchesInterpreter(R"(
graph @g(%a: bf16[4, 1, 16], %b: bf16[3, 16], %c: i1[4, 3, 1]) -> (bf16[4, 3, 16]) {
  %s = add(%a, %b)
  %y = select(%c, %s, %a)
  return %y
})");
}

TEST(MapKernel, ReadsStridedArguments) {
  expectMatchesInterpreter(R"(
graph @g(%a: f32[4, 6] strides [1, 4], %b: f32[6] strides [-1] offset 5) -> (f32[4, 6]) {
  %y = mul(%a, %b)
  return %y
})");
}

TEST(MapKernel, StoresReturnedViews) {
  expectMatchesInterpreter(R"(
graph @g(%a: f32[4, 6, 8]) -> (f32[8, 4, 3], f32[4, 48]) {
  %s = slice(%a) {starts = [0, 1, 0], limits = [4, 4, 8]}
  %t = transpose(%s) {permutation = [2, 0, 1]}
  %r = reshape(%a) {shape = [4, 48]}
  return %t, %r
})");
}

TEST(MapKernel, WrapsIntegers) {
  expectMatchesInterpreter(R"(
graph @g(%a: i8[64], %b: i8[64]) -> (i8[64], i8[64]) {
  %c = constant {value = 100} : i8[]
  %p = mul(%a, %c)
  %q = floor_div(%p, %b)
  return %p, %q
})");
}

TEST(MapKernel, ServesEverySizeOfASymbol) {
  CheckOptions options;
  options.symbols["batch"] = 5;
  expectMatchesInterpreter(R"(
graph @g(%a: bf16[batch, 24], %b: bf16[24]) -> (bf16[batch, 24]) {
  %s = add(%a, %b)
  %y = silu(%s)
  return %y
})",
                           options);
}

TEST(MapKernel, RotatesBothStyles) {
  for (const char *style : {"half", "interleaved"})
    expectMatchesInterpreter(std::string(R"(
graph @g(%x: f32[2, 3, 5, 16], %cos: f32[5, 16], %sin: f32[5, 16]) -> (f32[2, 3, 5, 16]) {
  %y = rope(%x, %cos, %sin) {style = ")") +
                             style + "\"}\n  return %y\n}");
}

TEST(MapKernel, RotatesANegativeConstant) {
  expectMatchesInterpreter(R"(
graph @g(%cos: f32[5, 16], %sin: f32[5, 16]) -> (f32[3, 5, 16]) {
  %c = constant {value = -2.5} : f32[3, 5, 16]
  %y = rope(%c, %cos, %sin)
  return %y
})");
}

TEST(MapKernel, UpdatesACacheInPlace) {
  expectMatchesInterpreter(R"(
graph @g(%cache: mut bf16[2, 3, 16, 8], %new: bf16[2, 3, 4, 8], %position: i32[2])
    -> (bf16[2, 3, 16, 8]) {
  %doubled = add(%new, %new)
  %y = kv_update(%cache, %doubled, %position)
  return %y
})");
}

TEST(RowKernel, ReducesRowsOfManyLengths) {
  for (int columns : {1, 2, 3, 17, 31, 32, 33, 64, 100, 768, 1023, 4096, 20000}) {
    std::string type = "f32[3, " + std::to_string(columns) + "]";
    expectMatchesInterpreter("graph @g(%x: " + type + ") -> (" + type +
                             ") {\n  %y = softmax(%x)\n  return %y\n}\n");
  }
}

TEST(RowKernel, NormalizesInEveryFloatingType) {
  for (const char *dtype : {"f32", "f16", "bf16", "f64"})
    for (const char *columns : {"13", "64", "776"}) {
      std::string row = std::string(dtype) + "[" + columns + "]";
      std::string full = std::string(dtype) + "[2, 3, " + columns + "]";
      expectMatchesInterpreter("graph @g(%x: " + full + ", %g: " + row + ", %b: " + row + ") -> (" +
                               full + ", " + full + ") {\n  %y = layer_norm(%x, %g, %b)\n" +
                               "  %z = rms_norm(%x, %g) {eps = 1.0e-6}\n  return %y, %z\n}\n");
    }
}

// 8 elements make a vector, so that rows of an odd length begin anywhere in one.
TEST(RowKernel, CutsRowsThatBeginInsideAVector) {
  for (const char *shape : {"[9, 33]", "[17, 257]", "[5, 1031]", "[3, 6145]", "[2, 16, 1023]"}) {
    for (const char *type : {"bf16", "f32"}) {
      std::string tensor = std::string(type) + shape;
      std::string vector =
          std::string(type) + "[" + std::string(llvm::StringRef(shape).rsplit(' ').second);
      expectMatchesInterpreter("graph @g(%x: " + tensor + ", %r: " + tensor + ", %g: " + vector +
                               ") -> (" + tensor + ", " + tensor + R"() {
  %t = add(%x, %r)
  %y = rms_norm(%t, %g)
  return %t, %y
})");
      expectMatchesInterpreter(unaryGraph("softmax", tensor));
    }
  }
}

// The f32 result decides the width of a chunk.
TEST(RowKernel, CutsRowsOfSeveralTypes) {
  expectMatchesInterpreter(R"(
graph @g(%x: bf16[4, 2051]) -> (f32[4, 2051], f32[4]) {
  %wide = cast(%x) {to = f32}
  %y = log_softmax(%wide) {axis = -1}
  %m = reduce_max(%wide) {axes = [1]}
  return %y, %m
})");
}

TEST(RowKernel, ReducesAnyAxes) {
  for (const char *axes : {"[0]", "[1]", "[0, 2]", "[0, 1, 2]"})
    for (const char *op : {"reduce_sum", "reduce_max", "reduce_mean", "reduce_min"}) {
      std::string text = std::string("graph @g(%x: f32[6, 10, 12]) -> (f32[]) {\n  %s = ") + op +
                         "(%x) {axes = " + axes + "}\n  %y = reduce_sum(%s)\n  return %y\n}\n";
      CheckOptions options;
      options.tolerance = 1e-4;
      expectMatchesInterpreter(text, options);
    }
}

TEST(RowKernel, TakesTheVarianceAsPyTorchDoes) {
  CheckOptions options;
  options.symbols["n"] = 33;
  expectMatchesInterpreter(R"(
graph @g(%x: f16[4, 9, n]) -> (f16[4, 9], f16[4, 9, 1], f16[n], f16[4, n]) {
  %a = reduce_var(%x) {axes = [2]}
  %b = reduce_var(%x) {axes = [2], correction = 0, keepdims = true}
  %c = reduce_var(%x) {axes = [0, 1], correction = 2.5}
  %d = reduce_var(%x) {axes = [1], correction = 10}
  return %a, %b, %c, %d
})",
                           options);
}

TEST(RowKernel, FindsNoMeanInAnEmptyRow) {
  CheckOptions options;
  options.symbols["n"] = 0;
  expectMatchesInterpreter(R"(
graph @g(%x: f32[3, 0], %y: bf16[3, n]) -> (f32[3], bf16[3], f32[3, 0], bf16[3, n]) {
  %a = reduce_mean(%x) {axes = [1]}
  %b = reduce_mean(%y) {axes = [1]}
  %c = softmax(%x)
  %d = softmax(%y)
  return %a, %b, %c, %d
})",
                           options);
}

TEST(RowKernel, KeepsTheResidualItAdds) {
  expectMatchesInterpreter(R"(
graph @g(%x: bf16[5, 96], %r: bf16[5, 96], %g: bf16[96]) -> (bf16[5, 96], bf16[5, 96]) {
  %s = add(%x, %r)
  %y = rms_norm(%s, %g)
  return %s, %y
})");
}

// The row's mean is subtracted from what was stored: the sum of the difference is that of the
// rounding.
TEST(RowKernel, UsesTheValueThatItStores) {
  CheckOptions options;
  options.tolerance = 1e-6;
  options.roundToStorage = true;
  expectMatchesInterpreter(R"(
graph @g(%x: bf16[4, 64], %r: bf16[4, 64]) -> (bf16[4, 64], f32[4, 64]) {
  %s = add(%x, %r)
  %wide = cast(%s) {to = f32}
  %m = reduce_max(%wide) {axes = [1], keepdims = true}
  %y = sub(%wide, %m)
  return %s, %y
})",
                           options);
}

TEST(RowKernel, PropagatesNaNAndSurvivesLargeNumbers) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    WideTensor wide = widen(arguments[0]);
    std::fill(wide.reals.begin(), wide.reals.begin() + 768, 8.5071e37);
    wide.reals[800] = std::nan("");
    arguments[0] = narrow(wide);
  };
  expectMatchesInterpreter(R"(
graph @g(%x: f32[2, 768]) -> (f32[2], f32[2]) {
  %m = reduce_mean(%x) {axes = [1]}
  %n = reduce_max(%x) {axes = [1]}
  return %m, %n
})",
                           options);
}

} // namespace
