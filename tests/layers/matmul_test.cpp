// Matmul groups on the simulator against the interpreter, and through NVRTC for every target.
#include "tests/layers/kernel_checker.h"

#include "runtime/compiler.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

struct Case {
  const char *name;
  const char *text;
};

const Case kCases[] = {
    {"BiasAndGelu",
     R"(graph @bias_gelu(%x: bf16[5, 72], %w: bf16[72, 40], %b: bf16[40]) -> (bf16[5, 40]) {
  %y = matmul(%x, %w)
  %z = add(%y, %b)
  %g = gelu(%z)
  return %g
}
)"},
    {"ResidualOfOddColumns",
     R"(graph @residual_odd(%x: bf16[17, 72], %w: bf16[41, 72], %r: bf16[17, 41]) -> (bf16[17, 41]) {
  %y = matmul(%x, %w) {transpose_b = true}
  %z = add(%r, %y)
  return %z
}
)"},
    {"OneRowOfF32", R"(graph @one_row_f32(%x: f32[1, 33], %w: f32[33, 19]) -> (f32[1, 19]) {
  %y = matmul(%x, %w)
  return %y
}
)"},
    {"ManyRowsOfF64", R"(graph @f64_many(%x: f64[64, 9], %w: f64[9, 70]) -> (f64[64, 70]) {
  %y = matmul(%x, %w)
  return %y
}
)"},
    {"GatedPairOfFewRows",
     R"(graph @gated(%x: bf16[2, 64], %g: bf16[48, 64], %u: bf16[48, 64]) -> (bf16[2, 48]) {
  %a = matmul(%x, %g) {transpose_b = true}
  %b = matmul(%x, %u) {transpose_b = true}
  %y = swiglu(%a, %b)
  return %y
}
)"},
    {"GatedPairOfManyRows",
     R"(graph @gated_many(%x: f16[65, 64], %g: f16[64, 72], %u: f16[64, 72]) -> (f16[65, 72]) {
  %a = matmul(%x, %g)
  %b = matmul(%x, %u)
  %y = swiglu(%a, %b)
  return %y
}
)"},
    {"NormInFrontOfAGatedPair",
     R"(graph @norm_gated(%x: bf16[2, 1, 264], %n: bf16[264], %g: bf16[48, 264], %u: bf16[48, 264]) -> (bf16[2, 1, 48]) {
  %h = rms_norm(%x, %n) {axis = -1, eps = 1.0e-5}
  %a = matmul(%h, %g) {transpose_b = true}
  %b = matmul(%h, %u) {transpose_b = true}
  %y = swiglu(%a, %b)
  return %y
}
)"},
    {"NormOfAsManyRowsAsWarps",
     R"(graph @norm_ten_rows(%x: f32[10, 40], %n: f32[40], %m: f32[40], %w: f32[40, 24]) -> (f32[10, 24]) {
  %h = layer_norm(%x, %n, %m) {axis = -1, eps = 1.0e-5}
  %a = matmul(%h, %w)
  return %a
}
)"},
    {"SiblingsWithRopeAndCache",
     R"(graph @qkv(%x: bf16[1, 2, 64], %n: bf16[64], %wq: bf16[128, 64], %wk: bf16[64, 64], %wv: bf16[64, 64], %c: bf16[2, 32], %s: bf16[2, 32], %kc: mut bf16[1, 2, 8, 32], %pos: i32[]) -> (bf16[1, 4, 2, 32], bf16[1, 2, 2, 32], bf16[1, 2, 8, 32]) {
  %h = rms_norm(%x, %n) {axis = -1, eps = 1.0e-5}
  %q = matmul(%h, %wq) {transpose_b = true}
  %k = matmul(%h, %wk) {transpose_b = true}
  %v = matmul(%h, %wv) {transpose_b = true}
  %q4 = reshape(%q) {shape = [1, 2, 4, 32]}
  %qt = transpose(%q4) {permutation = [0, 2, 1, 3]}
  %qr = rope(%qt, %c, %s) {style = "half"}
  %k4 = reshape(%k) {shape = [1, 2, 2, 32]}
  %kt = transpose(%k4) {permutation = [0, 2, 1, 3]}
  %kr = rope(%kt, %c, %s) {style = "interleaved"}
  %keys = kv_update(%kc, %kr, %pos) {axis = 2}
  %v4 = reshape(%v) {shape = [1, 2, 2, 32]}
  %vt = transpose(%v4) {permutation = [0, 2, 1, 3]}
  return %qr, %vt, %keys
}
)"},
    {"RopeOfHeadsThatDoNotDivideATile",
     R"(graph @qkv_many(%x: bf16[1, 20, 64], %wq: bf16[192, 64], %wk: bf16[96, 64], %c: bf16[20, 96], %s: bf16[20, 96]) -> (bf16[1, 2, 20, 96], bf16[1, 1, 20, 96]) {
  %q = matmul(%x, %wq) {transpose_b = true}
  %k = matmul(%x, %wk) {transpose_b = true}
  %q4 = reshape(%q) {shape = [1, 20, 2, 96]}
  %qt = transpose(%q4) {permutation = [0, 2, 1, 3]}
  %qr = rope(%qt, %c, %s) {style = "half"}
  %k4 = reshape(%k) {shape = [1, 20, 1, 96]}
  %kt = transpose(%k4) {permutation = [0, 2, 1, 3]}
  %kr = rope(%kt, %c, %s) {style = "half"}
  return %qr, %kr
}
)"},
    {"SlicesOfAPackedResult",
     R"(graph @packed(%x: bf16[3, 64], %w: bf16[64, 96], %b: bf16[96]) -> (bf16[3, 32], bf16[3, 32], bf16[3, 32]) {
  %y = matmul(%x, %w)
  %z = add(%y, %b)
  %q = slice(%z) {starts = [0, 0], limits = [3, 32]}
  %k = slice(%z) {starts = [0, 32], limits = [3, 64]}
  %v = slice(%z) {starts = [0, 64], limits = [3, 96]}
  %qg = silu(%q)
  %kn = neg(%k)
  %vn = exp(%v)
  return %qg, %kn, %vn
}
)"},
    {"SymbolicRows",
     R"(graph @symbolic(%x: bf16[b, s, 64], %w: bf16[72, 64], %r: bf16[b, s, 72]) -> (bf16[b, s, 72]) {
  %y = matmul(%x, %w) {transpose_b = true}
  %z = add(%y, %r)
  return %z
}
)"},
    {"BatchesOfSymbolicSizes",
     R"(graph @batched(%x: bf16[2, 3, s, 16], %w: bf16[2, 3, t, 16]) -> (bf16[2, 3, s, t]) {
  %y = matmul(%x, %w) {transpose_b = true}
  return %y
}
)"},
    {"BroadcastBatches",
     R"(graph @broadcast_batch(%x: f32[3, 1, 5, 7], %w: f32[4, 7, 6]) -> (f32[3, 4, 5, 6]) {
  %y = matmul(%x, %w)
  return %y
}
)"},
    {"TransposedLeftOperand",
     R"(graph @transposed_a(%x: f16[64, 24], %w: f16[64, 24]) -> (f16[24, 24]) {
  %y = matmul(%x, %w) {transpose_a = true}
  return %y
}
)"},
    {"StridedOperands",
     R"(graph @strided(%x: f32[2, 3, 8] strides [64, 8, 1], %w: f32[8, 8] strides [1, 9]) -> (f32[2, 3, 8]) {
  %y = matmul(%x, %w)
  return %y
}
)"},
    {"ResultAndItsSum",
     R"(graph @two_outputs(%x: bf16[4, 64], %w: bf16[64, 32], %r: bf16[4, 32]) -> (bf16[4, 32], bf16[4, 32]) {
  %y = matmul(%x, %w)
  %z = add(%y, %r)
  return %y, %z
}
)"},
    {"TransposedLeftOperandOfFewRows",
     R"(graph @transposed_a_few(%x: f16[2, 64, 8], %w: f16[64, 24]) -> (f16[2, 8, 24]) {
  %y = matmul(%x, %w) {transpose_a = true}
  return %y
}
)"},
    {"BothOperandsTransposed",
     R"(graph @both_transposed(%x: f16[64, 24], %w: f16[30, 64]) -> (f16[24, 30]) {
  %y = matmul(%x, %w) {transpose_a = true, transpose_b = true}
  return %y
}
)"},
    {"SixteenDeepRows",
     R"(graph @deep_few(%x: bf16[16, 1032], %w: bf16[10, 1032]) -> (bf16[16, 10]) {
  %y = matmul(%x, %w) {transpose_b = true}
  return %y
}
)"},
    {"PointwisePrologueThatIsReturned",
     R"(graph @prologue_silu(%x: bf16[3, 64], %w: bf16[64, 24]) -> (bf16[3, 24], bf16[3, 64]) {
  %a = silu(%x)
  %y = matmul(%a, %w)
  return %y, %a
}
)"},
    {"NormWhoseInputIsReturned",
     R"(graph @norm_out(%x: bf16[3, 64], %r: bf16[3, 64], %n: bf16[64], %w: bf16[64, 24]) -> (bf16[3, 24], bf16[3, 64]) {
  %h = add(%x, %r)
  %a = rms_norm(%h, %n) {axis = -1, eps = 1.0e-5}
  %y = matmul(%a, %w)
  return %y, %h
}
)"},
    {"DepthOfEight", R"(graph @depth8(%x: bf16[197, 8], %w: bf16[8, 16]) -> (bf16[197, 16]) {
  %y = matmul(%x, %w)
  %z = gelu_tanh(%y)
  return %z
}
)"},
    {"RopeOfHeadsThatDoNotDivideAFewRowTile",
     R"(graph @rope_span_few(%x: bf16[2, 64], %w: bf16[160, 64], %c: bf16[2, 80], %s: bf16[2, 80]) -> (bf16[2, 2, 80]) {
  %q = matmul(%x, %w) {transpose_b = true}
  %q3 = reshape(%q) {shape = [2, 2, 80]}
  %qt = transpose(%q3) {permutation = [1, 0, 2]}
  %r = rope(%qt, %c, %s) {style = "half"}
  return %r
}
)"},
    {"RopeOfSymbolicRows",
     R"(graph @sym_rope(%x: bf16[b, s, 64], %w: bf16[128, 64], %c: bf16[s, 32], %d: bf16[s, 32]) -> (bf16[b, 4, s, 32]) {
  %q = matmul(%x, %w) {transpose_b = true}
  %q3 = reshape(%q) {shape = [b, s, 4, 32]}
  %qt = transpose(%q3) {permutation = [0, 2, 1, 3]}
  %r = rope(%qt, %c, %d) {style = "half"}
  return %r
}
)"},
    {"SlicesOfManyRows",
     R"(graph @packed_many(%x: f16[2, 40, 64], %w: f16[64, 96], %b: f16[96]) -> (f16[2, 2, 40, 16], f16[2, 40, 32], f16[2, 40, 32]) {
  %y = matmul(%x, %w)
  %z = add(%y, %b)
  %q = slice(%z) {starts = [0, 0, 0], limits = [2, 40, 32]}
  %k = slice(%z) {starts = [0, 0, 32], limits = [2, 40, 64]}
  %v = slice(%z) {starts = [0, 0, 64], limits = [2, 40, 96]}
  %q4 = reshape(%q) {shape = [2, 40, 2, 16]}
  %qt = transpose(%q4) {permutation = [0, 2, 1, 3]}
  %kn = neg(%k)
  %vn = silu(%v)
  return %qt, %kn, %vn
}
)"},
    {"ThreeMatmulsOfOneEpilogue",
     R"(graph @three(%x: f32[3, 20], %u: f32[20, 24], %v: f32[20, 24], %w: f32[20, 24]) -> (f32[3, 24]) {
  %a = matmul(%x, %u)
  %b = matmul(%x, %v)
  %c = matmul(%x, %w)
  %d = mul(%a, %b)
  %e = sub(%d, %c)
  return %e
}
)"},
    {"MatmulsOfDifferentLayouts",
     R"(graph @mixed(%x: f32[20, 20], %u: f32[20, 24], %v: f32[24, 20]) -> (f32[20, 24]) {
  %a = matmul(%x, %u)
  %vt = transpose(%v) {permutation = [1, 0]}
  %b = matmul(%x, %vt)
  %d = mul(%a, %b)
  return %d
}
)"},
};

