#include "passes/passes.h"

#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace warploom {
namespace {

// Builds the opened form in front of a composite; values are named after its result.
class Opener {
public:
  Opener(Graph &graph, Node &composite)
      : graph_(graph), composite_(composite), base_(composite.results[0].name),
        dtype_(composite.type().dtype), wide_(dtype_ == DType::f64 ? DType::f64 : DType::f32) {}

  // An operand in the type that the composite is computed in.
  Value operand(unsigned index) {
    Value value = composite_.operands[index];
    return value.type().dtype == wide_ ? value : cast(value, wide_, value.name() + "_wide");
  }

  Value emit(llvm::StringRef suffix, Op op, llvm::ArrayRef<Value> operands,
             Attributes attributes = {}) {
    std::string name = suffix.empty() ? base_ : base_ + "_" + suffix.str();
    return buildValue(graph_, &composite_, name, op, operands, std::move(attributes));
  }

  Value constant(llvm::StringRef suffix, double value, const Dims &dims = {}) {
    Attributes attributes;
    attributes.set("value", value);
    attributes.set("dtype", wide_);
    attributes.set("shape", dims);
    return emit(suffix, Op::constant, {}, attributes);
  }

  Value reduce(llvm::StringRef suffix, Op op, Value value, const Integers &axes) {
    Attributes attributes;
    attributes.set("axes", axes);
    attributes.set("keepdims", true);
    return emit(suffix, op, {value}, attributes);
  }

  // Puts `value`, rounded to the composite's type, in the composite's place.
  void finish(Value value) {
    if (value.type().dtype != dtype_)
      value = cast(value, dtype_, base_);
    graph_.takeName(value, composite_.result());
    graph_.replaceAllUses(composite_.result(), value);
    graph_.erase(&composite_);
  }

private:
  Value cast(Value value, DType to, llvm::StringRef name) {
    Attributes attributes;
    attributes.set("to", to);
    return buildValue(graph_, &composite_, name, Op::cast, {value}, std::move(attributes));
  }

  Graph &graph_;
  Node &composite_;
  std::string base_;
  DType dtype_, wide_;
};

Integers normalizedAxes(const Node &node, bool toTheEnd) {
  unsigned rank = node.type().rank();
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -1), rank);
  Integers axes;
  for (unsigned i = axis; i < (toTheEnd ? rank : axis + 1); ++i)
    axes.push_back(i);
  return axes;
}

void openSoftmax(Graph &graph, Node &node) {
  Opener open(graph, node);
  Integers axes = normalizedAxes(node, /*toTheEnd=*/false);
  // Nothing of nothing: an empty row has no largest value.
  if (node.type().dims[axes.front()] == 0)
    return open.finish(open.constant("", 0, node.type().dims));
  Value x = open.operand(0);
  Value largest = open.reduce("max", Op::reduce_max, x, axes);
  Value shifted = open.emit("shifted", Op::sub, {x, largest});
  Value exponential = open.emit("exp", Op::exp, {shifted});
  Value sum = open.reduce("sum", Op::reduce_sum, exponential, axes);
  // One division for the row, not one for each element.
  if (node.op == Op::softmax)
    return open.finish(
        open.emit("scaled", Op::mul, {exponential, open.emit("scale", Op::reciprocal, {sum})}));
  Value logarithm = open.emit("log", Op::log, {sum});
  open.finish(open.emit("difference", Op::sub, {shifted, logarithm}));
}

// The variance is of the centred row, exact to rounding: the row is in registers, so a second pass
// over it costs no memory.
void openNorm(Graph &graph, Node &node) {
  Opener open(graph, node);
  Integers axes = normalizedAxes(node, /*toTheEnd=*/true);
  Value x = open.operand(0);
  if (node.op == Op::layer_norm) {
    Value mean = open.reduce("mean", Op::reduce_mean, x, axes);
    x = open.emit("centred", Op::sub, {x, mean});
  }
  Value squares = open.emit("squares", Op::mul, {x, x});
  Value variance = open.reduce("variance", Op::reduce_mean, squares, axes);
  Value eps = open.constant("eps", node.attributes.real("eps", 1e-5));
  Value shifted = open.emit("shifted", Op::add, {variance, eps});
  Value scale = open.emit("scale", Op::rsqrt, {shifted});
  Value normalized = open.emit("normalized", Op::mul, {x, scale});
  Value result = open.emit("scaled", Op::mul, {normalized, open.operand(1)});
  if (node.op == Op::layer_norm)
    result = open.emit("biased", Op::add, {result, open.operand(2)});
  open.finish(result);
}

