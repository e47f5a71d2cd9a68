#include "ir/shape_rules_checks.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom::shape_rules {

Inferred softmax(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"axis", AttributeKind::integer}}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  if (llvm::Expected<unsigned> axis = axisOf(node, "axis", -1); !axis)
    return axis.takeError();
  return one(operandType(node, 0).dtype, operandType(node, 0).dims);
}

Inferred log_softmax(const Node &node) {
  return softmax(node);
}

static Inferred norm(const Node &node) {
  if (llvm::Error error =
          checkAttributes(node, {{"axis", AttributeKind::integer}, {"eps", AttributeKind::real}}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  llvm::Expected<unsigned> axis = axisOf(node, "axis", -1);
  if (!axis)
    return axis.takeError();
  const TensorType &type = operandType(node, 0);
  TensorType parameter;
  parameter.dtype = type.dtype;
  parameter.dims.assign(type.dims.begin() + *axis, type.dims.end());
  for (Value operand : llvm::drop_begin(node.operands))
    if (!operand.type().hasSameShape(parameter))
      return makeError("{0} of {1} from axis {2} needs parameters of {3}, not {4}",
                       spelling(node.op), type.str(), *axis, parameter.str(), operand.type().str());
  return one(type.dtype, type.dims);
}

Inferred layer_norm(const Node &node) {
  return norm(node);
}
Inferred rms_norm(const Node &node) {
  return norm(node);
}

Inferred swiglu(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  if (!operandType(node, 0).hasSameShape(operandType(node, 1)))
    return makeError("swiglu needs a gate and an up of one type, not {0} and {1}",
                     operandType(node, 0).str(), operandType(node, 1).str());
  return one(operandType(node, 0).dtype, operandType(node, 0).dims);
}

Inferred rope(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"style", AttributeKind::text}}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  std::string style = node.attributes.text("style", "half");
  if (style != "half" && style != "interleaved")
    return makeError("the style of rope is \"half\" or \"interleaved\", not \"{0}\"", style);
  const TensorType &type = operandType(node, 0);
  if (type.rank() < 2 || !type.dims.back().isConstant() || type.dims.back().constant() % 2 != 0)
    return makeError("rope needs [..., length, head_dim] with an even head_dim, not {0}",
                     type.str());
  for (unsigned index : {1u, 2u}) {
    const TensorType &angles = operandType(node, index);
    if (!isFloating(angles.dtype))
      return makeError("rope needs floating cos and sin, not {0}", angles.str());
    std::optional<Dims> joint = broadcastDims(type.dims, angles.dims);
    if (!joint || *joint != type.dims || angles.rank() == 0 ||
        !(angles.dims.back() == type.dims.back()))
      return makeError("rope needs cos and sin that broadcast to {0} with the same head_dim, "
                       "not {1}",
                       type.str(), angles.str());
  }
  return one(type.dtype, type.dims);
}

static llvm::Error checkLabelled(const Node &node) {
  const Dims &q = operandType(node, 0).dims;
  const Dims &k = operandType(node, 1).dims;
  if (Value mask = node.labelled("mask")) {
    Dims scores = {q[0], q[1], q[2], k[2]};
    std::optional<Dims> joint = broadcastDims(scores, mask.type().dims);
    if (!joint || *joint != scores ||
        !(mask.type().dtype == DType::i1 || isFloating(mask.type().dtype)))
      return makeError("the mask of attention is i1 or floating and broadcasts to {0}, not {1}",
                       shapeText(scores), mask.type().str());
  }
  if (Value lengths = node.labelled("lengths")) {
    TensorType expected;
    expected.dtype = DType::i32;
    expected.dims = {q[0]};
    if (!lengths.type().hasSameShape(expected))
      return makeError("the lengths of attention are {0}, not {1}", expected.str(),
                       lengths.type().str());
  }
  return llvm::Error::success();
}

