// What a graph may compute: the range of its results when every operation may round.
#pragma once

#include "ir/interpret.h"

namespace warploom::fuzz {

// Bounds of each element of each result and mutated argument.
class Envelope {
public:
  // Interprets the graph with its composites opened, so that what happens inside of them is known,
  // exactly and `samples` times with the operands of every op that rounds moved at random by a few
  // units of rounding, some of these with every value in its storage type's range: sensitive
  // results get wide bounds, exact ones none. What overflows in `opened` alone, by its casts, has
  // no bounds.
  Envelope(const Graph &source, const Graph &opened, llvm::ArrayRef<Tensor> arguments,
           const SymbolBindings &symbols, unsigned samples);

  // The first element outside of its bounds, in words; empty if there is none. `which` counts the
  // results, then the mutable arguments by position.
  std::string violation(unsigned which, const WideTensor &actual) const;

private:
  struct Bounds {
    WideTensor exact;
    std::vector<double> low, high;
    std::vector<bool> isUnknown; // NaN in some samples only
  };
  void widen(Bounds &bounds, const WideTensor &sample);
  std::vector<Bounds> bounds_;
};

} // namespace warploom::fuzz
