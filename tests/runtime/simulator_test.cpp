// Kernels with a planted fault, each of which the simulator must report.
#include "runtime/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warploom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A kernel of one block that reads `in` and writes `out`, 64 floats each.
Program programOf(const std::string &body, unsigned sharedBytes,
                  const std::string &kernelName = "planted_kernel") {
  Program program;
  program.name = "planted";
  program.arch = "sm_80";
  for (const char *name : {"in", "out"}) {
    Buffer buffer;
    buffer.name = name;
    buffer.kind = program.buffers.empty() ? BufferKind::argument : BufferKind::result;
    buffer.dtype = "f32";
    buffer.dims = {64};
    buffer.bytes = 256;
    program.buffers.push_back(buffer);
  }
  Kernel kernel;
  kernel.name = kernelName;
  kernel.ops = {"out = planted"};
  kernel.source = "#include \"kernels/tile.cuh\"\nusing namespace warploom;\n"
                  "extern \"C\" __global__ void " +
                  kernelName +
                  "(const float *in, float *out) {\n"
                  "  [[maybe_unused]] auto *shared = reinterpret_cast<float *>(sharedMemory());\n"
                  "  int i = threadIndex();\n" +
                  body + "\n}\n";
  kernel.blockThreads = 64;
  kernel.sharedBytes = sharedBytes;
  KernelArgument in, out;
  in.name = "in";
  out.name = "out";
  out.buffer = 1;
  kernel.arguments = {in, out};
  kernel.reads = {0};
  kernel.writes = {1};
  program.kernels = {kernel};
  program.arguments = {0};
  program.results = {{"out", 1, program.buffers[1].dims}};
  return program;
}

// The error of a run, or "" and the result in `out`.
std::string run(Device &device, const Program &program, std::vector<float> &out) {
  auto loaded = device.load(program, {}, {});
  if (!loaded)
    return llvm::toString(loaded.takeError());
  std::vector<float> in(64);
  for (int i = 0; i < 64; ++i)
    in[i] = 3.0f * i + 1;
  void *inAddress = llvm::cantFail(device.allocate(256));
  void *outAddress = llvm::cantFail(device.allocate(256));
  llvm::cantFail(device.write(inAddress, {reinterpret_cast<std::byte *>(in.data()), 256}));
  llvm::cantFail((*loaded)->bind(0, inAddress));
  llvm::cantFail((*loaded)->bind(1, outAddress));
  if (llvm::Error error = (*loaded)->launch())
    return llvm::toString(std::move(error));
  out.resize(64);
  llvm::cantFail(device.read(
      {reinterpret_cast<std::byte *>(out.data()), out.size() * sizeof(float)}, outAddress));
  return "";
}

std::string run(const std::string &body, unsigned sharedBytes, std::vector<float> &out,
                uint64_t seed = 1) {
  std::unique_ptr<Device> device = llvm::cantFail(openSimulator({seed}));
  return run(*device, programOf(body, sharedBytes), out);
}

std::string errorOf(const std::string &body, unsigned sharedBytes = 256) {
  std::vector<float> out;
  return run(body, sharedBytes, out);
}

TEST(Simulator, ReversesABlockThroughSharedMemoryUnderEverySeed) {
  for (uint64_t seed : {1, 2, 3, 4}) {
    std::vector<float> out;
    ASSERT_EQ(run("  store(shared + i, load(in + i));\n  syncBlock();\n"
                  "  store(out + i, load(shared + 63 - i));",
                  256, out, seed),
              "");
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], 3.0f * (63 - i) + 1);
  }
}

TEST(Simulator, ReportsAMissingBarrier) {
  EXPECT_THAT(errorOf("  store(shared + i, load(in + i));\n"
                      "  store(out + i, load(shared + 63 - i));"),
              AllOf(HasSubstr("planted_kernel"), HasSubstr("out = planted"),
                    HasSubstr("shared memory that nothing has written")));
}

TEST(Simulator, ReportsAReadBeyondABuffer) {
  EXPECT_THAT(errorOf("  store(out + i, load(in + i + 1));"),
              AllOf(HasSubstr("reads 4 bytes outside"), HasSubstr("thread 63")));
}

TEST(Simulator, ReportsAWriteBeyondSharedMemory) {
  EXPECT_THAT(errorOf("  store(shared + i, 1.0f);", 252), HasSubstr("writes 4 bytes outside"));
}

TEST(Simulator, ReportsAMisalignedRead) {
  EXPECT_THAT(errorOf("  store(out + i, load<4>(in + 1).lane[0]);"),
              HasSubstr("not aligned to 16"));
}

TEST(Simulator, ReportsAWriteToAnArgument) {
  EXPECT_THAT(errorOf("  store(const_cast<float *>(in) + i, 1.0f);"),
              HasSubstr("writes the buffer in, which it only reads"));
}

TEST(Simulator, ReportsACachelessReadOfWhatTheKernelWrites) {
  EXPECT_THAT(errorOf("  store(out + i, 1.0f);\n  syncBlock();\n"
                      "  store(out + i, loadOnce(out).lane[0]);"),
              HasSubstr("past the caches"));
}

TEST(Simulator, ReportsABarrierThatHalfOfTheWarpsSkip) {
  EXPECT_THAT(errorOf("  if (i < 32) syncThreads(1, 64);\n  store(out + i, load(in + i));"),
              HasSubstr("not all threads reach the barrier"));
}

TEST(Simulator, ReportsAShuffleThatSomeLanesSkip) {
  EXPECT_THAT(errorOf("  float x = load(in + i);\n"
                      "  if (i % 2) x = shuffleXor(x, 1);\n  store(out + i, x);"),
              HasSubstr("not all threads reach the warp-wide operation"));
}

TEST(Simulator, DeliversAnAsynchronousCopyOnlyWhenItIsWaitedFor) {
  std::string copy = "  if (i < 16) copyAsync16(shared + i * 4, in + i * 4, true);\n"
                     "  commitCopies();\n";
  std::string rest = "  syncBlock();\n  store(out + i, load(shared + i));\n  waitCopies<0>();";
  EXPECT_THAT(errorOf(copy + rest), HasSubstr("shared memory that nothing has written"));
  std::vector<float> out;
  ASSERT_EQ(run(copy + "  waitCopies<0>();\n" + rest, 256, out), "");
  EXPECT_EQ(out[5], 16.0f);
}

TEST(Simulator, LoadsKernelsThatWereCompiledTogether) {
  Program doubled = programOf("out[i] = 2 * in[i];", 0, "doubled");
  Program negated = programOf("out[i] = -in[i];", 0, "negated");
  SimulatorSettings settings;
  settings.ahead = {&doubled, &negated};
  settings.useCache = false;
  std::unique_ptr<Device> device = llvm::cantFail(openSimulator(settings));
  std::vector<float> out;
  EXPECT_EQ(run(*device, doubled, out), "");
  EXPECT_EQ(out[3], 20);
  EXPECT_EQ(run(*device, negated, out), "");
  EXPECT_EQ(out[3], -10);
}

TEST(Simulator, GivesTheCompilersWordsForARejectedKernel) {
  EXPECT_THAT(errorOf("  undeclared(i);"), HasSubstr("undeclared"));
}

} // namespace
} // namespace warploom
