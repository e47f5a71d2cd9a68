// Map and row kernels of many shapes through NVRTC for every target: they compile, keep their
// values in registers, and need no stack.
#include "tests/layers/kernel_checker.h"

#include "runtime/compiler.h"

#include "llvm/ADT/StringExtras.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

// CUDA's sin and cos reduce large arguments by a table on the stack.
bool needsStack(const Kernel &kernel) {
  return llvm::any_of(kernel.ops, [](llvm::StringRef op) {
    return op.ends_with("= sin") || op.ends_with("= cos");
  });
}

void expectCompiles(llvm::StringRef text) {
  for (const char *arch : {"sm_80", "sm_90a", "sm_100"}) {
    Compiled compiled = compileText(text, arch);
    std::vector<std::string> warnings;
    auto kernels = compileKernels(compiled.program, {}, warnings);
    ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
    for (const auto &[kernel, source] : llvm::zip(*kernels, compiled.program.kernels)) {
      EXPECT_EQ(kernel.resources.spillBytes, 0u) << arch << "\n" << source.source;
      EXPECT_TRUE(kernel.resources.stackBytes == 0 || needsStack(source)) << arch << "\n"
                                                                          << source.source;
    }
  }
}

std::string norm(llvm::StringRef dtype, int rows, int columns) {
  return llvm::formatv(R"(
graph @g(%x: {0}[{1}, {2}], %r: {0}[{1}, {2}], %g: {0}[{2}], %b: {0}[{2}])
    -> ({0}[{1}, {2}], {0}[{1}, {2}]) {{
  %s = add(%x, %r)
  %y = layer_norm(%s, %g, %b)
  return %s, %y
})",
                       dtype, rows, columns)
      .str();
}

TEST(Nvrtc, KeepsRowsOfEveryLengthInRegisters) {
  for (const char *dtype : {"bf16", "f32", "f64"})
    for (int columns : {3, 64, 776, 4096, 16384, 16385, 65536})
      expectCompiles(norm(dtype, 512, columns));
}

TEST(Nvrtc, KeepsFewLongRowsInRegisters) {
  for (int columns : {2048, 8192, 50257})
    expectCompiles(norm("bf16", 1, columns));
}

TEST(Nvrtc, CompilesMapsWithEveryKindOfAccess) {
  expectCompiles(R"(
graph @g(%x: bf16[1, 8, 512, 64], %cos: bf16[512, 64], %sin: bf16[512, 64],
         %cache: mut bf16[1, 8, 1024, 64], %p: i32[], %t: f32[64, 8] strides [1, 64], %m: i1[8, 1],
         %h: f16[64], %q: f8e4m3[8, 64]) -> (bf16[1, 8, 1024, 64], f32[8, 64], i64[8, 64]) {
  %y = rope(%x, %cos, %sin)
  %c = kv_update(%cache, %y, %p)
  %tt = transpose(%t) {permutation = [1, 0]}
  %w = cast(%h) {to = f32}
  %e = cast(%q) {to = f32}
  %a = add(%tt, %w)
  %b = mul(%a, %e)
  %s = select(%m, %a, %b)
  %g = gelu(%s)
  %i = cast(%g) {to = i64}
  return %c, %g, %i
})");
}

TEST(Nvrtc, CompilesEveryElementwiseOp) {
  std::string text =
      "graph @g(%x: f32[8], %y: f32[8], %a: i1[8], %b: i1[8], %i: i32[8]) -> (f32[8]";
  std::string body, results = "%x_copy";
  body = "  %x_copy = mul(%x, %y)\n";
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  {                                                                                                \
    bool isBoolean = llvm::StringRef(#domain) == "boolean";                                        \
    std::string dtype = isBoolean ? "i1" : "f32";                                                  \
    std::string operands = isBoolean ? "%a, %b, %a" : "%x, %y, %x_copy";                           \
    llvm::SmallVector<llvm::StringRef, 3> list;                                                    \
    llvm::StringRef(operands).split(list, ", ");                                                   \
    list.resize(arity);                                                                            \
    body += std::string("  %r_" #name " = " #name "(") + llvm::join(list, ", ") + ")\n";           \
    bool givesBoolean = isBoolean || llvm::StringRef(#result) == "boolean";                        \
    text += givesBoolean ? ", i1[8]" : ", f32[8]";                                                 \
    results += ", %r_" #name;                                                                      \
  }
#include "ir/ops.def"
  expectCompiles(text + ") {\n" + body + "  return " + results + "\n}\n");
}

} // namespace
