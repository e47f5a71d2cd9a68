#include "passes/fusion_rules.h"

#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {
namespace {

bool isFreeView(Value value) {
  return isView(value.node->op) && !value.node->group;
}

// Whether the elements of the last dim of `value` are adjacent in the last dim of the value under
// its views, each run aligned to its own length.
bool lastDimStaysTogether(Value value) {
  Dim last = value.type().dims.back();
  for (; isFreeView(value); value = value.node->operands[0]) {
    const Node &view = *value.node;
    const Dims &from = view.operands[0].type().dims;
    switch (view.op) {
    case Op::transpose:
      if (view.attributes.integers("permutation").back() != int64_t(from.size()) - 1)
        return false;
      break;
    case Op::reshape:
      if (!last.isConstant() || !from.back().isConstant() ||
          from.back().constant() % last.constant() != 0)
        return false;
      break;
    case Op::slice: {
      Integers steps = view.attributes.integers("steps");
      if ((!steps.empty() && steps.back() != 1) ||
          view.attributes.integers("starts").back() % last.constant() != 0)
        return false;
      break;
    }
    default:
      return false;
    }
  }
  return true;
}

} // namespace

RowDomain rowOf(const Node &reduction) {
  return {reduction.operands[0].type().dims, reducedAxes(reduction)};
}

bool isContraction(GroupKind kind) {
  return kind == GroupKind::matmul || kind == GroupKind::attention;
}

bool areSiblings(const Node &first, const Node &second) {
  return first.operands[0] == second.operands[0] && first.operands[1].type().rank() == 2 &&
         second.operands[1].type().rank() == 2 && first.attributes == second.attributes &&
         !first.attributes.boolean("transpose_a", false);
}

bool canFollow(Op op) {
  return isElementwise(op) || op == Op::rope || kind(op) == OpKind::update;
}

bool isStoredView(const Node &node) {
  return node.group && (node.op == Op::reshape || node.op == Op::transpose);
}

bool followsElementwise(const Node &node, unsigned index, GroupKind kind) {
  unsigned carrier = warploom::kind(node.op) == OpKind::update ? 1 : 0;
  bool storesView = isStoredView(node);
  if (!(storesView || canFollow(node.op)) || (!isElementwise(node.op) && index != carrier))
    return false;
  Value operand = node.operands[index];
  bool sameShape = storesView || warploom::kind(node.op) == OpKind::update ||
                   operand.type().dims == node.type().dims;
  if (!sameShape)
    return false;
  if (node.op == Op::rope && kind != GroupKind::map &&
      !(kind == GroupKind::matmul && lastDimStaysTogether(operand)))
    return false;
  for (; isFreeView(operand); operand = operand.node->operands[0]) {
    if (operand.node->op == Op::broadcast)
      return false;
    // A slice's other elements belong to nobody's index; tiles skip them, pointwise kernels do not.
    if (operand.node->op == Op::slice && kind != GroupKind::matmul)
      return false;
  }
  return true;
}

bool readsAlike(const Node &node, unsigned index, llvm::function_ref<bool(const Node *)> isInside) {
  for (unsigned other = 0; other < node.operands.size(); ++other) {
    if (other == index || !isInside(storedValue(node.operands[other]).node))
      continue;
    Value a = node.operands[index], b = node.operands[other];
    while (isFreeView(a) && isFreeView(b) && a.node->op == b.node->op &&
           a.node->attributes == b.node->attributes) {
      a = a.node->operands[0];
      b = b.node->operands[0];
    }
    if (isFreeView(a) || isFreeView(b) || a.type().dims != b.type().dims)
      return false;
  }
  return true;
}

bool isSkinny(const Node &matmul, const FusionPolicy &policy) {
  const TensorType &left = matmul.operands[0].type();
  if (left.hasSymbols() || matmul.operands[1].type().rank() != 2 ||
      matmul.attributes.boolean("transpose_a", false))
    return false;
  uint64_t rows = 1, depth = left.dims.back().constant();
  for (const Dim &dim : llvm::ArrayRef<Dim>(left.dims).drop_back())
    rows *= dim.constant();
  return rows <= policy.skinnyRows && rows * depth * sizeof(float) <= policy.prologueSharedBytes;
}

bool isWholeRow(const RowDomain &row, const Node &matmul) {
  return row.axes.size() == 1 && row.axes[0] + 1 == row.dims.size() &&
         row.dims.back() == matmul.operands[0].type().dims.back();
}

} // namespace warploom
