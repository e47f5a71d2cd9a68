// Texts that the tests of the language share, and ways to read them.
#pragma once

#include "ir/graph.h"

#include <string>
#include <vector>

// A folder of the source tree, e.g. "examples".
std::string sourcePath(llvm::StringRef folder);

// The paths of the .loom files in a folder, sorted.
std::vector<std::string> loomFiles(llvm::StringRef folder);

// The text of a file; a failed test if there is none.
std::string fileText(llvm::StringRef path);

// One small graph for each op of the table, and some for the corners of the syntax.
std::vector<std::string> sampleGraphs();

// The first graph of a text that must parse.
warploom::Graph parsedGraph(llvm::StringRef text);

// The diagnostic of a text that must not parse, or "accepted".
std::string diagnostic(llvm::StringRef text);
