// Dims, element types, tensor types and targets.
#include "ir/parse.h"
#include "ir/target.h"
#include "ir/tensor_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

using namespace warploom;
using testing::HasSubstr;

namespace {

const Dim kN = Dim::symbol("n"), kM = Dim::symbol("m");

TEST(Dim, IsEqualWhenItIsForEveryBinding) {
  EXPECT_EQ(kN + kM, kM + kN);
  EXPECT_EQ(kN * 2 - kN, kN);
  EXPECT_EQ(kN - kN, Dim(0));
  EXPECT_EQ(kN * 0, Dim(0));
  EXPECT_NE(kN, kM);
  EXPECT_NE(kN + 1, kN);
  EXPECT_TRUE(Dim(4) == 4);
  EXPECT_FALSE(kN == 4);
}

TEST(Dim, PrintsWhatParsesBack) {
  for (const Dim &dim : {Dim(0), Dim(-3), kN, kN * -1, kN * 2 + kM - 5, kM * -4 + 1}) {
    llvm::Expected<Dim> again = parseDim(dim.str());
    ASSERT_TRUE(bool(again)) << dim.str() << llvm::toString(again.takeError());
    EXPECT_EQ(*again, dim) << dim.str();
  }
}

TEST(Dim, EvaluatesUnderBindings) {
  SymbolBindings bindings = {{"n", 7}, {"m", 2}};
  EXPECT_EQ(llvm::cantFail((kN * 3 - kM + 1).evaluate(bindings)), 20);
}

TEST(Dim, NamesTheUnboundSymbolAndTheOverflow) {
  EXPECT_THAT(llvm::toString(kN.evaluate({}).takeError()), HasSubstr("symbol 'n' has no value"));
  SymbolBindings large = {{"n", std::numeric_limits<int64_t>::max()}};
  EXPECT_THAT(llvm::toString((kN * 2).evaluate(large).takeError()), HasSubstr("overflows"));
  EXPECT_THAT(llvm::toString((kN + 1 + kN).evaluate(large).takeError()), HasSubstr("overflows"));
}

TEST(DType, HasOneSpelling) {
#define WARPLOOM_DTYPE(name, bytes, kind)                                                          \
  EXPECT_EQ(parseDType(#name), DType::name);                                                       \
  EXPECT_EQ(spelling(DType::name), #name);                                                         \
  EXPECT_EQ(byteSize(DType::name), bytes##u);                                                      \
  EXPECT_THAT(dtypeSpellings(), HasSubstr(#name));
#include "ir/dtypes.def"
  EXPECT_FALSE(parseDType("float"));
}

TEST(DType, BelongsToOneFamily) {
  EXPECT_TRUE(isFloating(DType::bf16) && isFloating(DType::f8e5m2));
  EXPECT_FALSE(isFloating(DType::i32));
  EXPECT_TRUE(isInteger(DType::i8) && isInteger(DType::u16));
  EXPECT_FALSE(isInteger(DType::i1));
  EXPECT_TRUE(isUnsigned(DType::u8));
  EXPECT_FALSE(isUnsigned(DType::i8));
}

TEST(TensorType, BroadcastsAsNumPyDoes) {
  EXPECT_EQ(broadcastDims({}, {kN}), (Dims{kN}));
  EXPECT_EQ(broadcastDims({2, 1}, {3}), (Dims{2, 3}));
  EXPECT_EQ(broadcastDims({1}, {0}), (Dims{0}));
  EXPECT_EQ(broadcastDims({kN}, {kM}), std::nullopt);
  EXPECT_EQ(broadcastDims({kN}, {4}), std::nullopt);
  EXPECT_EQ(broadcastDims({2, 3}, {2}), std::nullopt);
}

TEST(TensorType, CountsNegativeAxesFromTheEnd) {
  EXPECT_EQ(normalizeAxis(-1, 3), 2u);
  EXPECT_EQ(normalizeAxis(0, 3), 0u);
  EXPECT_EQ(normalizeAxis(3, 3), std::nullopt);
  EXPECT_EQ(normalizeAxis(-4, 3), std::nullopt);
  EXPECT_EQ(normalizeAxis(0, 0), std::nullopt);
}

TEST(Target, IsAnH200ByDefault) {
  Target target = llvm::cantFail(Target::fromArch("sm_90a")), plain;
  EXPECT_EQ(target.arch, plain.arch);
  EXPECT_EQ(target.computeCapability, plain.computeCapability);
  EXPECT_EQ(target.multiprocessors, plain.multiprocessors);
  EXPECT_EQ(target.sharedBytesPerBlock, plain.sharedBytesPerBlock);
  EXPECT_EQ(target.sharedBytesPerMultiprocessor, plain.sharedBytesPerMultiprocessor);
  EXPECT_EQ(target.maxThreadsPerMultiprocessor, plain.maxThreadsPerMultiprocessor);
  EXPECT_EQ(target.l2Bytes, plain.l2Bytes);
}

TEST(Target, KnowsTheArchsThatKernelsAreBuiltFor) {
  for (llvm::StringRef arch :
       {"sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103",
        "sm_103a", "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a"}) {
    llvm::Expected<Target> target = Target::fromArch(arch);
    ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
    EXPECT_EQ(target->arch, arch);
    unsigned capability = 0;
    ASSERT_FALSE(arch.drop_front(3).consumeInteger(10, capability));
    EXPECT_EQ(target->computeCapability, capability);
    EXPECT_EQ(target->sharedBytesPerMultiprocessor, target->sharedBytesPerBlock + 1024);
  }
}

TEST(Target, ListsTheArchsWhenOneIsUnknown) {
  for (const char *arch : {"", "sm_75", "sm_90b", "90", "hopper"}) {
    llvm::Expected<Target> target = Target::fromArch(arch);
    ASSERT_FALSE(bool(target)) << arch;
    EXPECT_THAT(llvm::toString(target.takeError()), HasSubstr("the archs are sm_80, sm_86"));
  }
}

} // namespace
