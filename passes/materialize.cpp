#include "passes/passes.h"

#include "ir/group.h"
#include "ir/index_map.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {
namespace {

bool isFreeView(Value value) {
  return isView(value.node->op) && !value.node->group;
}

bool isOne(const SizeExpr &stride) {
  return stride.constant() == 1;
}

// Whether a matmul can read a matrix operand where it lies: one of the two matrix dims is
// contiguous, and the dims before them are one stride each or collapse into the rows.
bool matmulCanRead(Value operand) {
  std::optional<StridedView> view = stridedView(operand);
  if (!view)
    return false;
  unsigned rank = view->strides.size();
  return isOne(view->strides[rank - 1]) || isOne(view->strides[rank - 2]);
}

// Rows of a left operand with more than two dims are one index when the right one has two.
bool rowsCollapse(Value operand) {
  std::optional<StridedView> view = stridedView(operand);
  const Dims &dims = operand.type().dims;
  unsigned rows = dims.size() - 1;
  if (!view || !isOne(view->strides.back()))
    return false;
  std::optional<unsigned> inner;
  for (unsigned axis = rows; axis-- > 0;) {
    if (dims[axis] == 1)
      continue;
    if (inner && !collapses(view->strides[axis], toSizeExpr(dims[*inner]), view->strides[*inner]))
      return false;
    inner = axis;
  }
  return true;
}

bool attentionCanRead(Value operand) {
  std::optional<StridedView> view = stridedView(operand);
  return view && isOne(view->strides.back());
}

bool mustBeStored(const Node &user, unsigned index) {
  Value operand = user.operands[index];
  if (!isFreeView(operand))
    return false;
  if (user.op == Op::attention)
    return index < 3 && !attentionCanRead(operand);
  if (user.op != Op::matmul)
    return false;
  bool flattensRows = index == 0 && user.operands[1].type().rank() == 2 &&
                      operand.type().rank() > 2 && !user.attributes.boolean("transpose_a", false);
  return flattensRows ? !rowsCollapse(operand) : !matmulCanRead(operand);
}

// A contraction reads its matrices from memory, where a constant is not.
bool isMatrixWithoutMemory(const Node &user, unsigned index) {
  if (user.op != Op::attention && user.op != Op::matmul)
    return false;
  Value operand = user.operands[index];
  while (isFreeView(operand))
    operand = operand.node->operands[0];
  return kind(operand.node->op) == OpKind::source && index < (user.op == Op::matmul ? 2 : 3);
}

// Reshapes alone name the same memory by another shape, where it has no gaps.
bool isReshapeOfComputed(Value value) {
  bool isReshaped = false;
  for (; value.node->op == Op::reshape && !value.node->group; value = value.node->operands[0])
    isReshaped = true;
  if (isReshaped && kind(value.node->op) == OpKind::update && updatedArgument(value).type().strides)
    return false;
  return !isFreeView(value) && value.node->op != Op::argument &&
         kind(value.node->op) != OpKind::source;
}

// A reshape to the same shape, in front of `before`.
Value copyOf(Graph &graph, Node *before, Value value) {
  Attributes shape;
  shape.set("shape", value.type().dims);
  return buildValue(graph, before, value.name() + "_copy", Op::reshape, {value}, std::move(shape));
}

// A returned value needs memory of its own: a copy where it is an argument or a constant.
Value storableResult(Graph &graph, Value value) {
  if (isReshapeOfComputed(value))
    return {};
  if (isFreeView(value))
    return value;
  bool needsCopy = value.node->op == Op::argument || kind(value.node->op) == OpKind::source;
  if (!needsCopy)
    return {};
  return copyOf(graph, nullptr, value);
}

} // namespace

unsigned materialize(Graph &graph, const PassContext &context) {
  unsigned rewrites = 0;
  auto store = [&](Value view, llvm::StringRef why) {
    view.node->group = graph.groupCount();
    context.remarks.push_back(
        {"materialize", llvm::formatv("stored %{0}: {1}", view.name(), why).str()});
    ++rewrites;
  };
  for (Node &node : graph.nodes())
    for (unsigned index = 0; index < node.operands.size(); ++index)
      if (isMatrixWithoutMemory(node, index)) {
        if (!isFreeView(node.operands[index]))
          node.operands[index] = copyOf(graph, &node, node.operands[index]);
        store(node.operands[index],
              llvm::formatv("{0} reads it from memory", spelling(node.op)).str());
      } else if (mustBeStored(node, index))
        store(node.operands[index],
              llvm::formatv("{0} cannot read it by strides", spelling(node.op)).str());
  for (unsigned index = 0; index < graph.results().size(); ++index)
    if (Value stored = storableResult(graph, graph.results()[index].value)) {
      graph.setResult(index, stored);
      store(stored, "the graph returns it");
    }
  return rewrites;
}

} // namespace warploom
