#include "tools/verify_run.h"

#include "ir/group.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace warploom {
namespace {

struct Path {
  unsigned stores = 1;
  double depth = 1;
};

int64_t sizeOf(const Dim &dim, const SymbolBindings &symbols) {
  return llvm::cantFail(dim.evaluate(symbols));
}

// How many terms an element of the node's result is summed from.
int64_t summedTerms(const Node &node, const SymbolBindings &symbols) {
  const Dims &dims = node.operands.empty() ? node.type().dims : node.operands[0].type().dims;
  if (node.op == Op::matmul)
    return sizeOf(dims[dims.size() - (node.attributes.boolean("transpose_a", false) ? 2 : 1)],
                  symbols);
  if (node.op == Op::attention)
    return sizeOf(node.operands[1].type().dims[2], symbols);
  int64_t terms = 1;
  if (isReduction(node.op))
    for (unsigned axis : reducedAxes(node))
      terms *= sizeOf(dims[axis], symbols);
  return terms;
}

} // namespace

double errorBound(const Graph &fused, Value value, const SymbolBindings &symbols) {
  if (!isFloating(value.type().dtype))
    return 0;
  llvm::DenseMap<const Node *, Path> paths;
  for (const Node &node : fused.nodes()) {
    Path &path = paths[&node];
    for (Value operand : node.operands) {
      const Path &before = paths[operand.node];
      bool isStored = operand.node->group && operand.node->group != node.group;
      path.stores = std::max(path.stores, before.stores + isStored);
      path.depth = std::max(path.depth, before.depth);
    }
    // A rounding inside the kernel counts as a store.
    path.stores += node.op == Op::cast;
    // The weights of attention are rounded before they meet the values.
    path.stores += node.op == Op::attention;
    path.depth = std::max(path.depth, double(summedTerms(node, symbols)));
  }
  Path path = paths.lookup(value.node);
  DType dtype = value.type().dtype;
  double sums = 4 * std::sqrt(path.depth) * unitRoundoff(dtype == DType::f64 ? dtype : DType::f32);
  return 4 * std::sqrt(path.stores) * unitRoundoff(dtype) + sums;
}

llvm::Expected<std::vector<Comparison>>
compareRun(const Compilation &compilation, llvm::ArrayRef<Tensor> arguments,
           const SymbolBindings &symbols, const RunResult &run,
           const std::vector<std::pair<std::string, Tensor>> &taps) {
  const Graph &source = compilation.source, &fused = compilation.fused;
  llvm::Expected<Interpretation> expected = interpret(source, arguments, symbols);
  if (!expected)
    return expected.takeError();
  std::vector<Comparison> comparisons;
  for (const auto &[index, result] : llvm::enumerate(source.results()))
    comparisons.push_back({result.name, compare(run.results[index], expected->results[index]),
                           errorBound(fused, fused.results()[index].value, symbols)});
  for (const auto &[index, argument] : llvm::enumerate(source.arguments())) {
    if (!argument.isMutable)
      continue;
    Value updated = fused.arguments()[index].value;
    for (const Node &node : fused.nodes())
      if (kind(node.op) == OpKind::update && node.operands[0] == updated)
        updated = {const_cast<Node *>(&node), 0};
    comparisons.push_back({argument.value.name(),
                           compare(run.mutated[index], expected->mutated[index]),
                           errorBound(fused, updated, symbols)});
  }
  if (taps.empty())
    return comparisons;

  InterpretOptions options;
  options.observe = [&](Value value, const WideTensor &wanted) {
    for (const auto &[name, tensor] : taps)
      if (name == value.name())
        comparisons.push_back({name, compare(tensor, wanted), errorBound(fused, value, symbols)});
  };
  llvm::Expected<Interpretation> observed = interpret(fused, arguments, symbols, options);
  if (!observed)
    return observed.takeError();
  return comparisons;
}

} // namespace warploom