Inferred attention(const Node &node) {
  if (llvm::Error error = checkAttributes(
          node, {{"causal", AttributeKind::boolean}, {"scale", AttributeKind::real}}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  for (llvm::StringRef label : node.labels)
    if (label != "mask" && label != "lengths")
      return makeError("attention has no operand '{0}'; it takes lengths, mask", label);
  const TensorType &q = operandType(node, 0);
  const TensorType &k = operandType(node, 1);
  const TensorType &v = operandType(node, 2);
  bool fits = q.rank() == 4 && k.rank() == 4 && k.hasSameShape(v) && q.dtype == k.dtype &&
              q.dims[0] == k.dims[0] && q.dims[3] == k.dims[3] && q.dims[1].isConstant() &&
              k.dims[1].isConstant() && q.dims[3].isConstant() && k.dims[1].constant() > 0 &&
              q.dims[1].constant() % k.dims[1].constant() == 0;
  if (!fits)
    return makeError("attention needs q [batch, heads, length, head_dim] and k, v [batch, "
                     "kv_heads, kv_length, head_dim] of one dtype, kv_heads dividing heads; not "
                     "{0}, {1}, {2}",
                     q.str(), k.str(), v.str());
  if (llvm::Error error = checkLabelled(node))
    return error;
  return one(q.dtype, q.dims);
}

Inferred matmul(const Node &node) {
  if (llvm::Error error = checkAttributes(
          node, {{"transpose_a", AttributeKind::boolean}, {"transpose_b", AttributeKind::boolean}}))
    return error;
  if (llvm::Error error = checkFloating(node, 0))
    return error;
  const TensorType &a = operandType(node, 0);
  const TensorType &b = operandType(node, 1);
  if (a.dtype != b.dtype)
    return makeError("matmul needs operands of one dtype: {0} and {1} differ (use cast)",
                     spelling(a.dtype), spelling(b.dtype));
  if (a.rank() < 2 || b.rank() < 2)
    return makeError("matmul needs operands of rank 2 or more, not {0} and {1}", a.str(), b.str());
  auto matrix = [](const TensorType &type, bool transposed) {
    Dim rows = type.dims[type.rank() - 2], columns = type.dims[type.rank() - 1];
    return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  auto [rows, depthA] = matrix(a, node.attributes.boolean("transpose_a", false));
  auto [depthB, columns] = matrix(b, node.attributes.boolean("transpose_b", false));
  if (!(depthA == depthB))
    return makeError("matmul of {0} and {1}: the contracted dims {2} and {3} differ", a.str(),
                     b.str(), depthA.str(), depthB.str());
  std::optional<Dims> batch = broadcastDims(llvm::ArrayRef<Dim>(a.dims).drop_back(2),
                                            llvm::ArrayRef<Dim>(b.dims).drop_back(2));
  if (!batch)
    return makeError("matmul cannot broadcast the batch dims of {0} and {1}", a.str(), b.str());
  batch->push_back(rows);
  batch->push_back(columns);
  return one(a.dtype, *batch);
}

Inferred kv_update(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"axis", AttributeKind::integer}}))
    return error;
  const TensorType &cache = operandType(node, 0);
  const TensorType &fresh = operandType(node, 1);
  const TensorType &position = operandType(node, 2);
  llvm::Expected<unsigned> axis = axisOf(node, "axis", -2);
  if (!axis)
    return axis.takeError();
  bool fits = cache.dtype == fresh.dtype && cache.rank() == fresh.rank();
  for (unsigned i = 0; fits && i < cache.rank(); ++i)
    fits = i == *axis ? !(cache.dims[i].isConstant() && fresh.dims[i].isConstant()) ||
                            fresh.dims[i].constant() <= cache.dims[i].constant()
                      : cache.dims[i] == fresh.dims[i];
  if (!fits)
    return makeError("kv_update along axis {0} cannot put {1} into {2}", *axis, fresh.str(),
                     cache.str());
  bool isScalar = position.rank() == 0;
  bool isPerBatch =
      position.rank() == 1 && cache.rank() > 0 && position.dims[0] == cache.dims[0] && *axis != 0;
  if (position.dtype != DType::i32 || !(isScalar || isPerBatch))
    return makeError("the position of kv_update is i32[] or i32[{0}], not {1}",
                     cache.rank() ? cache.dims[0].str() : "batch", position.str());
  return one(cache.dtype, cache.dims);
}

} // namespace warploom::shape_rules
