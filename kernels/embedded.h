// The text of the device headers, embedded at build time.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace warploom {

struct EmbeddedHeader {
  llvm::StringRef name; // as included, e.g. "kernels/tile.cuh", "ir/ops.def"
  llvm::StringRef text;
};

// All headers a kernel source may include, sorted by name.
llvm::ArrayRef<EmbeddedHeader> embeddedHeaders();

} // namespace warploom
