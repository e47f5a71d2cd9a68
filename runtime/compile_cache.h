// Compiled kernels on disk, by the hash of all they were made from.
#pragma once

#include "runtime/compiler.h"

namespace warploom {

// The directory a cache may use: `wanted`, or if that is empty $WARPLOOM_CACHE,
// $XDG_CACHE_HOME/warploom or ~/.cache/warploom. It is made with mode 0700. Empty, with a warning,
// if it cannot be made, or if it is a link, belongs to another user, or others may write to it:
// whoever can write there could run code as this user.
std::string usableCacheDirectory(llvm::StringRef wanted, std::vector<std::string> &warnings);

class CompileCache {
public:
  // `directory` as usableCacheDirectory() gave it; empty: nothing is kept.
  explicit CompileCache(std::string directory) : directory_(std::move(directory)) {}

  // The entry of that key, if it is there and whole. A damaged entry counts as missing.
  std::optional<CompiledKernel> find(llvm::StringRef key) const;
  // Writes the entry under another name, then renames it. A failure is a warning.
  void insert(llvm::StringRef key, const CompiledKernel &kernel,
              std::vector<std::string> &warnings) const;
  // Removes the entries that were not used for longest until `maxBytes` are left.
  void trim(uint64_t maxBytes) const;

private:
  std::string path(llvm::StringRef key) const;
  std::string directory_;
};

} // namespace warploom
