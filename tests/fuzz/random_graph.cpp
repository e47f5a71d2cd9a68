#include "tests/fuzz/random_graph.h"

#include "ir/shape_rules.h"
#include "tests/fuzz/dice.h"
#include "tests/fuzz/random_views.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom::fuzz {
namespace {

constexpr int64_t kMostElements = 16384; // of a value
constexpr unsigned kMostTries = 200;

class Generator {
public:
  explicit Generator(uint64_t seed) : dice_(seed) {
    // Mostly small, with the sizes at which schedules change.
    constexpr int64_t kSizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 24, 31, 32, 33, 64, 100, 128, 257};
    for (Dim &dim : palette_)
      dim = kSizes[dice_.below(std::size(kSizes))];
    if (dice_.chance(0.15))
      palette_[0] = dice_.below(12) ? 0x400 + dice_.below(0x800) : 0;
    if (dice_.chance(0.2)) {
      made_.symbols["n"] = palette_[1].constant();
      palette_[1] = Dim::symbol("n");
    }
    constexpr DType kMain[] = {DType::f32,  DType::f32, DType::bf16, DType::bf16,
                               DType::bf16, DType::f16, DType::f64,  DType::i32};
    main_ = kMain[dice_.below(std::size(kMain))];
  }

  RandomGraph run() {
    argument(main_, randomDims());
    unsigned wanted = 3 + dice_.below(13);
    for (unsigned tries = 0; tries < kMostTries && nodes_ < wanted; ++tries)
      addNode();
    returnSinks();
    return std::move(made_);
  }

private:
  int64_t sizeOf(llvm::ArrayRef<Dim> dims) {
    int64_t count = 1;
    for (const Dim &dim : dims)
      count *= llvm::cantFail(dim.evaluate(made_.symbols));
    return count;
  }

  Dims randomDims() {
    Dims dims;
    for (unsigned rank = dice_.below(5); dims.size() < rank;) {
      dims.push_back(palette_[dice_.below(std::size(palette_))]);
      if (sizeOf(dims) > kMostElements)
        dims.back() = 1;
    }
    return dims;
  }

  // A new argument; now and then one that lies transposed, reversed, expanded or with gaps.
  Value argument(DType dtype, const Dims &dims, bool isPlain = false) {
    TensorType type;
    type.dtype = dtype;
    type.dims = dims;
    bool isFixed = llvm::all_of(dims, [](const Dim &dim) { return dim.isConstant(); });
    if (!isPlain && isFixed && !dims.empty() && dice_.chance(0.2))
      layOut(type, dice_);
    std::string name = "x" + std::to_string(made_.graph.arguments().size());
    return values_.emplace_back(made_.graph.addArgument(name, type));
  }

  Value source(DType dtype, const Dims &dims) {
    Attributes attributes;
    attributes.set("dtype", dtype);
    attributes.set("shape", dims);
    if (!dims.empty() && dtype != DType::i1 && dice_.chance(0.3)) {
      attributes.set("axis", int64_t(dice_.below(dims.size())));
      return emit(Op::iota, {}, attributes);
    }
    if (dtype == DType::i1)
      attributes.set("value", dice_.chance(0.5));
    else if (isFloating(dtype))
      attributes.set("value", dice_.oneOf<double>({0.0, -0.0, 1.0, -2.5, 0.3, 1e-5, 7.0}));
    else
      attributes.set("value", dice_.oneOf<int64_t>({0, 1, 2, 3, 7}));
    return emit(Op::constant, {}, attributes);
  }

  // No value where the op's rule refuses: the table, not this file, says what fits.
  Value emit(Op op, llvm::ArrayRef<Value> operands, Attributes attributes = {},
             llvm::ArrayRef<std::string> labels = {}) {
    Node node;
    node.op = op;
    node.operands.assign(operands.begin(), operands.end());
    node.labels.assign(labels.begin(), labels.end());
    node.attributes = std::move(attributes);
    llvm::Expected<llvm::SmallVector<TensorType, 1>> types = inferTypes(node);
    if (!types) {
      llvm::consumeError(types.takeError());
      return {};
    }
    for (const TensorType &type : *types)
      if (sizeOf(type.dims) > kMostElements)
        return {};
    Node *built = llvm::cantFail(build(made_.graph, std::move(node)));
    ++nodes_;
    for (unsigned index = 0; index < built->results.size(); ++index)
      values_.push_back(built->result(index));
    return built->result();
  }

