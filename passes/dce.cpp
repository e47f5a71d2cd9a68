#include "passes/passes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace warploom {

unsigned eliminateDeadCode(Graph &graph, const PassContext &) {
  llvm::DenseSet<const Node *> live;
  for (const GraphResult &result : graph.results())
    live.insert(result.value.node);
  for (const Node &node : llvm::reverse(graph.nodes()))
    if (live.contains(&node) || kind(node.op) == OpKind::update)
      for (Value operand : node.operands)
        live.insert(operand.node);
  unsigned rewrites = 0;
  // Users stand behind what they use, so walking backwards never erases a value in use.
  auto node = graph.nodes().end();
  while (node != graph.nodes().begin()) {
    Node &last = *--node;
    if (live.contains(&last) || kind(last.op) == OpKind::update || last.op == Op::argument)
      continue;
    ++node;
    graph.erase(&last);
    ++rewrites;
  }
  return rewrites;
}

} // namespace warploom
