#include "passes/passes.h"

#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {
namespace {

// Whether the value is a constant that equals `number` in every element.
bool isConstant(Value value, double number) {
  if (value.node->op != Op::constant)
    return false;
  const AttributeValue &held = *value.node->attributes.find("value");
  if (const auto *integer = std::get_if<int64_t>(&held))
    return double(*integer) == number;
  const auto *real = std::get_if<double>(&held);
  return real && *real == number;
}

bool isIdentityPermutation(const Node &node) {
  for (const auto &[axis, source] : llvm::enumerate(node.attributes.integers("permutation")))
    if (int64_t(axis) != source)
      return false;
  return true;
}

// The operand that a node's result always equals bit for bit, if there is one.
Value equalOperand(const Node &node) {
  if (node.operands.empty())
    return {};
  Value first = node.operands[0];
  bool sameType = first.type().isContiguous() && node.type() == first.type();
  if (!sameType)
    return {};
  switch (node.op) {
  case Op::reshape:
  case Op::broadcast:
  case Op::cast:
  case Op::bitcast:
    return first;
  case Op::transpose:
    return isIdentityPermutation(node) ? first : Value();
  case Op::slice: {
    Integers steps = node.attributes.integers("steps");
    bool whole = llvm::all_of(steps, [](int64_t step) { return step == 1; });
    return whole ? first : Value();
  }
  case Op::mul:
  case Op::div:
    return isConstant(node.operands[1], 1) ? first : Value();
  default:
    return {};
  }
}

// Two views of the same kind in a row become one that reads the first's operand.
bool mergeWithProducer(Node &node) {
  if (node.operands.empty() || node.operands[0].node->op != node.op)
    return false;
  const Node &producer = *node.operands[0].node;
  if (node.op == Op::reshape) {
    Value source = producer.operands[0];
    node.operands[0] = source;
    return true;
  }
  if (node.op == Op::transpose) {
    Integers inner = producer.attributes.integers("permutation"), both;
    for (int64_t axis : node.attributes.integers("permutation"))
      both.push_back(inner[axis]);
    node.attributes.set("permutation", both);
    node.operands[0] = producer.operands[0];
    return true;
  }
  return false;
}

} // namespace

unsigned simplify(Graph &graph, const PassContext &) {
  unsigned rewrites = 0;
  for (Node &node : llvm::make_early_inc_range(graph.nodes())) {
    while (mergeWithProducer(node))
      ++rewrites;
    if (Value equal = equalOperand(node)) {
      // A returned value keeps its place: materialize gives it storage.
      graph.replaceAllUses(node.result(), equal);
      graph.erase(&node);
      ++rewrites;
    }
  }
  return rewrites;
}

} // namespace warploom
