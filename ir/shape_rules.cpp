#include "ir/shape_rules.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

namespace warploom {
namespace {

using Types = llvm::SmallVector<TensorType, 1>;
using Inferred = llvm::Expected<Types>;

Inferred one(DType dtype, Dims dims) {
  TensorType type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return Types{std::move(type)};
}

const TensorType &operandType(const Node &node, unsigned index) {
  return node.operands[index].type();
}

// Attributes that an op takes, by kind, so that a wrong one is named with the right ones.
enum class Kind { boolean, integer, real, text, dtype, integers, dims };

struct AttributeRule {
  llvm::StringLiteral name;
  Kind kind;
};

bool holds(const AttributeValue &value, Kind kind) {
  switch (kind) {
  case Kind::boolean:
    return std::holds_alternative<bool>(value);
  case Kind::integer:
    return std::holds_alternative<int64_t>(value);
  case Kind::real:
    return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
  case Kind::text:
    return std::holds_alternative<std::string>(value);
  case Kind::dtype:
    return std::holds_alternative<DType>(value);
  case Kind::integers:
    return std::holds_alternative<Integers>(value);
  case Kind::dims:
    return std::holds_alternative<Integers>(value) || std::holds_alternative<Dims>(value);
  }
  llvm_unreachable("all kinds are handled");
}

llvm::StringRef describe(Kind kind) {
  switch (kind) {
  case Kind::boolean:
    return "true or false";
  case Kind::integer:
    return "an integer";
  case Kind::real:
    return "a number";
  case Kind::text:
    return "a quoted string";
  case Kind::dtype:
    return "a dtype";
  case Kind::integers:
    return "a list of integers";
  case Kind::dims:
    return "a list of dims";
  }
  llvm_unreachable("all kinds are handled");
}

llvm::Error checkAttributes(const Node &node, llvm::ArrayRef<AttributeRule> rules,
                            llvm::ArrayRef<llvm::StringLiteral> required = {}) {
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

llvm::Error needFloating(const Node &node, unsigned index) {
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

Inferred elementwise(const Node &node) {
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
  if (llvm::Error error = checkAttributes(node, {{"to", Kind::dtype}}, {"to"}))
    return error;
  return one(node.attributes.dtype("to"), operandType(node, 0).dims);
}

Inferred bitcast(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"to", Kind::dtype}}, {"to"}))
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

llvm::Error checkAxes(const Node &node) {
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

Inferred reduction(const Node &node, bool takesCorrection = false, bool floatingOnly = false,
                   bool hasIdentity = true) {
  llvm::SmallVector<AttributeRule, 3> rules = {{"axes", Kind::integers},
                                               {"keepdims", Kind::boolean}};
  if (takesCorrection)
    rules.push_back({"correction", Kind::real});
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

Inferred softmax(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"axis", Kind::integer}}))
    return error;
  if (llvm::Error error = needFloating(node, 0))
    return error;
  if (llvm::Expected<unsigned> axis = axisOf(node, "axis", -1); !axis)
    return axis.takeError();
  return one(operandType(node, 0).dtype, operandType(node, 0).dims);
}

Inferred log_softmax(const Node &node) {
  return softmax(node);
}

Inferred norm(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"axis", Kind::integer}, {"eps", Kind::real}}))
    return error;
  if (llvm::Error error = needFloating(node, 0))
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
  if (llvm::Error error = needFloating(node, 0))
    return error;
  if (!operandType(node, 0).hasSameShape(operandType(node, 1)))
    return makeError("swiglu needs a gate and an up of one type, not {0} and {1}",
                     operandType(node, 0).str(), operandType(node, 1).str());
  return one(operandType(node, 0).dtype, operandType(node, 0).dims);
}

Inferred rope(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"style", Kind::text}}))
    return error;
  if (llvm::Error error = needFloating(node, 0))
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

llvm::Error checkLabelled(const Node &node) {
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
  if (llvm::Error error = checkAttributes(node, {{"causal", Kind::boolean}, {"scale", Kind::real}}))
    return error;
  if (llvm::Error error = needFloating(node, 0))
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
  if (llvm::Error error =
          checkAttributes(node, {{"transpose_a", Kind::boolean}, {"transpose_b", Kind::boolean}}))
    return error;
  if (llvm::Error error = needFloating(node, 0))
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

// Sources have no operand to take a type from: they carry it as the attributes dtype and shape,
// which the text writes as the ascription.
Inferred source(const Node &node, AttributeRule own) {
  if (llvm::Error error = checkAttributes(
          node, {own, {"dtype", Kind::dtype}, {"shape", Kind::dims}}, {"dtype", "shape"}))
    return error;
  return one(node.attributes.dtype("dtype"), node.attributes.dims("shape"));
}

Inferred constant(const Node &node) {
  const AttributeValue *value = node.attributes.find("value");
  if (!value)
    return makeError("constant needs the attribute 'value'");
  if (!node.attributes.find("dtype"))
    return makeError("constant needs a type: write ': f32[4]' behind it");
  DType dtype = node.attributes.dtype("dtype");
  if (dtype == DType::i1)
    return source(node, {"value", Kind::boolean});
  return source(node, {"value", isFloating(dtype) ? Kind::real : Kind::integer});
}

Inferred iota(const Node &node) {
  if (!node.attributes.find("dtype"))
    return makeError("iota needs a type: write ': i32[4]' behind it");
  Inferred types = source(node, {"axis", Kind::integer});
  if (!types)
    return types;
  const TensorType &type = types->front();
  if (type.dtype == DType::i1 || !normalizeAxis(node.attributes.integer("axis", -1), type.rank()))
    return makeError("iota counts along an axis of a numeric type, not axis {0} of {1}",
                     node.attributes.integer("axis", -1), type.str());
  return types;
}

// Removes the dims that both lists have, then compares the products of what is left.
bool haveEqualProducts(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
  auto split = [](llvm::ArrayRef<Dim> dims, std::vector<std::string> &symbolic) {
    int64_t product = 1;
    for (const Dim &dim : dims)
      if (!dim.isConstant())
        symbolic.push_back(dim.str());
      else if (llvm::MulOverflow(product, dim.constant(), product))
        return int64_t(-1);
    llvm::sort(symbolic);
    return product;
  };
  std::vector<std::string> symbolicA, symbolicB;
  return split(a, symbolicA) == split(b, symbolicB) && symbolicA == symbolicB;
}

Inferred reshape(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"shape", Kind::dims}}, {"shape"}))
    return error;
  Dims dims = node.attributes.dims("shape");
  for (const Dim &dim : dims)
    if (dim.isConstant() && dim.constant() < 0)
      return makeError("reshape to {0}: a dim is negative", shapeText(dims));
  if (!haveEqualProducts(operandType(node, 0).dims, dims))
    return makeError("reshape of {0} to {1} changes the number of elements",
                     operandType(node, 0).str(), shapeText(dims));
  return one(operandType(node, 0).dtype, dims);
}

