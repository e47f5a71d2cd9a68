// Sizes that are known when a program is bound: grids, offsets, byte counts, scalar arguments.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace warploom {

// An immutable expression of symbols and 64-bit integers, simplified as it is built: an expression
// without symbols is always a constant.
class SizeExpr {
public:
  enum class Kind : uint8_t { constant, symbol, add, mul, floorDiv, ceilDiv, remainder, min, max };

  SizeExpr(int64_t constant = 0);
  static SizeExpr symbol(llvm::StringRef name);

  friend SizeExpr operator+(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr operator-(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr operator*(const SizeExpr &a, const SizeExpr &b);
  // Division by a positive expression.
  friend SizeExpr floorDiv(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr ceilDiv(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr remainder(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr min(const SizeExpr &a, const SizeExpr &b);
  friend SizeExpr max(const SizeExpr &a, const SizeExpr &b);
  // The next multiple of `alignment`.
  friend SizeExpr alignTo(const SizeExpr &a, int64_t alignment);

  Kind kind() const { return node_->kind; }
  std::optional<int64_t> constant() const;
  // Structural equality.
  bool operator==(const SizeExpr &other) const;

  // Error: an unbound symbol, a division by zero, or overflow of 64 bits.
  llvm::Expected<int64_t> evaluate(const llvm::StringMap<int64_t> &symbols) const;

  // "4096", "batch*2 + 1", "ceil_div(batch*6144, 128)", "max(a, b)".
  std::string str() const;
  // A number if constant, else the text.
  llvm::json::Value json() const;

private:
  struct Node {
    Kind kind;
    int64_t constant = 0;
    std::string symbol;
    std::shared_ptr<const Node> a, b;
  };
  explicit SizeExpr(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static SizeExpr make(Kind kind, const SizeExpr &a, const SizeExpr &b);

  std::shared_ptr<const Node> node_;
};

} // namespace warploom
