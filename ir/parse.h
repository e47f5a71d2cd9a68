// Text to graphs; the mirror image of ir/print.h.
#pragma once

#include "ir/graph.h"

namespace warploom {

// Parses the text of a .loom file. Error: a diagnostic "file:line:col: error: ..." with the source
// line and a caret; `fileName` serves only for it. The graphs of a parsed module are verified.
llvm::Expected<Module> parseModule(llvm::StringRef text, llvm::StringRef fileName);

// Parses one dim: "4096", "batch", "2*batch + 1".
llvm::Expected<Dim> parseDim(llvm::StringRef text);

} // namespace warploom
