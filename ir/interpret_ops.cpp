#include "ir/interpret_ops.h"

#include "ir/scalar.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace warploom {

WideTensor zeros(DType dtype, const Shape &shape) {
  WideTensor tensor;
  tensor.dtype = dtype;
  tensor.dims.assign(shape.begin(), shape.end());
  (isFloating(dtype) ? tensor.reals.resize(elementCount(shape))
                     : tensor.integers.resize(elementCount(shape)));
  return tensor;
}

Shape contiguousStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

BroadcastWalk::BroadcastWalk(const Shape &shape, llvm::ArrayRef<Shape> operands)
    : shape_(shape), index_(shape.size(), 0), positions_(operands.size(), 0) {
  for (const Shape &operand : operands) {
    Shape own = contiguousStrides(operand), strides(shape.size(), 0);
    size_t lead = shape.size() - operand.size();
    for (size_t i = 0; i < operand.size(); ++i)
      strides[lead + i] = operand[i] == 1 ? 0 : own[i];
    strides_.push_back(strides);
  }
}

void BroadcastWalk::next() {
  for (size_t axis = shape_.size(); axis-- > 0;) {
    for (size_t i = 0; i < positions_.size(); ++i)
      positions_[i] += strides_[i][axis];
    if (++index_[axis] < shape_[axis])
      return;
    index_[axis] = 0;
    for (size_t i = 0; i < positions_.size(); ++i)
      positions_[i] -= strides_[i][axis] * shape_[axis];
  }
}

