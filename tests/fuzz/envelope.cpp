#include "tests/fuzz/envelope.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <random>

namespace warploom::fuzz {
namespace {

bool isExactlyStored(Value value) {
  while (isView(value.node->op))
    value = value.node->operands[0];
  return value.node->op == Op::argument || kind(value.node->op) == OpKind::source;
}

// Ops that return one of their operands' values, or say something of them, without rounding.
bool isExactOp(Op op) {
  switch (op) {
  case Op::neg:
  case Op::abs:
  case Op::sign:
  case Op::relu:
  case Op::floor:
  case Op::ceil:
  case Op::round:
  case Op::max:
  case Op::min:
  case Op::clamp:
  case Op::reduce_max:
  case Op::reduce_min:
    return true;
  default:
    return isView(op) || kind(op) == OpKind::update || kind(op) == OpKind::selection ||
           kind(op) == OpKind::conversion || (kind(op) == OpKind::elementwise && yieldsBoolean(op));
  }
}

// How far, relative to its size, an operand may be off.
double spread(const Node &user, Value operand) {
  DType dtype = operand.type().dtype;
  if (!isFloating(dtype) || isView(user.op))
    return 0;
  DType computed = dtype == DType::f64 ? DType::f64 : DType::f32;
  // Its probabilities are rounded to the type of the values.
  if (isExactlyStored(operand) && user.op != Op::attention)
    return isExactOp(user.op) ? 0 : 4 * unitRoundoff(computed);
  return std::max(2 * unitRoundoff(dtype), 8 * unitRoundoff(computed));
}

// The distance between the smallest numbers of a type.
double subnormalStep(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return 0x1p-24;
  case DType::f8e4m3:
    return 0x1p-9;
  case DType::f8e5m2:
    return 0x1p-16;
  case DType::f64:
    return 0;
  default:
    return 0x1p-133; // bf16; f32's is smaller, but may be flushed to 0
  }
}

std::string text(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", value);
  return text;
}

std::vector<WideTensor> allOf(Interpretation interpretation) {
  std::vector<WideTensor> tensors = std::move(interpretation.results);
  llvm::move(interpretation.mutated, std::back_inserter(tensors));
  return tensors;
}

} // namespace

Envelope::Envelope(const Graph &source, const Graph &opened, llvm::ArrayRef<Tensor> arguments,
                   const SymbolBindings &symbols, unsigned samples) {
  InterpretOptions options;
  options.threads = 1;
  for (WideTensor &tensor : allOf(llvm::cantFail(interpret(opened, arguments, symbols, options)))) {
    Bounds bounds{std::move(tensor), {}, {}, {}};
    bounds.low = bounds.high = bounds.exact.reals;
    bounds.low.insert(bounds.low.end(), bounds.exact.integers.begin(), bounds.exact.integers.end());
    bounds.high = bounds.low;
    bounds.isUnknown.resize(bounds.low.size());
    bounds_.push_back(std::move(bounds));
  }
  for (const auto &[bounds, tensor] :
       llvm::zip(bounds_, allOf(llvm::cantFail(interpret(source, arguments, symbols, options)))))
    for (size_t index = 0; index < tensor.reals.size(); ++index)
      if (std::isnan(tensor.reals[index]) != std::isnan(bounds.low[index]))
        bounds.isUnknown[index] = true;
  std::mt19937_64 random(samples);
  bool isUnmoved = false;
  options.perturb = [&](const Node &user, Value operand, WideTensor &tensor) {
    double share = isUnmoved ? 0 : spread(user, operand);
    if (share == 0)
      return;
    DType dtype = operand.type().dtype;
    double least = subnormalStep(dtype);
    std::uniform_real_distribution<double> part(-1, 1);
    // A 0 that comes of rounding may be a small number where nothing rounds.
    bool isRounded = kind(operand.node->op) == OpKind::conversion;
    for (double &value : tensor.reals) {
      if (value != 0 || isRounded)
        value += value * share * part(random) + least * part(random);
      if (options.roundToStorage)
        value = roundTo(dtype, value);
    }
  };
  for (unsigned sample = 0; sample < samples; ++sample) {
    options.roundToStorage = sample % 4 == 3;
    isUnmoved = sample == 3; // what op-by-op execution gives
    for (const auto &[bounds, tensor] :
         llvm::zip(bounds_, allOf(llvm::cantFail(interpret(opened, arguments, symbols, options)))))
      widen(bounds, tensor);
  }
}

void Envelope::widen(Bounds &bounds, const WideTensor &sample) {
  for (size_t index = 0; index < bounds.low.size(); ++index) {
    double value = sample.reals.empty() ? double(sample.integers[index]) : sample.reals[index];
    if (std::isnan(value) != std::isnan(bounds.low[index]))
      bounds.isUnknown[index] = true;
    bounds.low[index] = std::min(bounds.low[index], value);
    bounds.high[index] = std::max(bounds.high[index], value);
  }
}

std::string Envelope::violation(unsigned which, const WideTensor &actual) const {
  const Bounds &bounds = bounds_[which];
  if (actual.dims != bounds.exact.dims || actual.dtype != bounds.exact.dtype)
    return "another shape or dtype";
  double unit = isFloating(actual.dtype) ? unitRoundoff(actual.dtype) : 0;
  // A narrow type takes the last rounding alone; in a wide one the errors of functions show.
  double units = unit < 0x1p-20 ? 16 : 4;
  // What may be infinity, in partial sums at least, and the smallest that is not 0.
  double largest = actual.dtype == DType::f64 ? 1e307 : 1e37;
  if (actual.dtype == DType::f16)
    largest = 65000;
  else if (actual.dtype == DType::f8e4m3)
    largest = 440;
  else if (actual.dtype == DType::f8e5m2)
    largest = 56000;
  double smallest = actual.dtype == DType::f64   ? 1e-300
                    : unit >= 0x1p-4             ? 0x1p-8
                    : actual.dtype == DType::f16 ? 0x1p-23
                                                 : 0x1p-125;
  for (size_t index = 0; index < bounds.low.size(); ++index) {
    double value = actual.reals.empty() ? double(actual.integers[index]) : actual.reals[index];
    double low = bounds.low[index], high = bounds.high[index];
    if (bounds.isUnknown[index])
      continue;
    if (std::isnan(low)) {
      if (!std::isnan(value))
        return llvm::formatv("element {0} is {1}, not NaN", index, value).str();
      continue;
    }
    double slack = 4 * (high - low) + units * unit * std::max(std::abs(low), std::abs(high)) +
                   (unit > 0 ? smallest : 0);
    bool mayOverflow =
        isFloating(actual.dtype) && std::max(std::abs(low), std::abs(high)) + slack > largest;
    if (mayOverflow || std::isnan(slack))
      continue;
    if (!(value >= low - slack && value <= high + slack))
      return llvm::formatv("element {0} is {1}, outside of [{2}, {3}] by more than {4}", index,
                           text(value), text(low), text(high), text(slack))
          .str();
  }
  return "";
}

} // namespace warploom::fuzz