Inferred transpose(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"permutation", Kind::integers}}, {"permutation"}))
    return error;
  const TensorType &type = operandType(node, 0);
  Integers permutation = node.attributes.integers("permutation");
  Integers sorted = permutation;
  llvm::sort(sorted);
  bool isPermutation = sorted.size() == type.rank();
  for (unsigned axis = 0; isPermutation && axis < sorted.size(); ++axis)
    isPermutation = sorted[axis] == axis;
  if (!isPermutation)
    return makeError("the permutation {0} of transpose does not name each axis of {1} once",
                     str(AttributeValue(permutation)), type.str());
  Dims dims;
  for (int64_t axis : permutation)
    dims.push_back(type.dims[axis]);
  return one(type.dtype, dims);
}

Inferred broadcast(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"dims", Kind::integers}, {"shape", Kind::dims}},
                                          {"dims", "shape"}))
    return error;
  const TensorType &type = operandType(node, 0);
  Dims shape = node.attributes.dims("shape");
  Integers dims = node.attributes.integers("dims");
  if (dims.size() != type.rank())
    return makeError("broadcast of {0} needs one entry of 'dims' for each of its dims, not {1}",
                     type.str(), dims.size());
  for (const auto &[axis, target] : llvm::enumerate(dims)) {
    bool ascends = axis == 0 || dims[axis - 1] < target;
    if (target < 0 || target >= int64_t(shape.size()) || !ascends)
      return makeError("'dims' of broadcast are ascending dims of {0}, not {1}", shapeText(shape),
                       str(AttributeValue(dims)));
    if (!(type.dims[axis] == shape[target]) && !(type.dims[axis] == 1))
      return makeError("broadcast of {0} to {1}: dim {2} cannot become {3}", type.str(),
                       shapeText(shape), type.dims[axis].str(), shape[target].str());
  }
  return one(type.dtype, shape);
}

Inferred slice(const Node &node) {
  if (llvm::Error error = checkAttributes(
          node, {{"limits", Kind::integers}, {"starts", Kind::integers}, {"steps", Kind::integers}},
          {"limits", "starts"}))
    return error;
  const TensorType &type = operandType(node, 0);
  Integers starts = node.attributes.integers("starts");
  Integers limits = node.attributes.integers("limits");
  Integers steps = node.attributes.integers("steps");
  if (steps.empty())
    steps.assign(type.rank(), 1);
  if (starts.size() != type.rank() || limits.size() != type.rank() || steps.size() != type.rank())
    return makeError("slice of {0} needs one start, limit and step for each dim", type.str());
  Dims dims;
  for (unsigned axis = 0; axis < type.rank(); ++axis) {
    const Dim &dim = type.dims[axis];
    // A symbolic dim can only be taken whole; its bounds are then known to hold.
    bool whole = !dim.isConstant() && starts[axis] == 0 && limits[axis] == -1 && steps[axis] == 1;
    if (whole) {
      dims.push_back(dim);
      continue;
    }
    if (!dim.isConstant() || starts[axis] < 0 || limits[axis] < starts[axis] ||
        limits[axis] > dim.constant() || steps[axis] < 1)
      return makeError("slice [{0}:{1}:{2}] is out of bounds for dim {3} of {4}", starts[axis],
                       limits[axis], steps[axis], axis, type.str());
    dims.push_back(llvm::divideCeil(limits[axis] - starts[axis], steps[axis]));
  }
  return one(type.dtype, dims);
}

Inferred kv_update(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"axis", Kind::integer}}))
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

} // namespace

llvm::Expected<Types> inferTypes(const Node &node) {
  unsigned expected = arity(node.op) + node.labels.size();
  if (node.operands.size() != expected)
    return makeError("{0} takes {1} operand{2}, not {3}", spelling(node.op), arity(node.op),
                     arity(node.op) == 1 ? "" : "s", node.operands.size() - node.labels.size());
  if (!node.labels.empty() && node.op != Op::attention)
    return makeError("{0} has no operand '{1}'", spelling(node.op), node.labels.front());
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

llvm::Expected<Node *> build(Graph &graph, Node node, Node *before) {
  llvm::Expected<Types> types = inferTypes(node);
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