namespace {

using Operands = llvm::ArrayRef<const WideTensor *>;

template <class T> T element(const WideTensor &tensor, int64_t position) {
  if constexpr (std::is_same_v<T, double>)
    return tensor.reals[position];
  else if constexpr (std::is_same_v<T, bool>)
    return tensor.integers[position] != 0;
  else
    return tensor.integers[position];
}

template <class T> void setElement(WideTensor &tensor, int64_t position, T value) {
  if (isFloating(tensor.dtype))
    tensor.reals[position] = static_cast<double>(value);
  else
    tensor.integers[position] = wrapTo(tensor.dtype, static_cast<int64_t>(value));
}

// One elementwise row of the table on operands of compute type T.
template <class T> void elementwise(Op op, Operands operands, WideTensor &result) {
  llvm::SmallVector<Shape, 3> shapes;
  for (const WideTensor *operand : operands)
    shapes.emplace_back(operand->dims);
  Shape shape(result.dims);
  BroadcastWalk walk(shape, shapes);
  auto run = [&](auto &&function) {
    for (int64_t i = 0, count = result.elementCount(); i < count; ++i, walk.next())
      setElement(result, i, function());
  };
  auto a = [&] { return element<T>(*operands[0], walk.position(0)); };
  [[maybe_unused]] auto b = [&] { return element<T>(*operands[1], walk.position(1)); };
  [[maybe_unused]] auto c = [&] { return element<T>(*operands[2], walk.position(2)); };
#define WARPLOOM_CALL_1(name) op_##name<T>(a())
#define WARPLOOM_CALL_2(name) op_##name<T>(a(), b())
#define WARPLOOM_CALL_3(name) op_##name<T>(a(), b(), c())
#define WARPLOOM_RUN_floating(call) (std::is_same_v<T, double>)
#define WARPLOOM_RUN_numeric(call) (!std::is_same_v<T, bool>)
#define WARPLOOM_RUN_integer(call) (std::is_same_v<T, int64_t>)
#define WARPLOOM_RUN_boolean(call) (std::is_same_v<T, bool>)
#define WARPLOOM_RUN_any(call) true
  switch (op) {
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  case Op::name:                                                                                   \
    if constexpr (WARPLOOM_RUN_##domain(name))                                                     \
      return run([&] { return WARPLOOM_CALL_##arity(name); });                                     \
    break;
#include "ir/ops.def"
  default:
    break;
  }
  llvm_unreachable("the shape rule keeps operands within the op's domain");
}

void dispatchElementwise(Op op, Operands operands, WideTensor &result) {
  DType dtype = operands[0]->dtype;
  if (isFloating(dtype))
    elementwise<double>(op, operands, result);
  else if (dtype == DType::i1)
    elementwise<bool>(op, operands, result);
  else
    elementwise<int64_t>(op, operands, result);
}

void evaluateCast(const WideTensor &from, WideTensor &result) {
  bool toReal = isFloating(result.dtype), fromReal = isFloating(from.dtype);
  for (int64_t i = 0, count = from.elementCount(); i < count; ++i) {
    if (toReal)
      result.reals[i] = roundTo(result.dtype, fromReal ? from.reals[i] : double(from.integers[i]));
    else if (result.dtype == DType::i1)
      result.integers[i] = fromReal ? from.reals[i] != 0 : from.integers[i] != 0;
    else
      result.integers[i] =
          wrapTo(result.dtype, fromReal ? convert<int64_t>(from.reals[i]) : from.integers[i]);
  }
}

void evaluateSelect(Operands operands, WideTensor &result) {
  Shape shape(result.dims);
  BroadcastWalk walk(
      shape, {Shape(operands[0]->dims), Shape(operands[1]->dims), Shape(operands[2]->dims)});
  for (int64_t i = 0, count = result.elementCount(); i < count; ++i, walk.next()) {
    unsigned chosen = operands[0]->integers[walk.position(0)] != 0 ? 1 : 2;
    if (isFloating(result.dtype))
      result.reals[i] = operands[chosen]->reals[walk.position(chosen)];
    else
      result.integers[i] = operands[chosen]->integers[walk.position(chosen)];
  }
}

// Splits positions of a tensor into rows along some axes: bases of the rows, and offsets in a row.
struct Rows {
  std::vector<int64_t> bases, offsets;
  Rows(const Shape &shape, llvm::ArrayRef<unsigned> axes) {
    Shape strides = contiguousStrides(shape);
    bases = offsets = {0};
    for (unsigned axis = 0; axis < shape.size(); ++axis) {
      std::vector<int64_t> &list = llvm::is_contained(axes, axis) ? offsets : bases;
      std::vector<int64_t> longer;
      for (int64_t position : list)
        for (int64_t i = 0; i < shape[axis]; ++i)
          longer.push_back(position + i * strides[axis]);
      list = std::move(longer);
    }
  }
};

template <class T> T reduceRow(const Node &node, llvm::ArrayRef<T> row) {
  T sum = 0;
  for (T value : row)
    sum = scalar::add(sum, value);
  switch (node.op) {
  case Op::reduce_sum:
    return sum;
  case Op::reduce_prod: {
    T product = 1;
    for (T value : row)
      product = scalar::multiply(product, value);
    return product;
  }
  case Op::reduce_max:
  case Op::reduce_min: {
    T best = row.front();
    for (T value : row)
      best =
          node.op == Op::reduce_max ? scalar::maximum(best, value) : scalar::minimum(best, value);
    return best;
  }
  case Op::reduce_mean:
  case Op::reduce_var: {
    // Scaled before the sum, so that a mean of large numbers does not overflow.
    T mean = 0;
    for (T value : row)
      mean += value / T(row.size());
    if (node.op == Op::reduce_mean)
      return row.empty() ? T(NAN) : mean;
    T squares = 0;
    for (T value : row)
      squares += (value - mean) * (value - mean);
    return squares / std::max(T(0), T(row.size()) - T(node.attributes.real("correction", 1)));
  }
  default:
    llvm_unreachable("not a reduction");
  }
}

void evaluateReduction(const Node &node, const WideTensor &from, WideTensor &result) {
  Rows rows(Shape(from.dims), reducedAxes(node));
  for (size_t index = 0; index < rows.bases.size(); ++index) {
    int64_t base = rows.bases[index];
    auto gather = [&](const auto &elements) {
      std::decay_t<decltype(elements)> row;
      for (int64_t offset : rows.offsets)
        row.push_back(elements[base + offset]);
      return row;
    };
    if (isFloating(from.dtype))
      setElement(result, index, reduceRow<double>(node, gather(from.reals)));
    else
      setElement(result, index, reduceRow<int64_t>(node, gather(from.integers)));
  }
}

void evaluateSoftmax(const Node &node, const WideTensor &from, WideTensor &result) {
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -1), from.dims.size());
  Rows rows(Shape(from.dims), {axis});
  for (int64_t base : rows.bases) {
    double largest = -INFINITY, sum = 0;
    for (int64_t offset : rows.offsets)
      largest = scalar::maximum(largest, from.reals[base + offset]);
    for (int64_t offset : rows.offsets)
      sum += std::exp(from.reals[base + offset] - largest);
    for (int64_t offset : rows.offsets) {
      double shifted = from.reals[base + offset] - largest;
      result.reals[base + offset] =
          node.op == Op::softmax ? std::exp(shifted) / sum : shifted - std::log(sum);
    }
  }
}

void evaluateNorm(const Node &node, Operands operands, WideTensor &result) {
  const WideTensor &x = *operands[0];
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -1), x.dims.size());
  double eps = node.attributes.real("eps", 1e-5);
  int64_t length = 1;
  for (unsigned i = axis; i < x.dims.size(); ++i)
    length *= x.dims[i];
  for (int64_t row = 0; length > 0 && row < x.elementCount() / length; ++row) {
    const double *in = x.reals.data() + row * length;
    double mean = 0, squares = 0;
    if (node.op == Op::layer_norm)
      for (int64_t i = 0; i < length; ++i)
        mean += in[i] / length;
    for (int64_t i = 0; i < length; ++i)
      squares += (in[i] - mean) * (in[i] - mean) / length;
    double scale = 1 / std::sqrt(squares + eps);
    for (int64_t i = 0; i < length; ++i) {
      double value = (in[i] - mean) * scale * operands[1]->reals[i];
      if (node.op == Op::layer_norm)
        value += operands[2]->reals[i];
      result.reals[row * length + i] = value;
    }
  }
}

