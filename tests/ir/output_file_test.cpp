#include "ir/program/output_file.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sys/resource.h>

namespace warploom {
namespace {

using testing::HasSubstr;

class OutputFile : public testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("output", folder_)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder_); }
  std::string path() const { return (folder_ + "/file").str(); }
  std::string write(const std::string &text) const {
    llvm::Error error = writeWhole(path(), [&](llvm::raw_ostream &stream) { stream << text; });
    return llvm::toString(std::move(error));
  }
  std::string content() const { return (*llvm::MemoryBuffer::getFile(path()))->getBuffer().str(); }
  long files() const {
    return std::distance(std::filesystem::directory_iterator(folder_.str().str()), {});
  }
  llvm::SmallString<64> folder_;
};

TEST_F(OutputFile, ReplacesWhatWasThere) {
  EXPECT_EQ(write("old"), "");
  EXPECT_EQ(write("new"), "");
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, KeepsTheOldFileWhenTheDiskIsFull) {
  EXPECT_EQ(write("old"), "");
  // A limit on the size of files fails a write as a full disk does.
  rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  std::string message = write(std::string(100'000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("cannot write '" + path() + "': File too large"));
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(OutputFile, NamesAFolderThatIsNotThere) {
  llvm::Error error = writeWhole("/nowhere/file", [](llvm::raw_ostream &) {});
  EXPECT_THAT(llvm::toString(std::move(error)), HasSubstr("cannot write '/nowhere/file'"));
}

TEST_F(OutputFile, WritesToADeviceAndReportsWhatItSays) {
  auto text = [](llvm::raw_ostream &stream) { stream << "text"; };
  EXPECT_FALSE(bool(writeWhole("/dev/null", text)));
  EXPECT_THAT(llvm::toString(writeWhole("/dev/full", text)), HasSubstr("No space left"));
}

} // namespace
} // namespace warploom
