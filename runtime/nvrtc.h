// NVRTC, loaded at run time.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace warploom {

struct NvrtcResult {
  std::string cubin, ptx, log;
};

class Nvrtc {
public:
  // The library, loaded once per process. Looked for: WARPLOOM_NVRTC (a path), next to the
  // executable in
  // ../lib, the loader's path, CUDA_HOME and CUDA_PATH, /usr/local/cuda. Error: all that was tried.
  static llvm::Expected<const Nvrtc *> load();

  // "13.0" of the library.
  const std::string &version() const { return version_; }
  const std::string &path() const { return path_; }
  // "sm_80", ... that it compiles for.
  std::vector<std::string> architectures() const;

  // Compiles a source that may include the embedded headers. `log` is filled either way; an empty
  // cubin means that the source was rejected. Error: NVRTC itself failed.
  llvm::Expected<NvrtcResult> compile(const std::string &source, const std::string &name,
                                      llvm::ArrayRef<std::string> options) const;

private:
  struct Functions;
  const Functions *functions_ = nullptr;
  std::string version_, path_;
};

} // namespace warploom
