#include "codegen/index_expr.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>
#include <numeric>

namespace warploom {

struct IndexExpr::Factor {
  enum class Kind { variable, quotient, remainder } kind = Kind::variable;
  std::string name;
  std::optional<int64_t> extent;
  int64_t multiple = 1;
  IndexExpr a, b; // of a quotient or remainder

  std::string text() const {
    if (kind == Kind::variable)
      return name;
    const char *sign = kind == Kind::quotient ? " / " : " % ";
    return "(" + a.factor() + sign + b.factor() + ")";
  }

  std::optional<int64_t> maximum() const {
    if (kind == Kind::variable)
      return extent ? std::optional((*extent - 1) / multiple * multiple) : std::nullopt;
    if (kind == Kind::remainder)
      return b.constant() ? std::optional(*b.constant() - 1) : std::nullopt;
    std::optional<int64_t> most = a.maximum();
    return most && b.constant() ? std::optional(*most / *b.constant()) : std::nullopt;
  }

  bool mentions(llvm::StringRef variable) const {
    return kind == Kind::variable ? name == variable : a.mentions(variable) || b.mentions(variable);
  }
};

std::string IndexExpr::Term::key() const {
  return llvm::join(
      llvm::map_range(factors, [](const FactorPointer &factor) { return factor->text(); }), " * ");
}

int64_t IndexExpr::Term::multiple() const {
  int64_t product = coefficient;
  for (const FactorPointer &factor : factors)
    product *= factor->multiple;
  return product;
}

std::optional<int64_t> IndexExpr::Term::maximum() const {
  int64_t product = coefficient;
  for (const FactorPointer &factor : factors) {
    std::optional<int64_t> most = factor->maximum();
    if (!most)
      return std::nullopt;
    product *= *most;
  }
  return product;
}

bool IndexExpr::Term::mentions(llvm::StringRef variable) const {
  return llvm::any_of(factors,
                      [&](const FactorPointer &factor) { return factor->mentions(variable); });
}

IndexExpr IndexExpr::variable(llvm::StringRef name, std::optional<int64_t> extent,
                              int64_t multiple) {
  if (extent && *extent <= multiple)
    return 0; // the only value below the extent
  auto factor = std::make_shared<Factor>();
  factor->name = name.str();
  factor->extent = extent;
  factor->multiple = multiple;
  return ofFactor(std::move(factor));
}

IndexExpr IndexExpr::ofFactor(FactorPointer factor) {
  IndexExpr expr;
  expr.terms_.push_back({1, {std::move(factor)}});
  return expr;
}

void IndexExpr::addTerm(Term term) {
  if (recombine(term))
    return;
  std::string key = term.key();
  auto place = llvm::lower_bound(terms_, key,
                                 [](const Term &a, const std::string &b) { return a.key() < b; });
  if (place == terms_.end() || place->key() != key)
    terms_.insert(place, std::move(term));
  else if ((place->coefficient += term.coefficient) == 0)
    terms_.erase(place);
}

// a / b * (b * n) and a % b * n are a * n together: an index that was taken apart and put together
// again is the position it came from.
bool IndexExpr::recombine(const Term &term) {
  if (term.factors.size() != 1 || term.factors[0]->kind == Factor::Kind::variable)
    return false;
  const Factor &factor = *term.factors[0];
  std::optional<int64_t> divisor = factor.b.constant();
  if (!divisor)
    return false;
  bool isQuotient = factor.kind == Factor::Kind::quotient;
  auto fits = [&](const Term &other) {
    if (other.factors.size() != 1 || other.factors[0]->kind == Factor::Kind::variable ||
        other.factors[0]->kind == factor.kind || !(other.factors[0]->a == factor.a) ||
        !(other.factors[0]->b == factor.b))
      return false;
    int64_t quotient = isQuotient ? term.coefficient : other.coefficient;
    int64_t remainder = isQuotient ? other.coefficient : term.coefficient;
    return quotient == remainder * *divisor;
  };
  auto other = llvm::find_if(terms_, fits);
  if (other == terms_.end())
    return false;
  int64_t times = isQuotient ? other->coefficient : term.coefficient;
  IndexExpr dividend = factor.a;
  terms_.erase(other);
  *this = *this + dividend * IndexExpr(times);
  return true;
}

IndexExpr operator+(const IndexExpr &a, const IndexExpr &b) {
  IndexExpr sum = a;
  sum.constant_ += b.constant_;
  for (const IndexExpr::Term &term : b.terms_)
    sum.addTerm(term);
  return sum;
}

IndexExpr operator-(const IndexExpr &a, const IndexExpr &b) {
  return a + b * IndexExpr(-1);
}

IndexExpr operator*(const IndexExpr &a, const IndexExpr &b) {
  IndexExpr product(a.constant_ * b.constant_);
  auto scaled = [&](const IndexExpr::Term &term, int64_t by) {
    if (by != 0) {
      IndexExpr::Term copy = term;
      copy.coefficient *= by;
      product.addTerm(std::move(copy));
    }
  };
  for (const IndexExpr::Term &term : a.terms_)
    scaled(term, b.constant_);
  for (const IndexExpr::Term &term : b.terms_)
    scaled(term, a.constant_);
  for (const IndexExpr::Term &left : a.terms_)
    for (const IndexExpr::Term &right : b.terms_) {
      IndexExpr::Term term{left.coefficient * right.coefficient, left.factors};
      term.factors.append(right.factors.begin(), right.factors.end());
      llvm::sort(term.factors, [](const auto &x, const auto &y) { return x->text() < y->text(); });
      product.addTerm(std::move(term));
    }
  return product;
}

std::optional<int64_t> IndexExpr::constant() const {
  return terms_.empty() ? std::optional(constant_) : std::nullopt;
}

bool IndexExpr::isMultipleOf(int64_t number) const {
  return constant_ % number == 0 &&
         llvm::all_of(terms_, [&](const Term &term) { return term.multiple() % number == 0; });
}

std::optional<int64_t> IndexExpr::maximum() const {
  int64_t sum = constant_;
  for (const Term &term : terms_) {
    std::optional<int64_t> most = term.maximum();
    // A negative term is largest where it is 0, which every variable may be.
    if (!most)
      return std::nullopt;
    sum += std::max<int64_t>(*most, 0);
  }
  return sum;
}

bool IndexExpr::mentions(llvm::StringRef variable) const {
  return llvm::any_of(terms_, [&](const Term &term) { return term.mentions(variable); });
}

std::optional<IndexExpr> IndexExpr::coefficientOf(llvm::StringRef variable) const {
  IndexExpr sum = 0;
  for (const Term &term : terms_) {
    if (!term.mentions(variable))
      continue;
    Term rest{term.coefficient, {}};
    unsigned times = 0;
    for (const FactorPointer &factor : term.factors) {
      if (!factor->mentions(variable))
        rest.factors.push_back(factor);
      else if (factor->kind != Factor::Kind::variable || ++times > 1)
        return std::nullopt;
    }
    IndexExpr part;
    if (rest.factors.empty())
      part.constant_ = rest.coefficient;
    else
      part.addTerm(std::move(rest));
    sum = sum + part;
  }
  return sum;
}

IndexExpr IndexExpr::without(llvm::StringRef variable) const {
  IndexExpr rest(constant_);
  for (const Term &term : terms_)
    if (!term.mentions(variable))
      rest.addTerm(term);
  return rest;
}

std::pair<IndexExpr, IndexExpr> IndexExpr::split(int64_t divisor) const {
  IndexExpr whole, rest;
  rest.constant_ = ((constant_ % divisor) + divisor) % divisor;
  whole.constant_ = constant_ - rest.constant_;
  for (const Term &term : terms_)
    (term.coefficient % divisor == 0 ? whole : rest).addTerm(term);
  return {whole, rest};
}

IndexExpr IndexExpr::scaledDown(int64_t divisor) const {
  IndexExpr scaled(constant_ / divisor);
  for (Term term : terms_) {
    term.coefficient /= divisor;
    scaled.addTerm(std::move(term));
  }
  return scaled;
}

IndexExpr IndexExpr::undivided(const IndexExpr &a, const IndexExpr &b, bool wantsRemainder) {
  auto factor = std::make_shared<Factor>();
  factor->kind = wantsRemainder ? Factor::Kind::remainder : Factor::Kind::quotient;
  factor->a = a;
  factor->b = b;
  // A remainder keeps the common divisors of both sides.
  if (std::optional<int64_t> divisor = b.constant(); wantsRemainder && divisor) {
    int64_t common = std::gcd(*divisor, a.constant_);
    for (const Term &term : a.terms_)
      common = std::gcd(common, term.multiple());
    factor->multiple = common;
  }
  return ofFactor(std::move(factor));
}

// a = whole + rest, whole a multiple of b: only the rest is divided. Where a part of the rest is
// too small to carry into a common divisor of the others and b, it falls out of the quotient and
// stays in the remainder.
IndexExpr IndexExpr::quotient(const IndexExpr &a, const IndexExpr &b, bool wantsRemainder) {
  std::optional<int64_t> divisor = b.constant();
  IndexExpr whole, rest = a;
  if (divisor) {
    assert(*divisor >= 0 && "division by a positive number");
    // A dim of extent 0 has no index: any will do.
    if (*divisor == 0)
      return 0;
    if (*divisor == 1)
      return wantsRemainder ? IndexExpr(0) : a;
    std::tie(whole, rest) = a.split(*divisor);
    whole = whole.scaledDown(*divisor);
    // Without the whole part a difference may be negative, and C++ rounds its quotient up.
    if (llvm::any_of(rest.terms_, [](const Term &term) { return term.coefficient < 0; }))
      return undivided(a, b, wantsRemainder);
    std::optional<int64_t> most = rest.maximum();
    if (most && *most < *divisor)
      return wantsRemainder ? rest : whole;
    for (const Term &term : rest.terms_) {
      int64_t common = std::gcd(term.multiple(), *divisor);
      if (common <= 1)
        continue;
      // By the multiple a variable is known to be of, not only by its coefficient.
      IndexExpr large, small(rest.constant_ % common);
      large.constant_ = rest.constant_ - small.constant_;
      bool scales = true;
      for (const Term &other : rest.terms_) {
        bool isLarge = other.multiple() % common == 0;
        scales &= !isLarge || other.coefficient % common == 0;
        (isLarge ? large : small).addTerm(other);
      }
      std::optional<int64_t> smallMost = small.maximum();
      if (!smallMost || *smallMost >= common || (small.constant() == 0 && !scales))
        continue;
      IndexExpr by = b;
      if (scales) {
        large = large.scaledDown(common);
        by = IndexExpr(*divisor / common);
      } else {
        common = 1;
      }
      return wantsRemainder ? mod(large, by) * IndexExpr(common) + small
                            : whole + floorDiv(large, by);
    }
  } else if (a.constant() == 0) {
    return 0;
  }
  IndexExpr result = undivided(rest, b, wantsRemainder);
  return wantsRemainder ? result : whole + result;
}

IndexExpr floorDiv(const IndexExpr &a, const IndexExpr &b) {
  return IndexExpr::quotient(a, b, false);
}

IndexExpr mod(const IndexExpr &a, const IndexExpr &b) {
  return IndexExpr::quotient(a, b, true);
}

std::string IndexExpr::str() const {
  std::string text;
  auto append = [&](int64_t coefficient, const std::string &key) {
    bool isNegative = coefficient < 0;
    int64_t magnitude = isNegative ? -coefficient : coefficient;
    text += text.empty() ? (isNegative ? "-" : "") : (isNegative ? " - " : " + ");
    if (key.empty())
      text += std::to_string(magnitude);
    else
      text += magnitude == 1 ? key : key + " * " + std::to_string(magnitude);
  };
  for (const Term &term : terms_)
    append(term.coefficient, term.key());
  if (constant_ != 0 || text.empty())
    append(constant_, "");
  return text;
}

std::string IndexExpr::factor() const {
  bool isPlain = terms_.empty() ? constant_ >= 0
                                : terms_.size() == 1 && constant_ == 0 &&
                                      terms_[0].coefficient == 1 && terms_[0].factors.size() == 1;
  return isPlain ? str() : "(" + str() + ")";
}

IndexExpr linearize(llvm::ArrayRef<IndexExpr> index, llvm::ArrayRef<IndexExpr> extents) {
  IndexExpr position = 0;
  for (const auto &[place, extent] : llvm::zip(index, extents))
    position = position * extent + place;
  return position;
}

Index delinearize(const IndexExpr &position, llvm::ArrayRef<IndexExpr> extents) {
  Index index(extents.size());
  IndexExpr rest = position;
  for (unsigned axis = extents.size(); axis-- > 0;) {
    if (extents[axis].constant() == 1)
      continue;
    // The outermost index needs no remainder.
    bool isOutermost = llvm::all_of(extents.take_front(axis),
                                    [](const IndexExpr &extent) { return extent.constant() == 1; });
    index[axis] = isOutermost ? rest : mod(rest, extents[axis]);
    rest = floorDiv(rest, extents[axis]);
  }
  return index;
}

} // namespace warploom