  // Later values are likelier, so that chains grow long.
  Value anyValue() {
    size_t age = std::min(dice_.below(values_.size()), dice_.below(values_.size()));
    return values_[values_.size() - 1 - age];
  }
  Value anyWhere(llvm::function_ref<bool(Value)> fits) {
    for (unsigned tries = 0; tries < 8; ++tries)
      if (Value value = anyValue(); fits(value))
        return value;
    return {};
  }
  Value anyFloating(unsigned minimalRank) {
    return anyWhere([&](Value value) {
      return isFloating(value.type().dtype) && value.type().rank() >= minimalRank;
    });
  }

  // A value of that type that broadcasts to `dims`: one that is there, or a new one.
  Value partner(DType dtype, const Dims &dims) {
    if (dice_.chance(0.7))
      if (Value found = anyWhere([&](Value value) {
            std::optional<Dims> joint = broadcastDims(value.type().dims, dims);
            return value.type().dtype == dtype && joint && *joint == dims;
          }))
        return found;
    Dims own = dims;
    if (dice_.chance(0.5)) {
      own.erase(own.begin(), own.begin() + dice_.below(own.size() + 1));
      for (Dim &dim : own)
        if (dice_.chance(0.3))
          dim = 1;
    }
    return dice_.chance(0.2) ? source(dtype, own) : argument(dtype, own);
  }

  void addNode() {
    constexpr unsigned kOps = 0
#define WARPLOOM_ELEMENTWISE(...) +1
#define WARPLOOM_STRUCTURED(...) +1
#include "ir/ops.def"
        ;
    // Structured ops as often as elementwise ones, of which there are many.
    Op op = Op(dice_.below(kOps));
    if (isElementwise(op) && dice_.chance(0.5))
      op = Op(dice_.below(kOps));
    switch (kind(op)) {
    case OpKind::elementwise:
      return addElementwise(op);
    case OpKind::conversion:
      return addConversion(op);
    case OpKind::selection: {
      Value taken = anyValue();
      const Dims dims = taken.type().dims;
      emit(op, {partner(DType::i1, dims), taken, partner(taken.type().dtype, dims)});
      return;
    }
    case OpKind::reduction:
      return addReduction(op);
    case OpKind::composite:
      return addComposite(op);
    case OpKind::view:
      return addView(op);
    case OpKind::update:
      return addUpdate();
    case OpKind::contraction:
      return op == Op::matmul ? addMatmul() : addAttention();
    case OpKind::source:
      source(main_, randomDims());
      return;
    case OpKind::boundary:
      return;
    }
  }

  void addElementwise(Op op) {
    Value first = anyValue();
    if (operandDomain(op) == OperandDomain::boolean && first.type().dtype != DType::i1)
      first = anyWhere([](Value value) { return value.type().dtype == DType::i1; });
    if (!first)
      return;
    // Mostly inside the op's domain; NaN on every element would hide everything else.
    bool isPositive = op == Op::log || op == Op::sqrt || op == Op::rsqrt || op == Op::log1p;
    if (isPositive && dice_.chance(0.8))
      first = emit(Op::abs, {first});
    if (!first)
      return;
    llvm::SmallVector<Value, 3> operands = {first};
    while (operands.size() < arity(op))
      operands.push_back(partner(first.type().dtype, first.type().dims));
    if (operands.size() > 1 && op != Op::clamp && dice_.chance(0.5))
      std::swap(operands[0], operands[1]);
    emit(op, operands);
  }

  void addConversion(Op op) {
    constexpr DType kTypes[] = {
#define WARPLOOM_DTYPE(name, bytes, kind) DType::name,
#include "ir/dtypes.def"
    };
    Attributes attributes;
    attributes.set("to", dice_.chance(0.5) ? main_ : kTypes[dice_.below(std::size(kTypes))]);
    emit(op, {anyValue()}, attributes);
  }

  void addReduction(Op op) {
    Value value = anyValue();
    Attributes attributes;
    Integers axes;
    for (unsigned axis = 0; axis < value.type().rank(); ++axis)
      if (dice_.chance(0.5) || (axis + 1 == value.type().rank() && axes.empty()))
        axes.push_back(axis);
    if (dice_.chance(0.9))
      attributes.set("axes", axes);
    if (dice_.chance(0.5))
      attributes.set("keepdims", true);
    // A long product is 0 or too large, by the order of its factors.
    if (op == Op::reduce_prod && sizeOf(value.type().dims) > 16)
      return;
    emit(op, {value}, attributes);
  }

