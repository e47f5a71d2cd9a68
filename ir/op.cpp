#include "ir/op.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace warploom {
namespace {

struct Row {
  llvm::StringLiteral spelling;
  unsigned arity;
  OpKind kind;
  OperandDomain domain;
  bool yieldsBoolean;
};

enum class ElementwiseResult { same, boolean };

constexpr Row kRows[] = {
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  {#name, arity, OpKind::elementwise, OperandDomain::domain,                                       \
   ElementwiseResult::result == ElementwiseResult::boolean},
#define WARPLOOM_STRUCTURED(name, arity, kind)                                                     \
  {#name, arity, OpKind::kind, OperandDomain::any, false},
#include "ir/ops.def"
};

const Row &row(Op op) {
  return kRows[static_cast<unsigned>(op)];
}

} // namespace

llvm::StringRef spelling(Op op) {
  return row(op).spelling;
}

std::optional<Op> parseOp(llvm::StringRef spelling) {
  for (const auto &[index, row] : llvm::enumerate(kRows))
    if (row.spelling == spelling && row.kind != OpKind::boundary)
      return static_cast<Op>(index);
  return std::nullopt;
}

llvm::StringRef nearestOpSpelling(llvm::StringRef misspelt) {
  // Beyond a third of the letters, a suggestion misleads more than it helps.
  unsigned best = misspelt.size() / 3 + 1;
  llvm::StringRef nearest;
  for (const Row &row : kRows) {
    unsigned distance = misspelt.edit_distance(row.spelling, /*AllowReplacements=*/true, best);
    if (distance < best) {
      best = distance;
      nearest = row.spelling;
    }
  }
  return nearest;
}

unsigned arity(Op op) {
  return row(op).arity;
}

OpKind kind(Op op) {
  return row(op).kind;
}

bool isElementwise(Op op) {
  return kind(op) == OpKind::elementwise || kind(op) == OpKind::conversion ||
         kind(op) == OpKind::selection;
}

bool yieldsBoolean(Op op) {
  return row(op).yieldsBoolean;
}

OperandDomain operandDomain(Op op) {
  assert(kind(op) == OpKind::elementwise && "only elementwise rows have a domain");
  return row(op).domain;
}

bool isReduction(Op op) {
  return kind(op) == OpKind::reduction;
}

bool isView(Op op) {
  return kind(op) == OpKind::view;
}

} // namespace warploom
