#include "runtime/compile_cache.h"

#include "llvm/Support/FileSystem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace warploom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

class CompileCacheTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> made;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("warploom-cache", made));
    root_ = made.str().str();
    directory_ = usableCacheDirectory(root_ + "/kernels", warnings_);
    kernel_.cubin = std::string("cu\0bin", 6);
    kernel_.ptx = "ptx";
    kernel_.log = "log";
    kernel_.resources = {40, 8, 16, 32};
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string entry(const std::string &key) const { return directory_ + "/" + key + ".kernel"; }

  std::string root_, directory_;
  std::vector<std::string> warnings_;
  CompiledKernel kernel_;
};

TEST_F(CompileCacheTest, GivesBackWhatWasKept) {
  CompileCache cache(directory_);
  EXPECT_FALSE(cache.find("key"));
  cache.insert("key", kernel_, warnings_);
  auto found = cache.find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->cubin, kernel_.cubin);
  EXPECT_EQ(found->ptx, "ptx");
  EXPECT_EQ(found->log, "log");
  EXPECT_EQ(found->resources.spillBytes, 16u);
  EXPECT_TRUE(found->fromCache);
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(fs::status(directory_).permissions(), fs::perms::owner_all);
}

TEST_F(CompileCacheTest, TreatsEveryDamagedByteAndEveryTruncationAsMissing) {
  CompileCache cache(directory_);
  cache.insert("key", kernel_, warnings_);
  std::ifstream in(entry("key"), std::ios::binary);
  std::string whole((std::istreambuf_iterator<char>(in)), {});
  auto write = [&](const std::string &text) {
    std::ofstream(entry("key"), std::ios::binary | std::ios::trunc) << text;
  };
  for (size_t place = 0; place < whole.size(); ++place) {
    std::string flipped = whole;
    flipped[place] ^= 0x10;
    write(flipped);
    EXPECT_FALSE(cache.find("key")) << "byte " << place;
    write(whole.substr(0, place));
    EXPECT_FALSE(cache.find("key")) << "length " << place;
  }
  write(std::string(whole.size(), '\0'));
  EXPECT_FALSE(cache.find("key"));
  cache.insert("key", kernel_, warnings_);
  EXPECT_TRUE(cache.find("key"));
}

TEST_F(CompileCacheTest, RefusesADirectoryThatOthersCouldFill) {
  fs::permissions(directory_, fs::perms::all);
  EXPECT_EQ(usableCacheDirectory(directory_, warnings_), "");
  fs::permissions(directory_, fs::perms::owner_all);
  fs::create_directory_symlink(directory_, root_ + "/link");
  EXPECT_EQ(usableCacheDirectory(root_ + "/link", warnings_), "");
  std::ofstream(root_ + "/file") << "x";
  EXPECT_EQ(usableCacheDirectory(root_ + "/file", warnings_), "");
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("other users may write"), HasSubstr("not used"),
                                     HasSubstr("not used")));
}

TEST_F(CompileCacheTest, WarnsWhenAnEntryCannotBeKept) {
  CompileCache cache(root_ + "/absent");
  cache.insert("key", kernel_, warnings_);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("could not be kept")));
}

TEST_F(CompileCacheTest, WarnsWhenTheDiskIsFull) {
  CompileCache cache(directory_);
  kernel_.cubin.assign(100'000, 'x');
  // A limit on the size of files fails a write as a full disk does.
  rlimit before, small;
  getrlimit(RLIMIT_FSIZE, &before);
  small = before;
  small.rlim_cur = 1000;
  auto *handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  cache.insert("key", kernel_, warnings_);
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(warnings_, ElementsAre(HasSubstr("could not be kept")));
  EXPECT_FALSE(cache.find("key"));
  EXPECT_TRUE(fs::is_empty(directory_));
}

// Eight processes fill, read and wipe one directory: each finds a whole entry or none.
TEST_F(CompileCacheTest, ServesProcessesThatWriteAndWipeAtOnce) {
  std::vector<pid_t> children;
  for (int child = 0; child < 8; ++child) {
    pid_t pid = fork();
    if (pid == 0) {
      CompileCache cache(directory_);
      kernel_.cubin.assign(20'000, 'x');
      bool whole = true;
      for (int round = 0; round < 50; ++round) {
        std::string key = "key" + std::to_string(round % 3);
        kernel_.ptx = key;
        std::vector<std::string> warnings;
        cache.insert(key, kernel_, warnings);
        if (std::optional<CompiledKernel> found = cache.find(key))
          whole &= found->cubin == kernel_.cubin && found->ptx == key;
        if (child == 0)
          for (const fs::path &file : fs::directory_iterator(directory_)) {
            std::error_code ignored;
            fs::remove(file, ignored);
          }
      }
      _exit(whole ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (pid_t pid : children) {
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(CompileCacheTest, RemovesTheEntriesUsedLongestAgo) {
  CompileCache cache(directory_);
  for (const char *key : {"a", "b", "c"})
    cache.insert(key, kernel_, warnings_);
  auto now = fs::file_time_type::clock::now();
  fs::last_write_time(entry("a"), now - std::chrono::hours(1));
  fs::last_write_time(entry("b"), now - std::chrono::hours(3));
  fs::last_write_time(entry("c"), now - std::chrono::hours(2));
  cache.trim(fs::file_size(entry("a")));
  EXPECT_TRUE(fs::exists(entry("a")));
  EXPECT_FALSE(fs::exists(entry("b")));
  EXPECT_FALSE(fs::exists(entry("c")));
}

} // namespace
} // namespace warploom
