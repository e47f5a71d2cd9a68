// Random arguments that make a layer's results sensible.
#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"

namespace warploom {

// One tensor for each argument, by the seed and the argument's name, so that the same argument of
// another layer gets the same values. Normal numbers; the right operand of a matmul is divided by
// the root of the depth, gains of norms lie near 1, cos and sin of rope are of one angle, masks are
// mostly true, positions and lengths lie inside their cache. Error: an unbound symbol.
llvm::Expected<std::vector<Tensor>> randomInputs(const Graph &graph, const SymbolBindings &symbols,
                                                 uint64_t seed);

} // namespace warploom
