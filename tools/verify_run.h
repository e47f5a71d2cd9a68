// A run's tensors against the interpreter.
#pragma once

#include "api/session.h"
#include "ir/interpret.h"

namespace warploom {

// One compared tensor. A bound holds for both measures of Difference.
struct Comparison {
  std::string name;
  Difference difference;
  double bound = 0;
  bool passed() const { return difference.relativeL2 <= bound && difference.relativeMax <= bound; }
};

// How far a stored value may be from the interpreter's double: the rounding of its dtype at each of
// S stores on the longest way from the arguments to it, and the rounding of f32 sums of the largest
// depth D on that way: 4 * sqrt(S) * u(dtype) + 4 * sqrt(D) * u(f32), after Higham, "Accuracy and
// Stability of Numerical Algorithms", sections 2.8 and 4.2, for errors that are random. 0 for
// integers.
double errorBound(const Graph &fused, Value value, const SymbolBindings &symbols);

// Compares every result and mutated argument with the source graph's meaning, and with `taps` every
// temporary with the fused graph's.
llvm::Expected<std::vector<Comparison>>
compareRun(const Compilation &compilation, llvm::ArrayRef<Tensor> arguments,
           const SymbolBindings &symbols, const RunResult &run,
           const std::vector<std::pair<std::string, Tensor>> &taps);

} // namespace warploom
