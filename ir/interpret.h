// The meaning of a graph: a reference interpreter in double and int64, slow and plain.
#pragma once

#include "ir/graph.h"
#include "ir/tensor.h"

#include <functional>

namespace warploom {

struct InterpretOptions {
  // Round every value to its storage type, as op-by-op execution does; else only explicit casts
  // and the arguments themselves are rounded.
  bool roundToStorage = false;
  // Called with every value in order of definition.
  std::function<void(Value, const WideTensor &)> observe;
  // Called with a copy of every operand in front of its use, to change it: what rounding does to a
  // graph is found so.
  std::function<void(const Node &user, Value operand, WideTensor &)> perturb;
  // Worker threads for the contractions; 0 = one per core.
  unsigned threads = 0;
};

struct Interpretation {
  std::vector<WideTensor> results;
  // The last state of every mutable argument, by position of the argument; empty tensors for
  // the others.
  std::vector<WideTensor> mutated;
};

// Runs a verified graph. `arguments` are dense, whatever the strides of the argument types.
// Error: a wrong number, dtype or shape of arguments, or an unbound symbol, naming the argument.
llvm::Expected<Interpretation> interpret(const Graph &graph, llvm::ArrayRef<Tensor> arguments,
                                         const SymbolBindings &symbols,
                                         const InterpretOptions &options = {});

// The symbols' values that make the argument types fit these shapes, added to those already in
// `symbols`. Error: a shape that no value fits, naming argument and dim.
llvm::Error bindSymbols(const Graph &graph, llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes,
                        SymbolBindings &symbols);

} // namespace warploom
