// A dimension: a number, or an affine expression of symbols that are bound when the program runs.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <utility>

namespace warploom {

// Values of the symbols, by name.
using SymbolBindings = llvm::StringMap<int64_t>;

// constant + sum of coefficient * symbol, kept canonical (symbols sorted, no zero coefficient), so
// that == means equal for every binding.
class Dim {
public:
  struct Term {
    std::string symbol;
    int64_t coefficient;
    bool operator==(const Term &) const = default;
  };

  Dim(int64_t constant = 0) : constant_(constant) {}
  static Dim symbol(llvm::StringRef name);

  bool isConstant() const { return terms_.empty(); }
  // The number; asserts isConstant().
  int64_t constant() const;
  // The constant part of any dim.
  int64_t constantPart() const { return constant_; }
  llvm::ArrayRef<Term> terms() const { return terms_; }

  bool operator==(const Dim &) const = default;
  bool operator==(int64_t number) const { return isConstant() && constant_ == number; }

  friend Dim operator+(const Dim &a, const Dim &b);
  friend Dim operator-(const Dim &a, const Dim &b);
  friend Dim operator*(const Dim &a, int64_t factor);

  // The number under these bindings. Error: a symbol is unbound, or the arithmetic overflows.
  llvm::Expected<int64_t> evaluate(const SymbolBindings &bindings) const;

  // The text form: "4096", "batch", "2*batch + 1".
  std::string str() const;

private:
  int64_t constant_ = 0;
  llvm::SmallVector<Term, 1> terms_;
};

using Dims = llvm::SmallVector<Dim, 4>;

} // namespace warploom
