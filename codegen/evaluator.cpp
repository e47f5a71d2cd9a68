#include "codegen/evaluator.h"

#include "ir/index_map.h"
#include "ir/shape_rules.h"
#include "ir/tensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace warploom {
namespace {

Value resultOf(const Node &node) {
  return const_cast<Node &>(node).result();
}

bool isComputedAsStored(DType dtype) {
  return computeType(dtype) == storageType(dtype);
}

std::string toCompute(DType dtype, const std::string &stored) {
  return isComputedAsStored(dtype)
             ? stored
             : llvm::formatv("convert<{0}>({1})", computeType(dtype), stored).str();
}

std::string indexKey(const Index &index) {
  return llvm::join(llvm::map_range(index, [](const IndexExpr &place) { return place.str(); }),
                    ", ");
}

// A literal that reads back to the same bits; what C++ has no literal for is written as bits.
std::string realLiteral(DType dtype, double value) {
  bool isDouble = dtype == DType::f64;
  if (std::isfinite(value) && !(value == 0 && std::signbit(value))) {
    llvm::SmallString<32> text;
    llvm::raw_svector_ostream stream(text);
    stream << llvm::format(isDouble ? "%.17g" : "%.9g", value);
    if (!text.str().contains_insensitive("e") && !text.str().contains('.'))
      text += ".0";
    std::string literal = (text + (isDouble ? "" : "f")).str();
    return value < 0 ? "(" + literal + ")" : literal; // a minus in front of it stays a minus
  }
  if (isDouble) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return llvm::formatv("doubleFromBits({0}ull)", bits).str();
  }
  float single = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof(bits));
  return llvm::formatv("floatFromBits({0}u)", bits).str();
}

std::string constantLiteral(const Node &constant) {
  DType dtype = constant.type().dtype;
  const AttributeValue &value = *constant.attributes.find("value");
  if (const bool *flag = std::get_if<bool>(&value))
    return *flag ? "true" : "false";
  if (isFloating(dtype))
    return realLiteral(dtype, roundTo(dtype, constant.attributes.real("value", 0)));
  int64_t number = wrapTo(dtype, std::get<int64_t>(value));
  // The lowest number has no literal of its own.
  if (number == INT64_MIN)
    return "(-9223372036854775807ll - 1)";
  return llvm::formatv("{0}({1}{2})", computeType(dtype), number, dtype == DType::i64 ? "ll" : "")
      .str();
}

} // namespace

void Evaluator::beginLanes(unsigned width, std::optional<CutChunk> cut) {
  width_ = width;
  cut_ = std::move(cut);
  before_ = std::make_unique<Emitter>(kernel_.names());
  lanes_ = std::make_unique<Emitter>(kernel_.names());
  after_ = std::make_unique<Emitter>(kernel_.names());
  memo_.clear();
}

void Evaluator::endLanes() {
  kernel_.body().splice(*before_);
  if (width_ == 1) {
    kernel_.body().splice(*lanes_);
  } else if (!lanes_->str().empty()) {
    kernel_.body().line("#pragma unroll");
    auto loop = kernel_.body().block("for (int lane = 0; lane < {0}; ++lane)", width_);
    if (cut_) {
      kernel_.body().line("if (!{0} && isOutside({1} + lane, {2}))", cut_->isWhole, cut_->column,
                          cut_->columns);
      kernel_.body().line("  continue;");
    }
    kernel_.body().splice(*lanes_);
  }
  kernel_.body().splice(*after_);
  before_.reset();
  lanes_.reset();
  after_.reset();
}

bool Evaluator::isOwn(Value value) const {
  const Node &node = *value.node;
  if (kind(node.op) == OpKind::source)
    return true;
  if (isView(node.op) && !node.group)
    return true;
  return node.group == kernel_.group().number && node.op != Op::argument;
}

std::string Evaluator::evaluate(Value value, const Index &index) {
  std::string key = std::to_string(reinterpret_cast<uintptr_t>(value.node)) + "." +
                    std::to_string(value.index) + "[" + indexKey(index) + "]";
  auto known = memo_.find(key);
  if (known != memo_.end())
    return known->second;
  auto provider = providers_.find(value);
  std::string expression = provider != providers_.end() ? provider->second(index)
                           : isOwn(value)               ? compute(*value.node, index)
                                                        : loadStored(value, index);
  if (isUsedAsStored(value))
    expression = defineRounded(value, index, expression);
  return memo_[key] = expression;
}

// What is stored and also used in the kernel is one value: its use sees the rounding of the store.
bool Evaluator::isUsedAsStored(Value value) const {
  const Group &group = kernel_.group();
  DType dtype = value.type().dtype;
  if (isComputedAsStored(dtype) || !llvm::is_contained(group.outputs, value))
    return false;
  return llvm::any_of(group.nodes, [&](const Node *node) {
    return kind(node->op) != OpKind::update && llvm::any_of(node->operands, [&](Value operand) {
             return storedValue(operand) == value;
           });
  });
}

