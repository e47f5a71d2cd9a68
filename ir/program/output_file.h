// Files that are written whole or not at all.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace warploom {

// Writes the file under another name beside its place, then renames it: a reader sees the old file
// or the new one. Error: the folder cannot be written to, or the disk is full; what was there
// stays.
llvm::Error writeWhole(llvm::StringRef path, llvm::function_ref<void(llvm::raw_ostream &)> write);

} // namespace warploom
