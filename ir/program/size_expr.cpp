#include "ir/program/size_expr.h"

#include "ir/program/error.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>

namespace warploom {
namespace {

using Kind = SizeExpr::Kind;

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// The value of an operation, or none if it overflows or divides by zero.
std::optional<int64_t> apply(Kind kind, int64_t a, int64_t b) {
  int64_t result;
  switch (kind) {
  case Kind::add:
    return llvm::AddOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case Kind::mul:
    return llvm::MulOverflow(a, b, result) ? std::nullopt : std::optional(result);
  case Kind::floorDiv:
    return b == 0 ? std::nullopt : std::optional(floorDivide(a, b));
  case Kind::ceilDiv:
    return b == 0 ? std::nullopt : std::optional(-floorDivide(-a, b));
  case Kind::remainder:
    return b == 0 ? std::nullopt : std::optional(a - floorDivide(a, b) * b);
  case Kind::min:
    return std::min(a, b);
  case Kind::max:
    return std::max(a, b);
  case Kind::constant:
  case Kind::symbol:
    break;
  }
  llvm_unreachable("leaves are not applied");
}

bool isSum(Kind kind) {
  return kind == Kind::add;
}

} // namespace

SizeExpr::SizeExpr(int64_t constant) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::constant;
  node->constant = constant;
  node_ = std::move(node);
}

SizeExpr SizeExpr::symbol(llvm::StringRef name) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::symbol;
  node->symbol = name.str();
  return SizeExpr(std::shared_ptr<const Node>(std::move(node)));
}

SizeExpr SizeExpr::make(Kind kind, const SizeExpr &a, const SizeExpr &b) {
  if (a.constant() && b.constant())
    if (std::optional<int64_t> value = apply(kind, *a.constant(), *b.constant()))
      return SizeExpr(*value);
  auto node = std::make_shared<Node>();
  node->kind = kind;
  node->a = a.node_;
  node->b = b.node_;
  return SizeExpr(std::shared_ptr<const Node>(std::move(node)));
}

SizeExpr operator+(const SizeExpr &a, const SizeExpr &b) {
  if (a.constant() == 0)
    return b;
  if (b.constant() == 0)
    return a;
  return SizeExpr::make(Kind::add, a, b);
}

SizeExpr operator-(const SizeExpr &a, const SizeExpr &b) {
  return a + b * SizeExpr(-1);
}

SizeExpr operator*(const SizeExpr &a, const SizeExpr &b) {
  if (a.constant() == 0 || b.constant() == 0)
    return SizeExpr(0);
  if (a.constant() == 1)
    return b;
  if (b.constant() == 1)
    return a;
  return SizeExpr::make(Kind::mul, a, b);
}

SizeExpr floorDiv(const SizeExpr &a, const SizeExpr &b) {
  return b.constant() == 1 ? a : SizeExpr::make(Kind::floorDiv, a, b);
}

SizeExpr ceilDiv(const SizeExpr &a, const SizeExpr &b) {
  return b.constant() == 1 ? a : SizeExpr::make(Kind::ceilDiv, a, b);
}

SizeExpr remainder(const SizeExpr &a, const SizeExpr &b) {
  return b.constant() == 1 ? SizeExpr(0) : SizeExpr::make(Kind::remainder, a, b);
}

SizeExpr min(const SizeExpr &a, const SizeExpr &b) {
  return a == b ? a : SizeExpr::make(Kind::min, a, b);
}

SizeExpr max(const SizeExpr &a, const SizeExpr &b) {
  return a == b ? a : SizeExpr::make(Kind::max, a, b);
}

SizeExpr alignTo(const SizeExpr &a, int64_t alignment) {
  return ceilDiv(a, SizeExpr(alignment)) * SizeExpr(alignment);
}

std::optional<int64_t> SizeExpr::constant() const {
  if (node_->kind != Kind::constant)
    return std::nullopt;
  return node_->constant;
}

bool SizeExpr::operator==(const SizeExpr &other) const {
  if (node_ == other.node_)
    return true;
  const Node &a = *node_, &b = *other.node_;
  if (a.kind != b.kind || a.constant != b.constant || a.symbol != b.symbol)
    return false;
  return !a.a || (SizeExpr(a.a) == SizeExpr(b.a) && SizeExpr(a.b) == SizeExpr(b.b));
}

llvm::Expected<int64_t> SizeExpr::evaluate(const llvm::StringMap<int64_t> &symbols) const {
  if (node_->kind == Kind::constant)
    return node_->constant;
  if (node_->kind == Kind::symbol) {
    auto bound = symbols.find(node_->symbol);
    if (bound == symbols.end())
      return makeError("symbol '{0}' has no value: bind it to a number", node_->symbol);
    return bound->second;
  }
  llvm::Expected<int64_t> a = SizeExpr(node_->a).evaluate(symbols);
  if (!a)
    return a;
  llvm::Expected<int64_t> b = SizeExpr(node_->b).evaluate(symbols);
  if (!b)
    return b;
  if (std::optional<int64_t> value = apply(node_->kind, *a, *b))
    return *value;
  return makeError("the size '{0}' overflows 64 bits or divides by zero", str());
}

std::string SizeExpr::str() const {
  if (node_->kind == Kind::constant)
    return std::to_string(node_->constant);
  if (node_->kind == Kind::symbol)
    return node_->symbol;
  SizeExpr a(node_->a), b(node_->b);
  auto factor = [](const SizeExpr &e) { return isSum(e.kind()) ? "(" + e.str() + ")" : e.str(); };
  auto call = [&](const char *name) { return name + ("(" + a.str() + ", " + b.str() + ")"); };
  switch (node_->kind) {
  case Kind::add:
    return a.str() + " + " + b.str();
  case Kind::mul:
    return factor(a) + "*" + factor(b);
  case Kind::floorDiv:
    return call("floor_div");
  case Kind::ceilDiv:
    return call("ceil_div");
  case Kind::remainder:
    return call("remainder");
  case Kind::min:
    return call("min");
  case Kind::max:
    return call("max");
  case Kind::constant:
  case Kind::symbol:
    break;
  }
  llvm_unreachable("leaves are printed above");
}

llvm::json::Value SizeExpr::json() const {
  if (std::optional<int64_t> value = constant())
    return *value;
  return str();
}

} // namespace warploom
