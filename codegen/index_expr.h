// Index arithmetic of emitted code: integer expressions of loop variables and kernel parameters,
// simplified by what is known of their ranges.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace warploom {

// A sum of terms, each an integer times a product of factors; a factor is a variable, a quotient or
// a remainder. Every variable is >= 0. Kept canonical: equal text means equal value.
class IndexExpr {
public:
  IndexExpr(int64_t constant = 0) : constant_(constant) {}

  // A variable of the emitted code. `extent`: it is below this, if known. `multiple`: it is always
  // a multiple of this.
  static IndexExpr variable(llvm::StringRef name, std::optional<int64_t> extent = std::nullopt,
                            int64_t multiple = 1);

  friend IndexExpr operator+(const IndexExpr &a, const IndexExpr &b);
  friend IndexExpr operator-(const IndexExpr &a, const IndexExpr &b);
  friend IndexExpr operator*(const IndexExpr &a, const IndexExpr &b);
  // Quotient and remainder of a non-negative expression by a positive one.
  friend IndexExpr floorDiv(const IndexExpr &a, const IndexExpr &b);
  friend IndexExpr mod(const IndexExpr &a, const IndexExpr &b);

  std::optional<int64_t> constant() const;
  bool isMultipleOf(int64_t number) const;
  // The largest value, if every variable in it has a known extent.
  std::optional<int64_t> maximum() const;
  // What it grows by when the variable grows by 1; none if that is not the same everywhere.
  std::optional<IndexExpr> coefficientOf(llvm::StringRef variable) const;
  // With 0 in the variable's place. Only where coefficientOf() is known.
  IndexExpr without(llvm::StringRef variable) const;

  // C text, e.g. "row * 4096 + column".
  std::string str() const;
  // Text that can stand as a factor: in parentheses unless it is one name or number.
  std::string factor() const;
  bool operator==(const IndexExpr &other) const { return str() == other.str(); }

private:
  struct Factor;
  using FactorPointer = std::shared_ptr<const Factor>;
  struct Term {
    int64_t coefficient;
    llvm::SmallVector<FactorPointer, 2> factors; // sorted by text
    std::string key() const;
    int64_t multiple() const;
    std::optional<int64_t> maximum() const;
    bool mentions(llvm::StringRef variable) const;
  };

  void addTerm(Term term);
  bool recombine(const Term &term);
  static IndexExpr ofFactor(FactorPointer factor);
  static IndexExpr quotient(const IndexExpr &a, const IndexExpr &b, bool wantsRemainder);
  static IndexExpr undivided(const IndexExpr &a, const IndexExpr &b, bool wantsRemainder);
  IndexExpr scaledDown(int64_t divisor) const;
  // Splits into (multiples of divisor, rest).
  std::pair<IndexExpr, IndexExpr> split(int64_t divisor) const;
  bool mentions(llvm::StringRef variable) const;

  llvm::SmallVector<Term, 3> terms_; // sorted by key
  int64_t constant_ = 0;
};

IndexExpr floorDiv(const IndexExpr &a, const IndexExpr &b);
IndexExpr mod(const IndexExpr &a, const IndexExpr &b);

using Index = llvm::SmallVector<IndexExpr, 4>;

// The position of an index in a row-major order of these extents.
IndexExpr linearize(llvm::ArrayRef<IndexExpr> index, llvm::ArrayRef<IndexExpr> extents);
// The index of a position in a row-major order of these extents.
Index delinearize(const IndexExpr &position, llvm::ArrayRef<IndexExpr> extents);

} // namespace warploom
