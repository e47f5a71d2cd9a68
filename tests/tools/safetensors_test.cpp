#include "tools/safetensors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

class Safetensors : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("tensors", "safetensors", path_));
  }
  void TearDown() override { llvm::sys::fs::remove(path_); }

  // A file of this header and so many zero bytes.
  void writeRaw(const std::string &header, size_t dataBytes, int64_t claimed = -1) {
    std::error_code error;
    llvm::raw_fd_ostream stream(path_, error);
    uint64_t length = claimed < 0 ? header.size() : claimed;
    stream.write(reinterpret_cast<const char *>(&length), 8);
    stream << header << std::string(dataBytes, '\0');
  }

  void expectRejected(const std::string &words) {
    llvm::Expected<NamedTensors> tensors = readSafetensors(path_);
    ASSERT_FALSE(bool(tensors)) << words;
    std::string said = llvm::toString(tensors.takeError());
    EXPECT_NE(said.find(words), std::string::npos) << said;
    EXPECT_NE(said.find(path_.str().str()), std::string::npos) << said;
  }

  llvm::SmallString<64> path_;
};

TEST_F(Safetensors, ReadsWhatItWrites) {
  NamedTensors tensors;
  for (DType dtype : {DType::f32, DType::bf16, DType::i1, DType::i64, DType::f8e4m3}) {
    Tensor tensor;
    tensor.dtype = dtype;
    tensor.dims = {2, 3};
    for (unsigned i = 0; i < 6 * byteSize(dtype); ++i)
      tensor.bytes.push_back(std::byte(i * 7 % 2));
    tensors.emplace_back("a \"name\" " + spelling(dtype).str(), tensor);
  }
  tensors.emplace_back("scalar", Tensor{DType::i32, {}, std::vector<std::byte>(4)});
  tensors.emplace_back("empty", Tensor{DType::f32, {0, 4}, {}});
  llvm::cantFail(writeSafetensors(path_, tensors));
  NamedTensors read = llvm::cantFail(readSafetensors(path_));
  ASSERT_EQ(read.size(), tensors.size());
  for (const auto &[name, tensor] : tensors) {
    auto found = std::find_if(read.begin(), read.end(),
                              [&, n = name](const auto &entry) { return entry.first == n; });
    ASSERT_NE(found, read.end()) << name;
    EXPECT_EQ(found->second.dtype, tensor.dtype);
    EXPECT_EQ(found->second.dims, tensor.dims);
    EXPECT_EQ(found->second.bytes, tensor.bytes);
  }
}

TEST_F(Safetensors, RejectsATruncatedFile) {
  writeRaw(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 15);
  expectRejected("'x' ends at byte 16, but the file has 15");
  writeRaw("{}", 0, 100);
  expectRejected("its header is said to have 100 bytes");
}

TEST_F(Safetensors, RejectsAHeaderThatLies) {
  writeRaw(R"({"x":{"dtype":"F32","shape":[5],"data_offsets":[0,16]}})", 16);
  expectRejected("'x' has 16 bytes, but its dtype and shape need 20");
  writeRaw(
      R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"y":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}})",
      24);
  expectRejected("overlap or leave gaps");
  writeRaw(R"({"x":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})", 20);
  expectRejected("4 bytes behind the last tensor");
  writeRaw(R"({"x":{"dtype":"F99","shape":[4],"data_offsets":[0,16]}})", 16);
  expectRejected("unknown dtype 'F99'");
  writeRaw(R"({"x":{"dtype":"F32","shape":[-4],"data_offsets":[0,16]}})", 16);
  expectRejected("no size");
  writeRaw(R"({"x":{"dtype":"F32","shape":[4294967296,4294967296,4],"data_offsets":[0,16]}})", 16);
  expectRejected("more bytes than 64 bits count");
  writeRaw(R"({"x":)", 0);
  expectRejected("no JSON");
}

TEST_F(Safetensors, SaysWhatCannotBeReadOrWritten) {
  EXPECT_NE(llvm::toString(readSafetensors("/nowhere/x").takeError()).find("cannot read"),
            std::string::npos);
  EXPECT_NE(llvm::toString(writeSafetensors("/nowhere/x", {})), "");
}

} // namespace