void evaluateRope(const Node &node, Operands operands, WideTensor &result) {
  const WideTensor &x = *operands[0];
  int64_t headDim = x.dims.back(), half = headDim / 2;
  bool interleaved = node.attributes.text("style", "half") == "interleaved";
  Shape shape(result.dims);
  BroadcastWalk walk(shape, {shape, Shape(operands[1]->dims), Shape(operands[2]->dims)});
  for (int64_t i = 0, count = result.elementCount(); i < count; ++i, walk.next()) {
    int64_t d = i % headDim;
    bool isFirst = interleaved ? d % 2 == 0 : d < half;
    int64_t partner = interleaved ? (isFirst ? 1 : -1) : (isFirst ? half : -half);
    double turned = (isFirst ? -1 : 1) * x.reals[i + partner];
    result.reals[i] = x.reals[i] * operands[1]->reals[walk.position(1)] +
                      turned * operands[2]->reals[walk.position(2)];
  }
}

// Through the stored bits.
void evaluateBitcast(const WideTensor &from, WideTensor &result) {
  Tensor stored = narrow(from);
  stored.dtype = result.dtype;
  result = widen(stored);
}

} // namespace

WideTensor evaluateOp(const Node &node, llvm::ArrayRef<const WideTensor *> operands,
                      const Shape &shape, unsigned threads) {
  WideTensor result = zeros(node.type().dtype, shape);
  switch (node.op) {
  case Op::cast:
    evaluateCast(*operands[0], result);
    break;
  case Op::bitcast:
    evaluateBitcast(*operands[0], result);
    break;
  case Op::select:
    evaluateSelect(operands, result);
    break;
  case Op::reduce_sum:
  case Op::reduce_max:
  case Op::reduce_min:
  case Op::reduce_mean:
  case Op::reduce_prod:
  case Op::reduce_var:
    evaluateReduction(node, *operands[0], result);
    break;
  case Op::softmax:
  case Op::log_softmax:
    evaluateSoftmax(node, *operands[0], result);
    break;
  case Op::layer_norm:
  case Op::rms_norm:
    evaluateNorm(node, operands, result);
    break;
  case Op::swiglu:
    for (int64_t i = 0; i < result.elementCount(); ++i)
      result.reals[i] = op_silu(operands[0]->reals[i]) * operands[1]->reals[i];
    break;
  case Op::rope:
    evaluateRope(node, operands, result);
    break;
  case Op::attention:
    evaluateAttention(node, operands, result, threads);
    break;
  case Op::matmul:
    evaluateMatmul(node, operands, result, threads);
    break;
  case Op::constant:
  case Op::iota:
    evaluateSource(node, result);
    break;
  case Op::reshape:
  case Op::transpose:
  case Op::broadcast:
  case Op::slice:
    evaluateView(node, *operands[0], result);
    break;
  case Op::kv_update:
    evaluateUpdate(node, operands, result);
    break;
  case Op::argument:
    llvm_unreachable("arguments are bound, not evaluated");
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression) case Op::name:
#include "ir/ops.def"
    dispatchElementwise(node.op, operands, result);
    break;
  }
  return result;
}

} // namespace warploom