std::string Evaluator::define(Value value, const Index &index, const std::string &expression) {
  return define(value, computeType(value.type().dtype), index, expression);
}

std::string Evaluator::defineRounded(Value value, const Index &index,
                                     const std::string &expression) {
  DType dtype = value.type().dtype;
  return widened(dtype, define(value, storageType(dtype), index, toStorage(dtype, expression)));
}

std::string Evaluator::widened(DType dtype, const std::string &stored) {
  std::string expression = toCompute(dtype, stored);
  storedForms_[expression] = {dtype, stored};
  return expression;
}

std::string Evaluator::toStorage(DType dtype, const std::string &computed) const {
  auto known = storedForms_.find(computed);
  if (known != storedForms_.end() && known->second.first == dtype)
    return known->second.second;
  return isComputedAsStored(dtype)
             ? computed
             : llvm::formatv("convert<{0}>({1})", storageType(dtype), computed).str();
}

std::string Evaluator::define(Value value, llvm::StringRef type, const Index &index,
                              const std::string &expression) {
  // What is the same in every lane is computed once, in front of them.
  bool varies = width_ == 1 || llvm::any_of(index, [](const IndexExpr &place) {
                  std::optional<IndexExpr> step = place.coefficientOf("lane");
                  return !step || step->constant() != 0;
                });
  Emitter &where = varies ? lanes() : beforeLanes();
  std::string name = where.name(value.name());
  where.line("const {0} {1} = {2};", type, name, expression);
  return name;
}

std::string Evaluator::compute(const Node &node, const Index &index) {
  switch (node.op) {
  case Op::constant:
    return constantLiteral(node);
  case Op::iota: {
    unsigned axis = *normalizeAxis(node.attributes.integer("axis", -1), index.size());
    std::string place = "int64_t(" + index[axis].str() + ")";
    // Through the storage type: small types round or wrap.
    return llvm::formatv("convert<{0}>(convert<{1}>({2}))", computeType(node.type().dtype),
                         storageType(node.type().dtype), place)
        .str();
  }
  case Op::reshape:
  case Op::transpose:
  case Op::broadcast:
  case Op::slice:
    return evaluate(node.operands[0], pulledIndex(kernel_, node, index));
  case Op::rope:
    return computeRope(node, index);
  case Op::cast:
  case Op::bitcast:
    return computeCast(node, index);
  default:
    break;
  }
  assert(isElementwise(node.op) && "anchors are provided by the kernel");
  llvm::SmallVector<std::string, 3> operands;
  for (Value operand : node.operands)
    operands.push_back(evaluate(operand, broadcastIndex(index, operand.type().dims)));
  std::string expression =
      node.op == Op::select
          ? operands[0] + " ? " + operands[1] + " : " + operands[2]
          : llvm::formatv("op_{0}<{1}>({2})", spelling(node.op),
                          computeType(node.operands[0].type().dtype), llvm::join(operands, ", "))
                .str();
  return define(resultOf(node), index, expression);
}

std::string Evaluator::computeCast(const Node &node, const Index &index) {
  DType from = node.operands[0].type().dtype, to = node.type().dtype;
  std::string operand = evaluate(node.operands[0], index);
  if (node.op == Op::bitcast) {
    std::string stored = llvm::formatv("bitcast<{0}>(convert<{1}>({2}))", storageType(to),
                                       storageType(from), operand)
                             .str();
    return widened(to, define(resultOf(node), storageType(to), index, stored));
  }
  // To a wider floating type nothing changes; to a smaller one the value is really rounded.
  bool isExact =
      isFloating(from) && computeType(from) == computeType(to) && (to == DType::f32 || from == to);
  if (isExact)
    return operand;
  return widened(to, define(resultOf(node), storageType(to), index,
                            llvm::formatv("convert<{0}>({1})", storageType(to), operand).str()));
}

std::string Evaluator::computeRope(const Node &node, const Index &index) {
  // Element d turns with its partner: half a head away, or its neighbour.
  const TensorType &type = node.type();
  int64_t headDim = type.dims.back().constant(), half = headDim / 2;
  bool interleaved = node.attributes.text("style", "half") == "interleaved";
  const IndexExpr &d = index.back();
  Index partnerIndex = index;
  std::string isFirst;
  if (interleaved) {
    IndexExpr parity = mod(d, 2);
    partnerIndex.back() = d + IndexExpr(1) - parity * IndexExpr(2);
    isFirst = parity.factor() + " == 0";
  } else {
    partnerIndex.back() = mod(d + IndexExpr(half), headDim);
    isFirst = d.str() + " < " + std::to_string(half);
  }
  std::string self = evaluate(node.operands[0], index);
  std::string partner = evaluate(node.operands[0], partnerIndex);
  auto angle = [&](unsigned operand) {
    Value value = node.operands[operand];
    return evaluate(value, broadcastIndex(index, value.type().dims));
  };
  std::string cosine = angle(1), sine = angle(2);
  std::string turned = llvm::formatv("({0} ? -{1} : {1})", isFirst, partner).str();
  return define(resultOf(node), index,
                llvm::formatv("{0} * {1} + {2} * {3}", self, cosine, turned, sine).str());
}

