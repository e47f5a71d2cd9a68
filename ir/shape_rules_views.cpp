#include "ir/shape_rules_checks.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace warploom::shape_rules {

// Sources have no operand to take a type from: they carry it as the attributes dtype and shape,
// which the text writes as the ascription.
static Inferred source(const Node &node, AttributeRule own) {
  if (llvm::Error error = checkAttributes(
          node, {own, {"dtype", AttributeKind::dtype}, {"shape", AttributeKind::dims}},
          {"dtype", "shape"}))
    return error;
  return one(node.attributes.dtype("dtype"), node.attributes.dims("shape"));
}

Inferred constant(const Node &node) {
  const AttributeValue *value = node.attributes.find("value");
  if (!value)
    return makeError("constant needs the attribute 'value'");
  const AttributeValue *dtype = node.attributes.find("dtype");
  if (!dtype)
    return makeError("constant needs a type: write ': f32[4]' behind it");
  AttributeKind kind = AttributeKind::integer;
  if (const DType *type = std::get_if<DType>(dtype); type && *type == DType::i1)
    kind = AttributeKind::boolean;
  else if (type && isFloating(*type))
    kind = AttributeKind::real;
  return source(node, {"value", kind});
}

Inferred iota(const Node &node) {
  if (!node.attributes.find("dtype"))
    return makeError("iota needs a type: write ': i32[4]' behind it");
  Inferred types = source(node, {"axis", AttributeKind::integer});
  if (!types)
    return types;
  const TensorType &type = types->front();
  if (type.dtype == DType::i1 || !normalizeAxis(node.attributes.integer("axis", -1), type.rank()))
    return makeError("iota counts along an axis of a numeric type, not axis {0} of {1}",
                     node.attributes.integer("axis", -1), type.str());
  return types;
}

namespace {

// A number of elements: a number times dims with symbols.
struct Extent {
  int64_t number = 1;
  Dims symbolic;
};

// None: the number overflows.
std::optional<Extent> extentOf(llvm::ArrayRef<Dim> dims) {
  Extent extent;
  for (const Dim &dim : dims)
    if (!dim.isConstant())
      extent.symbolic.push_back(dim);
    else if (llvm::MulOverflow(extent.number, dim.constant(), extent.number))
      return std::nullopt;
  return extent;
}

// The dim that makes `known` times it equal to `whole`, if there is exactly one.
std::optional<Dim> quotient(Extent whole, const Extent &known) {
  for (const Dim &dim : known.symbolic) {
    Dim *same = llvm::find(whole.symbolic, dim);
    if (same == whole.symbolic.end())
      return std::nullopt;
    whole.symbolic.erase(same);
  }
  if (whole.symbolic.size() > 1 || known.number == 0 || whole.number % known.number != 0)
    return std::nullopt;
  int64_t factor = whole.number / known.number;
  if (whole.symbolic.empty())
    return Dim(factor);
  const Dim &dim = whole.symbolic.front();
  int64_t largest = std::abs(dim.constantPart());
  for (const Dim::Term &term : dim.terms())
    largest = std::max(largest, std::abs(term.coefficient));
  if (llvm::MulOverflow(largest, factor, largest))
    return std::nullopt;
  return dim * factor;
}

bool areEqual(const Extent &a, const Extent &b) {
  return a.number == b.number && a.symbolic.size() == b.symbolic.size() &&
         std::is_permutation(a.symbolic.begin(), a.symbolic.end(), b.symbolic.begin());
}

} // namespace

Inferred reshape(const Node &node) {
  if (llvm::Error error = checkAttributes(node, {{"shape", AttributeKind::dims}}, {"shape"}))
    return error;
  const TensorType &type = operandType(node, 0);
  Dims dims = node.attributes.dims("shape");
  Dim *inferred = nullptr;
  for (Dim &dim : dims) {
    if (!dim.isConstant() || dim.constant() >= 0)
      continue;
    if (!(dim == -1) || inferred)
      return makeError("reshape to {0}: one dim at most may be -1, and none may be less",
                       shapeText(dims));
    inferred = &dim;
  }
  if (inferred)
    *inferred = 1;
  std::optional<Extent> from = extentOf(type.dims), to = extentOf(dims);
  if (from && to && inferred) {
    std::optional<Dim> missing = quotient(*from, *to);
    *inferred = -1;
    if (!missing)
      return makeError("reshape of {0} to {1}: no number of elements fits the -1", type.str(),
                       shapeText(dims));
    *inferred = *missing;
    return one(type.dtype, dims);
  }
  if (!from || !to || !areEqual(*from, *to))
    return makeError("reshape of {0} to {1} changes the number of elements", type.str(),
                     shapeText(dims));
  return one(type.dtype, dims);
}

Inferred transpose(const Node &node) {
  if (llvm::Error error =
          checkAttributes(node, {{"permutation", AttributeKind::integers}}, {"permutation"}))
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
  if (llvm::Error error =
          checkAttributes(node, {{"dims", AttributeKind::integers}, {"shape", AttributeKind::dims}},
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
  if (llvm::Error error = checkAttributes(node,
                                          {{"limits", AttributeKind::integers},
                                           {"starts", AttributeKind::integers},
                                           {"steps", AttributeKind::integers}},
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

} // namespace warploom::shape_rules
