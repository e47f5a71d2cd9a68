// The example layers on a GPU against the interpreter; skipped, with the reason, where there is
// none.
#include "api/session.h"
#include "ir/parse.h"
#include "tools/random_inputs.h"
#include "tools/verify_run.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

class GpuExamples : public ::testing::TestWithParam<std::string> {};

// Where examples/ is: beside the test in a bundle, else in the source.
std::string examplesFolder() {
  if (std::optional<std::string> named = llvm::sys::Process::GetEnv("WARPLOOM_EXAMPLES"))
    return *named;
  return std::string(WARPLOOM_SOURCE_DIR) + "/examples";
}

TEST_P(GpuExamples, MatchTheInterpreterAndRepeatTheirBits) {
  llvm::Expected<std::unique_ptr<Device>> device = openCudaDevice();
  if (!device)
    GTEST_SKIP() << llvm::toString(device.takeError());
  std::string path = examplesFolder() + "/" + GetParam() + ".loom";
  auto text = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(text)) << path;
  Module module = llvm::cantFail(parseModule((*text)->getBuffer(), path));
  const Graph &graph = module.graphs.front();
  CompileOptions options;
  options.keepTemporaries = true;
  llvm::Expected<Compilation> compilation = compile(graph, options);
  ASSERT_TRUE(bool(compilation)) << llvm::toString(compilation.takeError());
  std::vector<Tensor> arguments = llvm::cantFail(randomInputs(graph, {}, 7));
  Session session = llvm::cantFail(Session::create(**device, *compilation, {}));
  RunResult run = llvm::cantFail(session.run(arguments));
  auto temporaries = llvm::cantFail(session.temporaries());
  RunResult again = llvm::cantFail(session.run(arguments));
  for (size_t index = 0; index < run.results.size(); ++index)
    EXPECT_EQ(run.results[index].bytes, again.results[index].bytes);
  for (const Comparison &comparison :
       llvm::cantFail(compareRun(*compilation, arguments, {}, run, temporaries)))
    EXPECT_TRUE(comparison.passed())
        << comparison.name << ": " << comparison.difference.relativeL2 << " and "
        << comparison.difference.relativeMax << ", bound " << comparison.bound;
}

INSTANTIATE_TEST_SUITE_P(All, GpuExamples,
                         ::testing::Values("gpt2_decode", "gpt2_decode_small", "gpt2_prefill",
                                           "gpt2_prefill_small", "bert_encoder",
                                           "bert_encoder_small", "llama_decode",
                                           "llama_decode_small", "llama_prefill",
                                           "llama_prefill_small", "vit_block", "vit_block_small"),
                         [](const auto &info) { return info.param; });

} // namespace
