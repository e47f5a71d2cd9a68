// Movement: views, updates in place, and sources.
#include "ir/interpret_ops.h"

#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace warploom {
namespace {

// Copies the elements of `from` that stand where `position` says, for each index of the result.
void gatherView(const WideTensor &from, WideTensor &result, const Shape &strides, int64_t start) {
  Shape shape(result.dims), index(shape.size(), 0);
  int64_t position = start;
  for (int64_t i = 0, count = result.elementCount(); i < count; ++i) {
    if (isFloating(from.dtype))
      result.reals[i] = from.reals[position];
    else
      result.integers[i] = from.integers[position];
    for (size_t axis = shape.size(); axis-- > 0;) {
      position += strides[axis];
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
      position -= strides[axis] * shape[axis];
    }
  }
}

} // namespace

void evaluateView(const Node &node, const WideTensor &from, WideTensor &result) {
  Shape own = contiguousStrides(Shape(from.dims)), strides(result.dims.size(), 0);
  int64_t start = 0;
  switch (node.op) {
  case Op::reshape:
    strides = contiguousStrides(Shape(result.dims));
    break;
  case Op::transpose:
    for (const auto &[axis, source] : llvm::enumerate(node.attributes.integers("permutation")))
      strides[axis] = own[source];
    break;
  case Op::broadcast:
    for (const auto &[axis, target] : llvm::enumerate(node.attributes.integers("dims")))
      strides[target] = from.dims[axis] == 1 ? 0 : own[axis];
    break;
  case Op::slice: {
    Integers starts = node.attributes.integers("starts"), steps = node.attributes.integers("steps");
    for (size_t axis = 0; axis < own.size(); ++axis) {
      strides[axis] = own[axis] * (steps.empty() ? 1 : steps[axis]);
      start += own[axis] * starts[axis];
    }
    break;
  }
  default:
    llvm_unreachable("not a view");
  }
  gatherView(from, result, strides, start);
}

void evaluateUpdate(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                    WideTensor &result) {
  const WideTensor &fresh = *operands[1], &position = *operands[2];
  result.reals = operands[0]->reals;
  result.integers = operands[0]->integers;
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -2), fresh.dims.size());
  Shape strides = contiguousStrides(Shape(result.dims)), index(fresh.dims.size(), 0);
  for (int64_t i = 0, count = fresh.elementCount(); i < count; ++i) {
    int64_t start = position.integers[position.dims.empty() ? 0 : index[0]];
    int64_t place = start + index[axis], target = 0;
    for (size_t k = 0; k < index.size(); ++k)
      target += strides[k] * (k == axis ? place : index[k]);
    // A write outside of the cache writes nothing.
    if (place >= 0 && place < result.dims[axis]) {
      if (isFloating(result.dtype))
        result.reals[target] = fresh.reals[i];
      else
        result.integers[target] = fresh.integers[i];
    }
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < fresh.dims[k])
        break;
      index[k] = 0;
    }
  }
}

void evaluateSource(const Node &node, WideTensor &result) {
  int64_t count = result.elementCount();
  if (node.op == Op::constant) {
    const AttributeValue &value = *node.attributes.find("value");
    for (int64_t i = 0; i < count; ++i) {
      if (isFloating(result.dtype))
        result.reals[i] = roundTo(result.dtype, node.attributes.real("value", 0));
      else if (const bool *flag = std::get_if<bool>(&value))
        result.integers[i] = *flag;
      else
        result.integers[i] = wrapTo(result.dtype, std::get<int64_t>(value));
    }
    return;
  }
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -1), result.dims.size());
  int64_t stride = contiguousStrides(Shape(result.dims))[axis];
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = i / stride % result.dims[axis];
    if (isFloating(result.dtype))
      result.reals[i] = roundTo(result.dtype, double(place));
    else
      result.integers[i] = wrapTo(result.dtype, place);
  }
}

} // namespace warploom
