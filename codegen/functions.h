// The functions of a program: kernels that differ in names alone share one.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <string>

namespace warploom {

struct Function {
  std::string symbol, source;
  llvm::SmallVector<std::string, 8> parameters; // their names
};

// By the text of the function with its names numbered.
using FunctionTable = llvm::StringMap<Function>;

} // namespace warploom
