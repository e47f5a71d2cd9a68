// Random graphs from the op table, for differential tests.
#pragma once

#include "ir/graph.h"

namespace warploom::fuzz {

struct RandomGraph {
  Graph graph{"fuzz"};
  SymbolBindings symbols; // values for the graph's symbols
};

// A verified graph of about three to fifteen nodes whose shapes share a few dims, so that its nodes
// have something to fuse. Equal seeds give equal graphs.
RandomGraph randomGraph(uint64_t seed);

} // namespace warploom::fuzz
