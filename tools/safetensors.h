// Named tensors in a file, in the safetensors format: eight bytes of header length (little-endian),
// a JSON header of dtype, shape and data_offsets per name, and the elements.
#pragma once

#include "ir/tensor.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace warploom {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Error: the file cannot be read, is truncated, or its header lies: a length beyond the file, an
// unknown dtype, offsets that overlap, leave gaps, or do not fit shape and dtype; the message names
// file and tensor.
llvm::Expected<NamedTensors> readSafetensors(llvm::StringRef path);

// Writes the file whole, or leaves what was there. Error: the file system's words.
llvm::Error writeSafetensors(llvm::StringRef path, const NamedTensors &tensors);

} // namespace warploom
