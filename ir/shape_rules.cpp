#include "ir/shape_rules.h"

#include "ir/program/error.h"
#include "ir/shape_rules_checks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace warploom {
namespace shape_rules {

static Inferred elementwise(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {}))
    return error;
  const TensorType &first = operandType(node, 0);
  bool fits = false;
  switch (operandDomain(node.op)) {
  case OperandDomain::floating:
    fits = isFloating(first.dtype);
    break;
  case OperandDomain::numeric:
    fits = isFloating(first.dtype) || isInteger(first.dtype);
    break;
  case OperandDomain::integer:
    fits = isInteger(first.dtype);
    break;
  case OperandDomain::boolean:
    fits = first.dtype == DType::i1;
    break;
  case OperandDomain::any:
    fits = true;
    break;
  }
  if (!fits)
    return makeError("{0} does not work on {1}", spelling(node.op), spelling(first.dtype));
  Dims dims = first.dims;
  for (Value operand : llvm::drop_begin(node.operands)) {
    const TensorType &type = operand.type();
    if (type.dtype != first.dtype)
      return makeError("{0} needs operands of one dtype: {1} and {2} differ (use cast)",
                       spelling(node.op), spelling(first.dtype), spelling(type.dtype));
    std::optional<Dims> joint = broadcastDims(dims, type.dims);
    if (!joint)
      return makeError("{0} cannot broadcast {1} with {2}", spelling(node.op), shapeText(dims),
                       shapeText(type.dims));
    dims = *joint;
  }
  return one(yieldsBoolean(node.op) ? DType::i1 : first.dtype, dims);
}

Inferred argument(const Node &node) {
  return Types{node.type()};
}

Inferred cast(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"to", AttributeKind::dtype}}, {"to"}))
    return error;
  return one(node.attributes.dtype("to"), operandType(node, 0).dims);
}

Inferred bitcast(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"to", AttributeKind::dtype}}, {"to"}))
    return error;
  const TensorType &from = operandType(node, 0);
  DType to = node.attributes.dtype("to");
  if (byteSize(from.dtype) != byteSize(to) || from.dtype == DType::i1 || to == DType::i1)
    return makeError("bitcast cannot read {0} as {1}: their sizes or meanings differ",
                     spelling(from.dtype), spelling(to));
  return one(to, from.dims);
}

Inferred select(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {}))
    return error;
  const TensorType &condition = operandType(node, 0);
  const TensorType &a = operandType(node, 1);
  const TensorType &b = operandType(node, 2);
  if (condition.dtype != DType::i1)
    return makeError("select needs an i1 condition, not {0}", condition.str());
  if (a.dtype != b.dtype)
    return makeError("select needs operands of one dtype: {0} and {1} differ (use cast)",
                     spelling(a.dtype), spelling(b.dtype));
  std::optional<Dims> joint = broadcastDims(a.dims, b.dims);
  if (joint)
    joint = broadcastDims(*joint, condition.dims);
  if (!joint)
    return makeError("select cannot broadcast {0}, {1} and {2}", condition.str(), a.str(), b.str());
  return one(a.dtype, *joint);
}

static llvm::Error checkAxes(const Node &node) {
  unsigned rank = operandType(node, 0).rank();
  llvm::SmallVector<bool, 8> seen(rank, false);
  for (int64_t axis : node.attributes.integers("axes")) {
    std::optional<unsigned> normal = normalizeAxis(axis, rank);
    if (!normal)
      return makeError("axis {0} of {1} is out of range for {2}", axis, spelling(node.op),
                       operandType(node, 0).str());
    if (seen[*normal])
      return makeError("axis {0} of {1} stands twice", axis, spelling(node.op));
    seen[*normal] = true;
  }
  return llvm::Error::success();
}

static Inferred reduction(const Node &node, bool takesCorrection = false, bool floatingOnly = false,
                          bool hasIdentity = true) {
  llvm::SmallVector<AttributeRule, 3> rules = {{"axes", AttributeKind::integers},
                                               {"keepdims", AttributeKind::boolean}};
  if (takesCorrection)
    rules.push_back({"correction", AttributeKind::real});
  if (llvm::Error error = checkAttributes(node, rules))
    return error;
  if (llvm::Error error = checkAxes(node))
    return error;
  const TensorType &type = operandType(node, 0);
  if (type.dtype == DType::i1 || (floatingOnly && !isFloating(type.dtype)))
    return makeError("{0} does not work on {1}", spelling(node.op), spelling(type.dtype));
  llvm::SmallVector<unsigned, 4> axes = reducedAxes(node);
  Dims dims;
  for (const auto &[axis, dim] : llvm::enumerate(type.dims)) {
    if (!llvm::is_contained(axes, axis))
      dims.push_back(dim);
    else if (!hasIdentity && dim == 0)
      return makeError("{0} over axis {1} of {2}, which is empty, has no value", spelling(node.op),
                       axis, type.str());
    else if (node.attributes.boolean("keepdims", false))
      dims.push_back(1);
  }
  return one(type.dtype, dims);
}

