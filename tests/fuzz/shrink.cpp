#include "tests/fuzz/shrink.h"

#include "llvm/ADT/STLExtras.h"

#include <functional>

namespace warploom::fuzz {
namespace {

// A step: the result that is dropped, or the node that is replaced by an operand or an argument.
struct Step {
  std::optional<unsigned> droppedResult;
  std::string replaced;            // name of the node's result
  std::optional<unsigned> operand; // none: a new argument
};

// The graph after the step, with what is still needed.
Graph apply(const Graph &graph, const Step &step) {
  Graph smaller(graph.name());
  llvm::DenseMap<Value, Value> copies;
  std::function<Value(Value)> copyOf = [&](Value value) -> Value {
    if (auto known = copies.find(value); known != copies.end())
      return known->second;
    const Node &node = *value.node;
    bool isReplaced = !step.replaced.empty() && node.results[0].name == step.replaced;
    if (isReplaced && step.operand)
      return copies[value] = copyOf(node.operands[*step.operand]);
    if (isReplaced || node.op == Op::argument) {
      bool isMutable = llvm::any_of(graph.arguments(), [&](const GraphArgument &argument) {
        return argument.value == value && argument.isMutable;
      });
      return copies[value] = smaller.addArgument(value.name(), value.type(), isMutable);
    }
    Node copy;
    copy.op = node.op;
    copy.labels = node.labels;
    copy.attributes = node.attributes;
    copy.results = node.results;
    for (Value operand : node.operands)
      copy.operands.push_back(copyOf(operand));
    Node *made = smaller.insert(nullptr, std::move(copy));
    for (unsigned index = 0; index < made->results.size(); ++index)
      copies[{value.node, index}] = made->result(index);
    return made->result(value.index);
  };
  for (unsigned index = 0; index < graph.results().size(); ++index)
    if (step.droppedResult != index)
      smaller.addResult(copyOf(graph.results()[index].value));
  return smaller;
}

std::vector<Step> stepsOf(const Graph &graph) {
  std::vector<Step> steps;
  for (unsigned index = 0; graph.results().size() > 1 && index < graph.results().size(); ++index)
    steps.push_back({index, "", std::nullopt});
  for (const Node &node : llvm::reverse(graph.nodes())) {
    if (node.op == Op::argument)
      continue;
    steps.push_back({std::nullopt, node.results[0].name, std::nullopt});
    for (unsigned index = 0; index < node.operands.size(); ++index)
      if (node.operands[index].type().hasSameShape(node.type()))
        steps.push_back({std::nullopt, node.results[0].name, index});
  }
  return steps;
}

} // namespace

Graph shrink(Graph graph, llvm::function_ref<bool(const Graph &)> fails) {
  for (bool isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const Step &step : stepsOf(graph)) {
      Graph candidate = apply(graph, step);
      if (!fails(candidate))
        continue;
      graph = std::move(candidate);
      isSmaller = true;
      break;
    }
  }
  return graph;
}

} // namespace warploom::fuzz
