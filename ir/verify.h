// The rules every graph obeys, between any two passes.
#pragma once

#include "ir/graph.h"

namespace warploom {

// Error: the first broken rule, with the names of the values. Rules: operands are defined before
// use; names are unique and in the table; types are what the shape rules infer; an updated `mut`
// value is not used after the op that consumed it; groups are convex.
llvm::Error verify(const Graph &graph);

} // namespace warploom
