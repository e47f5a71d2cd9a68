// What WARPLOOM_DUMP asks for.
#pragma once

#include "api/compile.h"

namespace warploom {

// Reads WARPLOOM_DUMP, KIND[,KIND...]:DIR with the kinds groups, cuda and program, and writes the
// files. What cannot be written, or is no kind, is a warning of the compilation.
void dumpFromEnvironment(Compilation &compilation);

// A file name made from any text: other characters than letters, digits, '-' and '_' become '_',
// and it is at most 64 long.
std::string fileName(llvm::StringRef text);

} // namespace warploom
