#include "ir/shape_rules_checks.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace warploom::shape_rules {
namespace {

bool holds(const AttributeValue &value, AttributeKind kind) {
  switch (kind) {
  case AttributeKind::boolean:
    return std::holds_alternative<bool>(value);
  case AttributeKind::integer:
    return std::holds_alternative<int64_t>(value);
  case AttributeKind::real:
    return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
  case AttributeKind::text:
    return std::holds_alternative<std::string>(value);
  case AttributeKind::dtype:
    return std::holds_alternative<DType>(value);
  case AttributeKind::integers:
    return std::holds_alternative<Integers>(value);
  case AttributeKind::dims:
    return std::holds_alternative<Integers>(value) || std::holds_alternative<Dims>(value);
  }
  llvm_unreachable("all kinds are handled");
}

llvm::StringRef describe(AttributeKind kind) {
  switch (kind) {
  case AttributeKind::boolean:
    return "true or false";
  case AttributeKind::integer:
    return "an integer";
  case AttributeKind::real:
    return "a number";
  case AttributeKind::text:
    return "a quoted string";
  case AttributeKind::dtype:
    return "a dtype";
  case AttributeKind::integers:
    return "a list of integers";
  case AttributeKind::dims:
    return "a list of dims";
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace

bool isModest(const Dim &dim) {
  constexpr int64_t kLargest = int64_t(1) << 53;
  auto fits = [](int64_t number) { return -kLargest <= number && number <= kLargest; };
  return fits(dim.constantPart()) &&
         llvm::all_of(dim.terms(), [&](const Dim::Term &term) { return fits(term.coefficient); });
}

Inferred one(DType dtype, Dims dims) {
  TensorType type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return Types{std::move(type)};
}

const TensorType &operandType(const Node &node, unsigned index) {
  return node.operands[index].type();
}

llvm::Error checkAttributes(const Node &node, llvm::ArrayRef<AttributeRule> rules,
                            llvm::ArrayRef<llvm::StringLiteral> required) {
  for (const Attributes::Entry &entry : node.attributes.entries()) {
    const AttributeRule *rule =
        llvm::find_if(rules, [&](const AttributeRule &rule) { return rule.name == entry.name; });
    if (rule == rules.end()) {
      auto names = llvm::map_range(rules, [](const AttributeRule &rule) { return rule.name; });
      return makeError("{0} has no attribute '{1}'; it takes {2}", spelling(node.op), entry.name,
                       rules.empty() ? "none" : llvm::join(names, ", "));
    }
    if (!holds(entry.value, rule->kind))
      return makeError("attribute '{0}' of {1} is {2}; expected {3}", entry.name, spelling(node.op),
                       str(entry.value), describe(rule->kind));
  }
  for (llvm::StringRef name : required)
    if (!node.attributes.find(name))
      return makeError("{0} needs the attribute '{1}'", spelling(node.op), name);
  return llvm::Error::success();
}

llvm::Error checkFloating(const Node &node, unsigned index) {
  DType dtype = operandType(node, index).dtype;
  if (isFloating(dtype))
    return llvm::Error::success();
  return makeError("{0} works on floating types, not on {1}", spelling(node.op), spelling(dtype));
}

llvm::Expected<unsigned> axisOf(const Node &node, llvm::StringRef name, int64_t otherwise) {
  const TensorType &type = operandType(node, 0);
  int64_t axis = node.attributes.integer(name, otherwise);
  if (std::optional<unsigned> normal = normalizeAxis(axis, type.rank()))
    return *normal;
  return makeError("axis {0} of {1} is out of range for {2}", axis, spelling(node.op), type.str());
}

} // namespace warploom::shape_rules
