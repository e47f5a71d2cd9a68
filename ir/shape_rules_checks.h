// What the shape rules share: one function per op of the table, and the checks they are made of.
#pragma once

#include "ir/graph.h"

namespace warploom::shape_rules {

using Types = llvm::SmallVector<TensorType, 1>;
using Inferred = llvm::Expected<Types>;

// The rule of each structured op, named after it. A line of the table without a rule does not link.
#define WARPLOOM_STRUCTURED(name, arity, kind) Inferred name(const Node &node);
#include "ir/ops.def"

// Whether the numbers of a dim are at most 2^53: sums and products of a few then stay in 64 bits,
// and every reader of numbers, JSON's included, gets them exactly. The parser reads no others.
bool isModest(const Dim &dim);

// One result of that type.
Inferred one(DType dtype, Dims dims);

const TensorType &operandType(const Node &node, unsigned index);

// What an attribute's value may be.
enum class AttributeKind { boolean, integer, real, text, dtype, integers, dims };

struct AttributeRule {
  llvm::StringLiteral name;
  AttributeKind kind;
};

// Error: an attribute that is in no rule or of another kind, or a required one that is absent.
llvm::Error checkAttributes(const Node &node, llvm::ArrayRef<AttributeRule> rules,
                            llvm::ArrayRef<llvm::StringLiteral> required = {});

// Error: that operand is not of a floating type.
llvm::Error checkFloating(const Node &node, unsigned index);

// The axis attribute, counted from the front of operand 0.
llvm::Expected<unsigned> axisOf(const Node &node, llvm::StringRef name, int64_t otherwise);

} // namespace warploom::shape_rules
