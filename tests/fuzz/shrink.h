// Smaller graphs that still fail.
#pragma once

#include "ir/graph.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace warploom::fuzz {

// The smallest graph that `fails` is still true of and that steps lead to which drop a result, or
// put an argument or an operand of equal type in a node's place.
Graph shrink(Graph graph, llvm::function_ref<bool(const Graph &)> fails);

} // namespace warploom::fuzz