  void addComposite(Op op) {
    Value value = anyFloating(op == Op::rope ? 2 : 1);
    if (!value)
      return;
    DType dtype = value.type().dtype;
    Dims dims = value.type().dims;
    Attributes attributes;
    if (op == Op::rope) {
      if (dice_.chance(0.5))
        attributes.set("style", "interleaved");
      Dims angles = {dims[dims.size() - 2], dims.back()};
      emit(op, {value, argument(dtype, angles), argument(dtype, angles)}, attributes);
      return;
    }
    if (op == Op::swiglu) {
      emit(op, {value, partner(dtype, dims)});
      return;
    }
    int64_t axis = dice_.chance(0.7) ? dims.size() - 1 : dice_.below(dims.size());
    attributes.set("axis", axis);
    llvm::SmallVector<Value, 3> operands = {value};
    while (operands.size() < arity(op))
      operands.push_back(argument(dtype, Dims(dims.begin() + axis, dims.end())));
    emit(op, operands, attributes);
  }

  void addView(Op op) {
    Value value = anyValue();
    if (std::optional<Attributes> attributes = randomView(op, value.type().dims, palette_, dice_))
      emit(op, {value}, *attributes);
  }

  void addUpdate() {
    Value fresh = anyWhere([](Value value) { return value.type().rank() >= 2; });
    if (!fresh)
      return;
    TensorType cache;
    cache.dtype = fresh.type().dtype;
    cache.dims = fresh.type().dims;
    unsigned axis = dice_.below(cache.rank());
    if (!cache.dims[axis].isConstant())
      return;
    cache.dims[axis] = cache.dims[axis].constant() + dice_.below(5);
    Attributes attributes;
    attributes.set("axis", int64_t(axis));
    std::string name = "x" + std::to_string(made_.graph.arguments().size());
    Value target = made_.graph.addArgument(name, cache, /*isMutable=*/true);
    Value position = argument(DType::i32, {}, /*isPlain=*/true);
    emit(Op::kv_update, {target, fresh, position}, attributes);
  }

  void addMatmul() {
    Value left = anyFloating(2);
    if (!left)
      return;
    const Dims &dims = left.type().dims;
    bool transposeA = dice_.chance(0.15), transposeB = dice_.chance(0.5);
    Dim depth = dims[dims.size() - (transposeA ? 2 : 1)];
    Dim columns = palette_[dice_.below(std::size(palette_))];
    Dims right = transposeB ? Dims{columns, depth} : Dims{depth, columns};
    if (dice_.chance(0.3))
      right.insert(right.begin(), dims.begin(), dims.end() - 2);
    Attributes attributes;
    if (transposeA)
      attributes.set("transpose_a", true);
    if (transposeB)
      attributes.set("transpose_b", true);
    emit(Op::matmul, {left, argument(left.type().dtype, right)}, attributes);
  }

  void addAttention() {
    DType dtype = dice_.chance(0.5) ? DType::bf16 : DType::f16;
    int64_t batch = 1 + dice_.below(2), kvHeads = 1 + dice_.below(2),
            heads = kvHeads * (1 + dice_.below(3));
    int64_t headDim = dice_.oneOf<int64_t>({16, 32, 64});
    int64_t keys = 1 + dice_.below(40), queries = 1 + dice_.below(keys);
    if (batch * heads * queries * headDim > kMostElements)
      return;
    Dims kv = {batch, kvHeads, keys, headDim};
    llvm::SmallVector<Value, 5> operands = {argument(dtype, {batch, heads, queries, headDim}, true),
                                            argument(dtype, kv, true), argument(dtype, kv, true)};
    Attributes attributes;
    if (dice_.chance(0.5))
      attributes.set("causal", true);
    llvm::SmallVector<std::string, 1> labels;
    if (dice_.chance(0.3)) {
      labels.push_back("mask");
      operands.push_back(argument(dice_.chance(0.5) ? DType::i1 : dtype, {queries, keys}));
    }
    emit(Op::attention, operands, attributes, labels);
  }

  // What nothing reads is returned, and now and then more.
  void returnSinks() {
    Uses uses(made_.graph);
    for (Node &node : made_.graph.nodes()) {
      if (node.op == Op::argument)
        continue;
      for (unsigned index = 0; index < node.results.size(); ++index)
        if (uses.of(node.result(index)).empty() || dice_.chance(0.1))
          made_.graph.addResult(node.result(index));
    }
    if (made_.graph.results().empty())
      made_.graph.addResult(values_.front());
  }

  Dice dice_;
  RandomGraph made_;
  Dim palette_[3];
  DType main_;
  std::vector<Value> values_;
  unsigned nodes_ = 0;
};

} // namespace

RandomGraph randomGraph(uint64_t seed) {
  return Generator(seed).run();
}

} // namespace warploom::fuzz
