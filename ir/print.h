// Graphs to text; the mirror image of ir/parse.h.
#pragma once

#include "ir/graph.h"

namespace warploom {

// The text of a graph: parsing it gives the same graph, groups included.
std::string print(const Graph &graph);
std::string print(const Module &module);

// One node's line without indentation: "%y = matmul(%n, %w) {transpose_b = true} : bf16[1, 4]".
std::string print(const Node &node);

} // namespace warploom
