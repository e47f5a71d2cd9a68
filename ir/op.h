// The ops and their traits; the table is ir/ops.def.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace warploom {

enum class Op : uint8_t {
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression) name,
#define WARPLOOM_STRUCTURED(name, arity, kind) name,
#include "ir/ops.def"
};

// What the operands of an elementwise op may be.
enum class OperandDomain : uint8_t { floating, numeric, integer, boolean, any };

// The family of an op, as in its line of the table.
enum class OpKind : uint8_t {
  elementwise,
  boundary,
  conversion,
  selection,
  reduction,
  composite,
  view,
  source,
  update,
  contraction,
};

// The spelling in text and, behind "op_", on the device.
llvm::StringRef spelling(Op op);

// The op of that spelling that may stand in a graph's body, if there is one.
std::optional<Op> parseOp(llvm::StringRef spelling);

// The spelling nearest to a misspelt one, or empty.
llvm::StringRef nearestOpSpelling(llvm::StringRef misspelt);

// Number of positional operands.
unsigned arity(Op op);

OpKind kind(Op op);

// One value of the result per index, from the operands' values at the (broadcast) index:
// elementwise rows of the table, cast, bitcast and select.
bool isElementwise(Op op);

// An elementwise op whose result is i1 whatever its operands are.
bool yieldsBoolean(Op op);

// Operand domain of an elementwise row; asserts kind(op) == OpKind::elementwise.
OperandDomain operandDomain(Op op);

bool isReduction(Op op);

// Renames indices only; costs nothing to recompute.
bool isView(Op op);

} // namespace warploom
