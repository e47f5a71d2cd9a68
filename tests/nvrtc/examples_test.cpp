// Every kernel of every example layer, compiled by NVRTC for several architectures.
#include "api/compile.h"
#include "ir/parse.h"

#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

struct Layer {
  const char *name;
  unsigned mostKernels;
};

// The bars: a decode layer is at most 7 kernels, an encoder block at most 8.
constexpr Layer kLayers[] = {{"gpt2_decode", 7},   {"llama_decode", 7}, {"gpt2_prefill", 8},
                             {"llama_prefill", 8}, {"bert_encoder", 8}, {"vit_block", 8}};

class Examples : public ::testing::TestWithParam<Layer> {};

Graph readExample(const std::string &name) {
  std::string path = std::string(WARPLOOM_SOURCE_DIR) + "/examples/" + name + ".loom";
  auto text = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(text)) << path;
  return std::move(llvm::cantFail(parseModule((*text)->getBuffer(), path)).graphs.front());
}

TEST_P(Examples, CompileForEveryArchWithoutSpillOrStackFrame) {
  for (const char *size : {"", "_small"}) {
    Graph graph = readExample(GetParam().name + std::string(size));
    for (const char *arch : {"sm_80", "sm_90a", "sm_100"}) {
      CompileOptions options;
      options.arch = arch;
      options.settings.useCache = false;
      llvm::Expected<Compilation> compiled = compile(graph, options);
      ASSERT_TRUE(bool(compiled)) << arch << ": " << llvm::toString(compiled.takeError());
      EXPECT_LE(compiled->program.kernels.size(), GetParam().mostKernels);
      for (size_t index = 0; index < compiled->kernels.size(); ++index) {
        const KernelResources &resources = compiled->kernels[index].resources;
        EXPECT_GT(resources.registers, 0u) << "the log was not understood";
        EXPECT_EQ(resources.stackBytes, 0u) << arch << compiled->program.kernels[index].source;
        EXPECT_EQ(resources.spillBytes, 0u) << arch << compiled->program.kernels[index].source;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Examples, ::testing::ValuesIn(kLayers),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
