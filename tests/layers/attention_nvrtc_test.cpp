// Attention kernels of many shapes through NVRTC for every target: no spill, no stack frame.
#include "tests/layers/kernel_checker.h"

#include "runtime/compiler.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

// Attentions side by side in one graph, so that their kernels compile in parallel.
class Attentions {
public:
  void add(llvm::StringRef dtype, int group, int queries, int headDim, bool hasMask = false,
           bool isCausal = false, bool hasLengths = false) {
    std::string n = std::to_string(count_++);
    std::string q = llvm::formatv("{0}[1, {1}, {2}, {3}]", dtype, 2 * group, queries, headDim);
    std::string kv = llvm::formatv("{0}[1, 2, 1024, {1}]", dtype, headDim);
    arguments_ +=
        llvm::formatv("{0}%q{1}: {2}, %k{1}: {3}, %v{1}: {3}", n == "0" ? "" : ", ", n, q, kv);
    std::string labels;
    if (hasMask) {
      arguments_ += ", %m" + n + ": f32[1, 1, " + std::to_string(queries) + ", 1024]";
      labels += ", mask = %m" + n;
    }
    if (hasLengths) {
      arguments_ += ", %n" + n + ": i32[1]";
      labels += ", lengths = %n" + n;
    }
    types_ += (n == "0" ? "" : ", ") + q;
    results_ += (n == "0" ? "%y" : ", %y") + n;
    body_ += llvm::formatv("  %y{0} = attention(%q{0}, %k{0}, %v{0}{1}) {{causal = {2}}\n", n,
                           labels, isCausal ? "true" : "false");
  }

  void expectNoSpills() const {
    std::string text = "graph @g(" + arguments_ + ") -> (" + types_ + ") {\n" + body_ +
                       "  return " + results_ + "\n}\n";
    for (const char *arch : {"sm_80", "sm_90a", "sm_100"}) {
      Compiled compiled = compileText(text, arch);
      std::vector<std::string> warnings;
      auto kernels = compileKernels(compiled.program, {}, warnings);
      ASSERT_TRUE(bool(kernels)) << llvm::toString(kernels.takeError());
      ASSERT_EQ(kernels->size(), count_);
      for (const auto &[kernel, source] : llvm::zip(*kernels, compiled.program.kernels)) {
        EXPECT_EQ(kernel.resources.spillBytes, 0u) << arch << "\n" << source.source;
        EXPECT_EQ(kernel.resources.stackBytes, 0u) << arch << "\n" << source.source;
      }
    }
  }

private:
  std::string arguments_, types_, body_, results_;
  size_t count_ = 0;
};

constexpr int kHeadDims[] = {16, 32, 64, 80, 96, 128};

TEST(AttentionNvrtc, PrefillsWithoutSpills) {
  Attentions attentions;
  for (int headDim : kHeadDims) {
    attentions.add("bf16", 1, 512, headDim);
    attentions.add(headDim % 32 ? "bf16" : "f16", 4, 512, headDim, /*hasMask=*/true,
                   /*isCausal=*/true, /*hasLengths=*/true);
  }
  attentions.expectNoSpills();
}

TEST(AttentionNvrtc, DecodesWithoutSpills) {
  Attentions attentions;
  for (int headDim : kHeadDims)
    for (int group : {1, 8})
      attentions.add("bf16", group, 1, headDim, group == 8, group == 8, /*hasLengths=*/true);
  attentions.add("bf16", 16, 1, 64, false, false, /*hasLengths=*/true);
  attentions.add("f16", 8, 1, 128, /*hasMask=*/true, /*isCausal=*/true, /*hasLengths=*/true);
  attentions.expectNoSpills();
}

TEST(AttentionNvrtc, ComputesInWideTypesWithoutSpills) {
  for (const char *dtype : {"f32", "f64"}) {
    Attentions attentions;
    for (int headDim : {16, 64, 80, 128}) {
      attentions.add(dtype, 2, 512, headDim, /*hasMask=*/true, /*isCausal=*/true,
                     /*hasLengths=*/true);
      attentions.add(dtype, 8, 1, headDim);
    }
    attentions.expectNoSpills();
  }
}

TEST(AttentionNvrtc, ReadsLongAndOddHeadsWithoutSpills) {
  for (const char *dtype : {"bf16", "f32", "f64"}) {
    Attentions attentions;
    for (int headDim : {7, 129, 256, 576}) {
      attentions.add(dtype, 1, 40, headDim, /*hasMask=*/true);
      attentions.add(dtype, 8, 1, headDim);
    }
    attentions.expectNoSpills();
  }
}

} // namespace