bool Evaluator::isAligned(const IndexExpr &start) const {
  return (cut_ ? start - cut_->alignedStart : start).isMultipleOf(width_);
}

std::string Evaluator::chunkLoad(const std::string &pointer) const {
  return cut_ ? llvm::formatv("loadInside<{0}>({1}, {2})", width_, pointer, cut_->arguments()).str()
              : llvm::formatv("load<{0}>({1})", width_, pointer).str();
}

std::string Evaluator::loadStored(Value stored, const Index &index) {
  std::string pointer = kernel_.reads(stored);
  IndexExpr address = addressOf(kernel_, stored, index);
  DType dtype = stored.type().dtype;
  auto loaded = [&](Emitter &where, const IndexExpr &place) {
    std::string name = where.name(stored.name() + "_element");
    std::string element = llvm::formatv("load({0})", elementAt(pointer, place)).str();
    where.line("const {0} {1} = {2};", storageType(dtype), name, element);
    return widened(dtype, name);
  };
  std::optional<IndexExpr> step = width_ > 1 ? address.coefficientOf("lane") : IndexExpr(0);
  if (width_ == 1 || (step && step->constant() == 0))
    return loaded(width_ == 1 ? lanes() : beforeLanes(), address);
  IndexExpr start = step ? address.without("lane") : address;
  if (!step || step->constant() != 1 || !isAligned(start))
    return loaded(lanes(), address);
  std::string vector = holder_ ? holder_(stored, start, width_) : "";
  if (vector.empty()) {
    vector = beforeLanes().name(stored.name() + "_chunk");
    beforeLanes().line("const Vec<{0}, {1}> {2} = {3};", storageType(dtype), width_, vector,
                       chunkLoad(elementAt(pointer, start)));
  }
  return widened(dtype, vector + ".lane[lane]");
}

void Evaluator::storeAt(Value output, const Index &index, const std::string &expression,
                        llvm::StringRef guard) {
  std::string pointer = kernel_.writes(output);
  IndexExpr address = addressOf(kernel_, output, index);
  DType dtype = output.type().dtype;
  auto guarded = [&](Emitter &where, const std::string &statement) {
    if (!guard.empty())
      where.line("if ({0})", guard);
    where.line("{0}{1}", guard.empty() ? "" : "  ", statement);
  };
  std::optional<IndexExpr> step = width_ > 1 ? address.coefficientOf("lane") : std::nullopt;
  if (!step || step->constant() != 1 || !isAligned(address.without("lane"))) {
    guarded(lanes(), llvm::formatv("store({0}, {1});", elementAt(pointer, address),
                                   toStorage(dtype, expression))
                         .str());
    return;
  }
  std::string chunk = beforeLanes().name(output.name() + "_out");
  beforeLanes().line("Vec<{0}, {1}> {2};", storageType(dtype), width_, chunk);
  lanes().line("{0}.lane[lane] = {1};", chunk, toStorage(dtype, expression));
  std::string place = elementAt(pointer, address.without("lane"));
  guarded(*after_,
          cut_ ? llvm::formatv("storeInside({0}, {1}, {2});", place, chunk, cut_->arguments()).str()
               : llvm::formatv("store({0}, {1});", place, chunk).str());
}

void Evaluator::evaluateAndStore(Value output, const Index &index, llvm::StringRef guard) {
  const Node &node = *output.node;
  if (kind(node.op) != OpKind::update)
    return storeAt(output, index, evaluate(output, index), guard);
  // The new element's place along the axis moves by the position; outside of the cache nothing is
  // written.
  unsigned axis = *normalizeAxis(node.attributes.integer("axis", -2), index.size());
  Value position = node.operands[2];
  std::string start = evaluate(position, position.type().rank() == 0 ? Index() : Index{index[0]});
  IndexExpr place = index[axis] + IndexExpr::variable(start);
  std::string inside = llvm::formatv("{0} >= 0 && {0} < {1}", place.factor(),
                                     kernel_.size(node.type().dims[axis]).factor())
                           .str();
  Index target = index;
  target[axis] = place;
  std::string both = guard.empty() ? inside : guard.str() + " && " + inside;
  storeAt(output, target, evaluate(node.operands[1], index), both);
}

} // namespace warploom
