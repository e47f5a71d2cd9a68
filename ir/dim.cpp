#include "ir/dim.h"
#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace warploom {

Dim Dim::symbol(llvm::StringRef name) {
  Dim dim;
  dim.terms_.push_back({name.str(), 1});
  return dim;
}

int64_t Dim::constant() const {
  assert(isConstant() && "the dim has symbols");
  return constant_;
}

Dim operator+(const Dim &a, const Dim &b) {
  Dim sum = a;
  sum.constant_ += b.constant_;
  for (const Dim::Term &term : b.terms_) {
    auto place = llvm::lower_bound(sum.terms_, term, [](const Dim::Term &x, const Dim::Term &y) {
      return x.symbol < y.symbol;
    });
    if (place == sum.terms_.end() || place->symbol != term.symbol)
      sum.terms_.insert(place, term);
    else if ((place->coefficient += term.coefficient) == 0)
      sum.terms_.erase(place);
  }
  return sum;
}

Dim operator-(const Dim &a, const Dim &b) {
  return a + b * -1;
}

Dim operator*(const Dim &a, int64_t factor) {
  if (factor == 0)
    return Dim(0);
  Dim product = a;
  product.constant_ *= factor;
  for (Dim::Term &term : product.terms_)
    term.coefficient *= factor;
  return product;
}

llvm::Expected<int64_t> Dim::evaluate(const SymbolBindings &bindings) const {
  int64_t value = constant_;
  for (const Term &term : terms_) {
    auto bound = bindings.find(term.symbol);
    if (bound == bindings.end())
      return makeError("symbol '{0}' has no value: bind it to a number", term.symbol);
    int64_t product;
    if (llvm::MulOverflow(term.coefficient, bound->second, product) ||
        llvm::AddOverflow(value, product, value))
      return makeError("the dim '{0}' overflows 64 bits with {1} = {2}", str(), term.symbol,
                       bound->second);
  }
  return value;
}

std::string Dim::str() const {
  std::string text;
  for (const Term &term : terms_) {
    int64_t magnitude = term.coefficient < 0 ? -term.coefficient : term.coefficient;
    if (!text.empty())
      text += term.coefficient < 0 ? " - " : " + ";
    else if (term.coefficient < 0)
      text += "-";
    if (magnitude != 1)
      text += std::to_string(magnitude) + "*";
    text += term.symbol;
  }
  if (text.empty())
    return std::to_string(constant_);
  if (constant_ != 0)
    text += (constant_ < 0 ? " - " : " + ") + std::to_string(std::abs(constant_));
  return text;
}

} // namespace warploom