Inferred reduce_sum(const Node &node) {
  return reduction(node);
}
Inferred reduce_prod(const Node &node) {
  return reduction(node);
}
Inferred reduce_max(const Node &node) {
  return reduction(node, false, false, false);
}
Inferred reduce_min(const Node &node) {
  return reduction(node, false, false, false);
}
Inferred reduce_mean(const Node &node) {
  return reduction(node, false, true);
}
Inferred reduce_var(const Node &node) {
  return reduction(node, true, true);
}

// The rule of the op, without what holds for every op.
static Inferred infer(const Node &node) {
  switch (node.op) {
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  case Op::name:                                                                                   \
    return elementwise(node);
#define WARPLOOM_STRUCTURED(name, arity, kind)                                                     \
  case Op::name:                                                                                   \
    return name(node);
#include "ir/ops.def"
  }
  llvm_unreachable("the table is complete");
}

// Every result has a size: no negative dim, and fewer bytes than 64 bits count.
static llvm::Error checkSize(const Node &node, const TensorType &type) {
  int64_t bytes = byteSize(type.dtype);
  for (const Dim &dim : type.dims) {
    if (!isModest(dim))
      return makeError("{0} gives {1}, which has too large a dim", spelling(node.op), type.str());
    if (!dim.isConstant() || dim == 0)
      continue;
    if (dim.constant() < 0)
      return makeError("{0} gives {1}, which has a negative dim", spelling(node.op), type.str());
    if (llvm::MulOverflow(bytes, dim.constant(), bytes))
      return makeError("{0} gives {1}, which has more bytes than 64 bits count", spelling(node.op),
                       type.str());
  }
  return llvm::Error::success();
}

} // namespace shape_rules

llvm::Expected<llvm::SmallVector<TensorType, 1>> inferTypes(const Node &node) {
  if (!node.labels.empty() && node.op != Op::attention)
    return makeError("{0} has no operand '{1}'", spelling(node.op), node.labels.front());
  if (node.operands.size() != arity(node.op) + node.labels.size())
    return makeError("{0} takes {1} operand{2}, not {3}", spelling(node.op), arity(node.op),
                     arity(node.op) == 1 ? "" : "s",
                     int64_t(node.operands.size()) - int64_t(node.labels.size()));
  shape_rules::Inferred types = shape_rules::infer(node);
  if (!types)
    return types;
  for (const TensorType &type : *types)
    if (llvm::Error error = shape_rules::checkSize(node, type))
      return error;
  return types;
}

llvm::Expected<Node *> build(Graph &graph, Node node, Node *before) {
  llvm::Expected<llvm::SmallVector<TensorType, 1>> types = inferTypes(node);
  if (!types)
    return types.takeError();
  node.results.resize(types->size());
  for (const auto &[result, type] : llvm::zip(node.results, *types))
    result.type = type;
  return graph.insert(before, std::move(node));
}

Value buildValue(Graph &graph, Node *before, llvm::StringRef name, Op op,
                 llvm::ArrayRef<Value> operands, Attributes attributes) {
  Node node;
  node.op = op;
  node.operands.assign(operands.begin(), operands.end());
  node.attributes = std::move(attributes);
  node.results.push_back({name.str(), {}});
  return llvm::cantFail(build(graph, std::move(node), before))->result();
}

llvm::SmallVector<unsigned, 4> reducedAxes(const Node &reduction) {
  unsigned rank = reduction.operands[0].type().rank();
  llvm::SmallVector<unsigned, 4> axes;
  if (!reduction.attributes.find("axes"))
    for (unsigned axis = 0; axis < rank; ++axis)
      axes.push_back(axis);
  for (int64_t axis : reduction.attributes.integers("axes"))
    if (std::optional<unsigned> normal = normalizeAxis(axis, rank))
      axes.push_back(*normal);
  llvm::sort(axes);
  return axes;
}

} // namespace warploom
