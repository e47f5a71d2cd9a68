// Whole graphs to programs: buffers, names, and the text of map and row kernels.
#include "codegen/emitter.h"
#include "ir/parse.h"
#include "tests/codegen/planned.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

using namespace warploom;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

namespace {

Program programOf(llvm::StringRef text) {
  Module module = llvm::cantFail(parseModule(text, "test.loom"));
  return planned(std::move(module.graphs.front()));
}

std::string fileText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

TEST(Generate, StoresAnUpdateInItsArgument) {
  Program program = programOf(R"(
graph @g(%cache: mut f32[1, 2, 8, 4], %new: f32[1, 2, 1, 4], %position: i32[])
    -> (f32[1, 2, 8, 4], f32[1, 2, 8, 4]) {
  %y = kv_update(%cache, %new, %position)
  %z = neg(%y)
  return %y as "cache", %z
})");
  EXPECT_EQ(program.results[0].buffer, program.arguments[0]);
  EXPECT_EQ(program.buffers[program.results[0].buffer].kind, BufferKind::mutable_);
  EXPECT_EQ(program.results[0].name, "cache");
  EXPECT_THAT(program.edges, ElementsAre(Edge{0, 1}));
}

TEST(Generate, ReturnsOneBufferForOneValue) {
  Program program = programOf(R"(
graph @g(%x: f32[4, 8]) -> (f32[4, 8], f32[4, 8]) {
  %y = exp(%x)
  return %y, %y
})");
  EXPECT_EQ(program.results[0].buffer, program.results[1].buffer);
  EXPECT_EQ(program.kernels.size(), 1u);
}

TEST(Generate, ReturnsAReshapeOfAResultInTheSameBuffer) {
  Program program = programOf(R"(
graph @g(%x: f32[4, 8]) -> (f32[4, 8], f32[32]) {
  %y = exp(%x)
  %z = reshape(%y) {shape = [32]}
  return %y, %z
})");
  EXPECT_EQ(program.results[0].buffer, program.results[1].buffer);
  EXPECT_THAT(program.results[0].dims, ElementsAre(SizeExpr(4), SizeExpr(8)));
  EXPECT_THAT(program.results[1].dims, ElementsAre(SizeExpr(32)));
}

TEST(Generate, CopiesAReshapeOfAnUpdatedArgumentWithGaps) {
  Program program = programOf(R"(
graph @g(%cache: mut f32[4, 8] strides [16, 1], %new: f32[1, 8], %position: i32[]) -> (f32[32]) {
  %y = kv_update(%cache, %new, %position) {axis = 0}
  %z = reshape(%y) {shape = [32]}
  return %z
})");
  EXPECT_NE(program.results[0].buffer, program.arguments[0]);
}

TEST(Generate, SharesTheFunctionOfKernelsThatDifferInNamesAlone) {
  Program program = programOf(R"(
graph @g(%x: f32[4, 8], %y: f32[4, 8], %z: f32[4, 9])
    -> (f32[4, 8], f32[4, 8], f32[4, 9]) {
  %a = softmax(%x)
  %b = softmax(%y)
  %c = softmax(%z)
  return %a, %b, %c
})");
  ASSERT_EQ(program.kernels.size(), 3u);
  std::map<std::string, unsigned> kernelsOf;
  for (const Kernel &kernel : program.kernels) {
    ++kernelsOf[kernel.symbol()];
    EXPECT_NE(kernel.source.find("\n" + kernel.symbol() + "("), std::string::npos);
    for (const KernelArgument &argument : kernel.arguments)
      EXPECT_NE(kernel.source.find(argument.name), std::string::npos);
  }
  EXPECT_EQ(kernelsOf.size(), 2u);
}

TEST(Generate, LeavesUnusedArgumentsOutOfKernels) {
  Program program = programOf(R"(
graph @g(%x: f32[4], %unused: f32[0]) -> (f32[4]) {
  %y = exp(%x)
  return %y
})");
  EXPECT_EQ(program.arguments.size(), 2u);
  ASSERT_EQ(program.kernels[0].arguments.size(), 2u);
  EXPECT_EQ(program.kernels[0].arguments[0].name, "x");
  EXPECT_EQ(program.kernels[0].arguments[1].name, "y");
}

TEST(Generate, LaunchesNothingForNoElements) {
  Program program = programOf(R"(
graph @g(%x: f32[0, 3]) -> (f32[0, 3]) {
  %y = exp(%x)
  return %y
})");
  EXPECT_EQ(program.kernels[0].grid[0].str(), "0");
}

TEST(Generate, BindsSizesWithSymbolsAtLaunch) {
  Program program = programOf(R"(
graph @g(%x: bf16[batch, 24]) -> (bf16[batch, 24]) {
  %y = exp(%x)
  return %y
})");
  const Kernel &kernel = program.kernels[0];
  EXPECT_EQ(kernel.grid[0].str(), "ceil_div(ceil_div(batch*24, 8), 256)");
  EXPECT_THAT(kernel.source, HasSubstr("int64_t chunk"));
}

// 2^31 elements of one byte: an offset no longer fits an int.
TEST(Generate, WidensIndicesOfLargeBuffers) {
  auto source = [](llvm::StringRef type) {
    return programOf(
               ("graph @g(%x: " + type + ") -> (" + type + ") {\n  %y = neg(%x)\n  return %y\n}\n")
                   .str())
        .kernels[0]
        .source;
  };
  EXPECT_THAT(source("u8[2147483647]"), HasSubstr("const int chunk"));
  EXPECT_THAT(source("u8[2147483648]"), HasSubstr("const int64_t chunk"));
}

TEST(Generate, LoadsAndStoresSixteenBytes) {
  std::string source = programOf(R"(
graph @g(%x: bf16[6, 64], %g: bf16[64]) -> (bf16[6, 64]) {
  %y = mul(%x, %g)
  return %y
})")
                           .kernels[0]
                           .source;
  EXPECT_THAT(source, HasSubstr("load<8>(x + chunk * 8)"));
  EXPECT_THAT(source, HasSubstr("load<8>(g + (chunk % 8) * 8)"));
  EXPECT_THAT(source, HasSubstr("store(y + chunk * 8, y_out);"));
}

TEST(Generate, ReadsOverlappingRowsOneByOne) {
  std::string source = programOf(R"(
graph @g(%x: f32[64, 4] strides [1, 1]) -> (f32[64, 4]) {
  %y = neg(%x)
  return %y
})")
                           .kernels[0]
                           .source;
  EXPECT_THAT(source, HasSubstr("load(x + (chunk + lane))"));
  EXPECT_THAT(source, Not(HasSubstr("load<4>")));
}

// Whatever a kernel's text names itself, no value may be called: a local name would hide it.
TEST(Generate, ReservesEveryWordThatKernelsUse) {
  for (const char *example : {"gpt2_decode", "gpt2_prefill", "llama_decode", "llama_prefill",
                              "vit_block", "bert_encoder"}) {
    std::string path = std::string(WARPLOOM_SOURCE_DIR "/examples/") + example + "_small.loom";
    std::string text = fileText(path), renamed;
    for (char c : text)
      renamed += c == '%' ? std::string("%zz") : std::string(1, c);
    for (const Kernel &kernel : programOf(renamed).kernels) {
      llvm::SmallVector<llvm::StringRef, 64> lines;
      llvm::StringRef(kernel.source).split(lines, '\n');
      for (llvm::StringRef line : lines) {
        if (line.ltrim().starts_with("//") || line.ltrim().starts_with("#"))
          continue;
        static const std::string letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
        static const std::string capitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        for (size_t at = 0; at < line.size();) {
          size_t start = line.find_first_of(letters + capitals, at);
          if (start == llvm::StringRef::npos)
            break;
          size_t end = std::min(line.find_first_not_of(letters + capitals, start), line.size());
          llvm::StringRef word = line.slice(start, end);
          at = end;
          bool isMember = start > 0 && line[start - 1] == '.';
          bool isOwn = !llvm::isDigit(word[0]) && word != "extern" && !word.starts_with("zz") &&
                       !word.starts_with("__") && word != kernel.symbol() && !isMember;
          EXPECT_TRUE(!isOwn || Names().fresh(word) != word)
              << example << ": " << word.str() << " in " << line.str();
        }
      }
    }
  }
}

struct Golden {
  const char *name;
  const char *text;
};

// The whole text of a kernel. UPDATE_GOLDEN=1 writes what is emitted now.
class GoldenKernel : public testing::TestWithParam<Golden> {};

TEST_P(GoldenKernel, IsEmittedAsItStands) {
  std::string path = std::string(WARPLOOM_SOURCE_DIR "/tests/codegen/") + GetParam().name + ".cu";
  std::string source = programOf(GetParam().text).kernels[0].source;
  if (std::getenv("UPDATE_GOLDEN"))
    std::ofstream(path) << source;
  EXPECT_EQ(fileText(path), source) << "run with UPDATE_GOLDEN=1 to accept the new text";
}

const Golden kGoldens[] = {
    {"bias_gelu", R"(
graph @g(%x: bf16[128, 768], %bias: bf16[768]) -> (bf16[128, 768]) {
  %s = add(%x, %bias)
  %y = gelu(%s)
  return %y
})"},
    {"residual_rms_norm", R"(
graph @g(%x: bf16[512, 2048], %residual: bf16[512, 2048], %gain: bf16[2048])
    -> (bf16[512, 2048], bf16[512, 2048]) {
  %sum = add(%x, %residual)
  %normalized = rms_norm(%sum, %gain)
  return %sum, %normalized
})"},
    {"long_softmax", R"(
graph @g(%scores: f32[16, 50257]) -> (f32[16, 50257]) {
  %weights = softmax(%scores)
  return %weights
})"},
    {"rope_cache", R"(
graph @g(%keys: bf16[1, 8, 16, 64], %cos: bf16[16, 64], %sin: bf16[16, 64],
         %cache: mut bf16[1, 8, 1024, 64], %position: i32[]) -> (bf16[1, 8, 1024, 64]) {
  %turned = rope(%keys, %cos, %sin)
  %updated = kv_update(%cache, %turned, %position)
  return %updated
})"},
};

INSTANTIATE_TEST_SUITE_P(All, GoldenKernel, testing::ValuesIn(kGoldens),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