void openSwiglu(Graph &graph, Node &node) {
  Opener open(graph, node);
  Value activated = open.emit("activated", Op::silu, {open.operand(0)});
  open.finish(open.emit("product", Op::mul, {activated, open.operand(1)}));
}

// The count of the elements that a reduction takes together; one of symbolic dims is summed up.
Value reducedCount(Opener &open, Value value, const Integers &axes) {
  const Dims &dims = value.type().dims;
  if (llvm::all_of(axes, [&](int64_t axis) { return dims[axis].isConstant(); })) {
    double count = 1;
    for (int64_t axis : axes)
      count *= dims[axis].constant();
    return open.constant("count", count);
  }
  Attributes everywhere;
  everywhere.set("shape", dims);
  everywhere.set("dims", Integers());
  Value ones = open.emit("ones", Op::broadcast, {open.constant("one", 1)}, everywhere);
  return open.reduce("count", Op::reduce_sum, ones, axes);
}

// The mean of the squared distances from the mean, where the count of the mean is reduced by the
// correction, to 0 at least: PyTorch's `var`.
void openVariance(Graph &graph, Node &node) {
  Opener open(graph, node);
  Value x = open.operand(0);
  const Integers axes(llvm::to_vector_of<int64_t>(reducedAxes(node)));
  Value mean = open.reduce("mean", Op::reduce_mean, x, axes);
  Value centred = open.emit("centred", Op::sub, {x, mean});
  Value squares = open.emit("squares", Op::mul, {centred, centred});
  Value sum = open.reduce("sum", Op::reduce_sum, squares, axes);
  Value correction = open.constant("correction", node.attributes.real("correction", 1));
  Value freedom = open.emit("freedom", Op::sub, {reducedCount(open, x, axes), correction});
  Value divisor = open.emit("divisor", Op::max, {freedom, open.constant("zero", 0)});
  Value variance = open.emit("variance", Op::div, {sum, divisor});
  if (!node.attributes.boolean("keepdims", false)) {
    Attributes shape;
    shape.set("shape", node.type().dims);
    variance = open.emit("dropped", Op::reshape, {variance}, shape);
  }
  open.finish(variance);
}

// The row's values then share the row's index; the dropped dims come back as a view.
void keepDims(Graph &graph, Node &node) {
  Attributes kept = node.attributes;
  kept.set("keepdims", true);
  Value reduced = buildValue(graph, &node, node.results[0].name + "_kept", node.op, node.operands,
                             std::move(kept));
  Attributes shape;
  shape.set("shape", node.type().dims);
  Value dropped = buildValue(graph, &node, "", Op::reshape, {reduced}, std::move(shape));
  graph.takeName(dropped, node.result());
  graph.replaceAllUses(node.result(), dropped);
  graph.erase(&node);
}

} // namespace

unsigned decompose(Graph &graph, const PassContext &) {
  unsigned rewrites = 0;
  for (Node &node : llvm::make_early_inc_range(graph.nodes())) {
    switch (node.op) {
    case Op::softmax:
    case Op::log_softmax:
      openSoftmax(graph, node);
      break;
    case Op::layer_norm:
    case Op::rms_norm:
      openNorm(graph, node);
      break;
    case Op::swiglu:
      openSwiglu(graph, node);
      break;
    case Op::reduce_var:
      openVariance(graph, node);
      break;
    default:
      if (!isReduction(node.op) || node.attributes.boolean("keepdims", false))
        continue;
      keepDims(graph, node);
    }
    ++rewrites;
  }
  return rewrites;
}

} // namespace warploom
