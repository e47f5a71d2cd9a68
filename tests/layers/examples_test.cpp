// The example layers at reduced size on the simulator, under several random orders of warps and
// blocks.
#include "tests/layers/kernel_checker.h"

#include "llvm/Support/MemoryBuffer.h"

using namespace warploom;
using namespace warploom::testing;

namespace {

class SmallExamples : public ::testing::TestWithParam<const char *> {};

TEST_P(SmallExamples, MatchTheInterpreter) {
  std::string path = std::string(WARPLOOM_SOURCE_DIR) + "/examples/" + GetParam() + "_small.loom";
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text)) << path;
  for (uint64_t seed : {1, 2, 3}) {
    CheckOptions options;
    options.seed = seed;
    // Weights without a scale make large values; the error stays relative to them.
    options.scale = 0.2;
    options.tolerance = 0.04;
    expectMatchesInterpreter((*text)->getBuffer(), options);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SmallExamples,
                         ::testing::Values("gpt2_decode", "gpt2_prefill", "bert_encoder",
                                           "llama_decode", "llama_prefill", "vit_block"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
