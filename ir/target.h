// What a schedule must know of a GPU: plain numbers, no driver.
#pragma once

#include "llvm/Support/Error.h"

#include <string>

namespace warploom {

struct Target {
  std::string arch = "sm_90a";     // NVRTC's --gpu-architecture
  unsigned computeCapability = 90; // major * 10 + minor
  unsigned multiprocessors = 132;
  unsigned sharedBytesPerBlock = 232448; // dynamic shared memory with opt-in
  unsigned sharedBytesPerMultiprocessor = 233472;
  unsigned registersPerMultiprocessor = 65536;
  unsigned maxThreadsPerBlock = 1024;
  unsigned maxThreadsPerMultiprocessor = 2048;
  uint64_t l2Bytes = 60u << 20;

  // The target of an architecture such as "sm_80", "sm_90a" or "sm_100". Error: not a name of that
  // form, or below sm_80; the message lists the known ones.
  static llvm::Expected<Target> fromArch(llvm::StringRef arch);
};

} // namespace warploom