CheckOptions symbols() {
  CheckOptions options;
  options.symbols["b"] = 3;
  options.symbols["s"] = 23;
  options.symbols["t"] = 9;
  options.arrange = [](std::vector<Tensor> &arguments) {
    for (Tensor &argument : arguments)
      if (argument.dtype == DType::i32)
        argument.bytes.assign(argument.bytes.size(), std::byte(0));
  };
  return options;
}

class MatmulGroup : public ::testing::TestWithParam<Case> {};

TEST_P(MatmulGroup, ComputesWhatTheInterpreterDoes) {
  expectMatchesInterpreter(GetParam().text, symbols());
}

TEST_P(MatmulGroup, CompilesForEveryTargetWithoutSpillsOrStack) {
  for (const char *arch : {"sm_80", "sm_90a", "sm_100"}) {
    Compiled compiled = compileText(GetParam().text, arch);
    std::vector<std::string> warnings;
    auto kernels = compileKernels(compiled.program, {}, warnings);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    for (const CompiledKernel &kernel : *kernels) {
      EXPECT_EQ(kernel.resources.spillBytes, 0u) << arch;
      EXPECT_EQ(kernel.resources.stackBytes, 0u) << arch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, MatmulGroup, ::testing::ValuesIn(kCases),
                         [](const auto &info) { return std::string(info.param.name); });

std::string plain(int rows, int columns, int depth, const std::string &dtype, bool transposed) {
  std::string weights = transposed ? llvm::formatv("[{0}, {1}]", columns, depth).str()
                                   : llvm::formatv("[{0}, {1}]", depth, columns).str();
  return llvm::formatv(R"(
graph @g(%x: {0}[{1}, {2}], %w: {0}{3}, %b: {0}[{4}]) -> ({0}[{1}, {4}]) {{
  %y = matmul(%x, %w) {{transpose_b = {5}}
  %z = add(%y, %b)
  return %z
})",
                       dtype, rows, depth, weights, columns, transposed ? "true" : "false");
}

TEST(MatmulSizes, MatchForEveryNumberOfRows) {
  for (int rows : {1, 2, 5, 16, 17, 64, 197})
    for (bool transposed : {false, true})
      expectMatchesInterpreter(plain(rows, 72, 24, "bf16", transposed));
}

TEST(MatmulSizes, MatchForOddColumnsAndDepths) {
  for (const char *dtype : {"f16", "f32", "f64"})
    for (int rows : {3, 19})
      for (bool transposed : {false, true})
        expectMatchesInterpreter(plain(rows, 37, 13, dtype, transposed));
}

TEST(MatmulUpdate, OutsideTheCacheWritesNothing) {
  CheckOptions options;
  options.arrange = [](std::vector<Tensor> &arguments) {
    int32_t outside = 7;
    std::memcpy(arguments[3].bytes.data(), &outside, sizeof(outside));
  };
  expectMatchesInterpreter(R"(
graph @g(%x: bf16[1, 2, 64], %w: bf16[32, 64], %cache: mut bf16[1, 8, 32], %position: i32[]) -> (bf16[1, 8, 32]) {
  %y = matmul(%x, %w) {transpose_b = true}
  %new = kv_update(%cache, %y, %position) {axis = 1}
  return %new
})",
                           options);
}

} // namespace
