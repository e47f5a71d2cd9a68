#include "passes/passes.h"

#include "ir/interpret_ops.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {
namespace {

bool isFoldable(const Node &node) {
  return isElementwise(node.op) && llvm::all_of(node.operands, [](Value operand) {
           return operand.node->op == Op::constant;
         });
}

// The one value that every element of a constant has, as a tensor of rank 0.
WideTensor splat(Value constant) {
  return evaluateOp(*constant.node, {}, {}, 1);
}

AttributeValue attributeOf(const WideTensor &scalar) {
  if (scalar.dtype == DType::i1)
    return scalar.integers[0] != 0;
  if (isFloating(scalar.dtype))
    return roundTo(scalar.dtype, scalar.reals[0]);
  return scalar.integers[0];
}

} // namespace

unsigned foldConstants(Graph &graph, const PassContext &) {
  unsigned rewrites = 0;
  for (Node &node : llvm::make_early_inc_range(graph.nodes())) {
    if (!isFoldable(node))
      continue;
    llvm::SmallVector<WideTensor, 3> scalars;
    llvm::SmallVector<const WideTensor *, 3> operands;
    for (Value operand : node.operands)
      scalars.push_back(splat(operand));
    for (const WideTensor &scalar : scalars)
      operands.push_back(&scalar);
    Attributes attributes;
    attributes.set("value", attributeOf(evaluateOp(node, operands, {}, 1)));
    attributes.set("dtype", node.type().dtype);
    attributes.set("shape", node.type().dims);
    Value constant = buildValue(graph, &node, "", Op::constant, {}, std::move(attributes));
    graph.takeName(constant, node.result());
    graph.replaceAllUses(node.result(), constant);
    graph.erase(&node);
    ++rewrites;
  }
  return rewrites;
}

} // namespace warploom
