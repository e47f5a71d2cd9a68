#include "runtime/compile_cache.h"

#include "ir/program/output_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace warploom {
namespace {

constexpr llvm::StringLiteral kMagic = "warploom-kernel-1\n";

// magic, checksum of the rest, six 32-bit numbers, cubin, ptx, log.
struct Header {
  uint64_t checksum;
  uint32_t registers, stackBytes, spillBytes, staticSharedBytes;
  uint32_t cubinBytes, ptxBytes, logBytes;
};

std::string environment(llvm::StringRef name) {
  return llvm::sys::Process::GetEnv(name).value_or("");
}

std::string defaultDirectory() {
  if (std::string named = environment("WARPLOOM_CACHE"); !named.empty())
    return named;
  llvm::SmallString<128> path(environment("XDG_CACHE_HOME"));
  if (path.empty()) {
    path = environment("HOME");
    if (path.empty())
      return "";
    llvm::sys::path::append(path, ".cache");
  }
  llvm::sys::path::append(path, "warploom");
  return path.str().str();
}

uint64_t checksumOf(const Header &header, llvm::StringRef body) {
  Header unsummed = header;
  unsummed.checksum = 0;
  llvm::StringRef head(reinterpret_cast<const char *>(&unsummed), sizeof(unsummed));
  return llvm::xxh3_64bits(head) ^ llvm::xxh3_64bits(body) * 0x9e3779b97f4a7c15ull;
}

} // namespace

std::string usableCacheDirectory(llvm::StringRef wanted, std::vector<std::string> &warnings) {
  std::string directory = wanted.empty() ? defaultDirectory() : wanted.str();
  auto refuse = [&](const llvm::Twine &why) {
    warnings.push_back(
        ("the compile cache '" + llvm::Twine(directory) + "' is not used: " + why).str());
    return std::string();
  };
  if (directory.empty())
    return refuse("neither WARPLOOM_CACHE nor HOME says where it is");
  llvm::sys::fs::create_directories(llvm::sys::path::parent_path(directory));
  if (std::error_code error = llvm::sys::fs::create_directory(directory, /*IgnoreExisting=*/true,
                                                              llvm::sys::fs::perms::owner_all))
    return refuse(error.message());
  struct stat status;
  if (lstat(directory.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return refuse("it is a link or no directory");
  if (status.st_uid != geteuid())
    return refuse("it belongs to another user");
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return refuse("other users may write to it");
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    return refuse("it is not writable");
  return directory;
}

std::string CompileCache::path(llvm::StringRef key) const {
  llvm::SmallString<128> path(directory_);
  llvm::sys::path::append(path, key + ".kernel");
  return path.str().str();
}

std::optional<CompiledKernel> CompileCache::find(llvm::StringRef key) const {
  if (directory_.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(path(key), /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return std::nullopt;
  llvm::StringRef text = (*file)->getBuffer();
  Header header;
  if (!text.consume_front(kMagic) || text.size() < sizeof(header))
    return std::nullopt;
  std::memcpy(&header, text.data(), sizeof(header));
  llvm::StringRef body = text.drop_front(sizeof(header));
  uint64_t wanted = uint64_t(header.cubinBytes) + header.ptxBytes + header.logBytes;
  if (body.size() != wanted || checksumOf(header, body) != header.checksum)
    return std::nullopt;
  CompiledKernel kernel;
  kernel.resources = {header.registers, header.stackBytes, header.spillBytes,
                      header.staticSharedBytes};
  kernel.cubin = body.take_front(header.cubinBytes).str();
  kernel.ptx = body.substr(header.cubinBytes, header.ptxBytes).str();
  kernel.log = body.take_back(header.logBytes).str();
  kernel.fromCache = true;
  // The time of the last use, for trim().
  utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);
  return kernel;
}

void CompileCache::insert(llvm::StringRef key, const CompiledKernel &kernel,
                          std::vector<std::string> &warnings) const {
  if (directory_.empty())
    return;
  std::string body = kernel.cubin + kernel.ptx + kernel.log;
  Header header = {0,
                   kernel.resources.registers,
                   kernel.resources.stackBytes,
                   kernel.resources.spillBytes,
                   kernel.resources.staticSharedBytes,
                   uint32_t(kernel.cubin.size()),
                   uint32_t(kernel.ptx.size()),
                   uint32_t(kernel.log.size())};
  header.checksum = checksumOf(header, body);
  llvm::Error error = writeWhole(path(key), [&](llvm::raw_ostream &stream) {
    stream << kMagic;
    stream.write(reinterpret_cast<const char *>(&header), sizeof(header));
    stream << body;
  });
  if (error)
    warnings.push_back("a kernel could not be kept in the compile cache: " +
                       llvm::toString(std::move(error)));
}

void CompileCache::trim(uint64_t maxBytes) const {
  struct Entry {
    std::string path;
    uint64_t bytes;
    llvm::sys::TimePoint<> used;
  };
  if (directory_.empty())
    return;
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(directory_, error), end; !error && file != end;
       file.increment(error)) {
    llvm::ErrorOr<llvm::sys::fs::basic_file_status> status = file->status();
    if (!status)
      continue;
    entries.push_back({file->path(), status->getSize(), status->getLastModificationTime()});
    total += status->getSize();
  }
  llvm::sort(entries, [](const Entry &a, const Entry &b) { return a.used < b.used; });
  for (const Entry &entry : entries) {
    if (total <= maxBytes)
      return;
    llvm::sys::fs::remove(entry.path);
    total -= entry.bytes;
  }
}

} // namespace warploom
