#include "ir/interpret.h"

#include "ir/interpret_ops.h"
#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>

namespace warploom {
namespace {

llvm::Expected<Shape> evaluateDims(llvm::ArrayRef<Dim> dims, const SymbolBindings &symbols) {
  Shape shape;
  for (const Dim &dim : dims) {
    llvm::Expected<int64_t> value = dim.evaluate(symbols);
    if (!value)
      return value.takeError();
    if (*value < 0)
      return makeError("the dim '{0}' is {1}: negative", dim.str(), *value);
    shape.push_back(*value);
  }
  return shape;
}

// The one unknown symbol of an affine dim that must equal `size`, solved for.
llvm::Error solve(const Dim &dim, int64_t size, SymbolBindings &symbols) {
  int64_t known = dim.constantPart();
  const Dim::Term *unknown = nullptr;
  for (const Dim::Term &term : dim.terms()) {
    auto bound = symbols.find(term.symbol);
    if (bound != symbols.end())
      known += term.coefficient * bound->second;
    else if (unknown)
      return makeError("'{0}' has several unknown symbols: bind them to numbers", dim.str());
    else
      unknown = &term;
  }
  if (!unknown) {
    if (known == size)
      return llvm::Error::success();
    return makeError("'{0}' is {1}, not {2}", dim.str(), known, size);
  }
  int64_t rest = size - known;
  if (rest % unknown->coefficient != 0 || rest / unknown->coefficient < 0)
    return makeError("no value of '{0}' makes '{1}' equal to {2}", unknown->symbol, dim.str(),
                     size);
  symbols[unknown->symbol] = rest / unknown->coefficient;
  return llvm::Error::success();
}

void roundAll(WideTensor &tensor) {
  for (double &value : tensor.reals)
    value = roundTo(tensor.dtype, value);
}

class Interpreter {
public:
  Interpreter(const Graph &graph, const SymbolBindings &symbols, const InterpretOptions &options)
      : graph_(graph), symbols_(symbols), options_(options) {}

  llvm::Error bindArguments(llvm::ArrayRef<Tensor> arguments) {
    if (arguments.size() != graph_.arguments().size())
      return makeError("@{0} takes {1} arguments, not {2}", graph_.name(),
                       graph_.arguments().size(), arguments.size());
    for (const auto &[declared, given] : llvm::zip(graph_.arguments(), arguments)) {
      const TensorType &type = declared.value.type();
      llvm::Expected<Shape> shape = evaluateDims(type.dims, symbols_);
      if (!shape)
        return shape.takeError();
      if (given.dtype != type.dtype || given.dims != *shape)
        return makeError("argument '{0}' is {1}, not {2}", declared.value.name(), type.str(),
                         shapeText(Dims(given.dims.begin(), given.dims.end())));
      define(declared.value, widen(given));
    }
    return llvm::Error::success();
  }

  llvm::Error run() {
    for (const Node &node : graph_.nodes()) {
      if (node.op == Op::argument)
        continue;
      llvm::SmallVector<const WideTensor *, 4> operands;
      llvm::SmallVector<WideTensor, 4> perturbed;
      perturbed.reserve(node.operands.size());
      for (Value operand : node.operands) {
        operands.push_back(&values_.at(operand));
        if (!options_.perturb)
          continue;
        options_.perturb(node, operand, perturbed.emplace_back(*operands.back()));
        operands.back() = &perturbed.back();
      }
      llvm::Expected<Shape> shape = evaluateDims(node.type().dims, symbols_);
      if (!shape)
        return shape.takeError();
      WideTensor result = evaluateOp(node, operands, *shape, options_.threads);
      if (options_.roundToStorage)
        roundAll(result);
      define({const_cast<Node *>(&node), 0}, std::move(result));
    }
    return llvm::Error::success();
  }

  Interpretation finish() {
    Interpretation finished;
    for (const GraphResult &result : graph_.results())
      finished.results.push_back(values_.at(result.value));
    for (const GraphArgument &argument : graph_.arguments())
      finished.mutated.push_back(argument.isMutable ? values_.at(lastUpdate(argument.value))
                                                    : WideTensor());
    return finished;
  }

private:
  void define(Value value, WideTensor tensor) {
    const WideTensor &stored = values_[value] = std::move(tensor);
    if (options_.observe)
      options_.observe(value, stored);
  }

  Value lastUpdate(Value value) const {
    for (const Node &node : graph_.nodes())
      if (kind(node.op) == OpKind::update && node.operands[0] == value)
        value = {const_cast<Node *>(&node), 0};
    return value;
  }

  const Graph &graph_;
  const SymbolBindings &symbols_;
  const InterpretOptions &options_;
  llvm::DenseMap<Value, WideTensor> values_;
};

} // namespace

llvm::Expected<Interpretation> interpret(const Graph &graph, llvm::ArrayRef<Tensor> arguments,
                                         const SymbolBindings &symbols,
                                         const InterpretOptions &options) {
  Interpreter interpreter(graph, symbols, options);
  if (llvm::Error error = interpreter.bindArguments(arguments))
    return error;
  if (llvm::Error error = interpreter.run())
    return error;
  return interpreter.finish();
}

llvm::Error bindSymbols(const Graph &graph, llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes,
                        SymbolBindings &symbols) {
  if (shapes.size() != graph.arguments().size())
    return makeError("@{0} takes {1} arguments, not {2}", graph.name(), graph.arguments().size(),
                     shapes.size());
  // Dims of one symbol alone first, so that sums of several find the others bound.
  for (bool single : {true, false})
    for (const auto &[argument, shape] : llvm::zip(graph.arguments(), shapes)) {
      const TensorType &type = argument.value.type();
      if (shape.size() != type.rank())
        return makeError("argument '{0}' is {1}; the given shape has {2} dims",
                         argument.value.name(), type.str(), shape.size());
      for (const auto &[dim, size] : llvm::zip(type.dims, shape))
        if ((dim.terms().size() <= 1) == single)
          if (llvm::Error error = solve(dim, size, symbols))
            return makeError("argument '{0}': {1}", argument.value.name(),
                             llvm::toString(std::move(error)));
    }
  return llvm::Error::success();
}

} // namespace warploom
