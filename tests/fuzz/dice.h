// Random choices, the same for equal seeds.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <algorithm>
#include <random>

namespace warploom::fuzz {

class Dice {
public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  uint64_t below(uint64_t bound) { return engine_() % bound; }
  bool chance(double share) { return below(1000) < share * 1000; }
  template <class T> const T &oneOf(llvm::ArrayRef<T> choices) {
    return choices[below(choices.size())];
  }
  template <class Range> void shuffle(Range &range) {
    std::shuffle(range.begin(), range.end(), engine_);
  }

private:
  std::mt19937_64 engine_;
};

} // namespace warploom::fuzz
