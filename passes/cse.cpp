#include "passes/passes.h"

#include "ir/print.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

namespace warploom {
namespace {

// Equal for nodes that compute the same values: op, operands, labels, attributes.
std::string key(const Node &node) {
  std::string text = spelling(node.op).str();
  for (Value operand : node.operands)
    text += "," + llvm::utohexstr(reinterpret_cast<uintptr_t>(operand.node)) + "." +
            std::to_string(operand.index);
  for (const std::string &label : node.labels)
    text += ";" + label;
  for (const Attributes::Entry &entry : node.attributes.entries())
    text += "|" + entry.name + "=" + str(entry.value);
  return text;
}

} // namespace

unsigned eliminateCommonSubexpressions(Graph &graph, const PassContext &) {
  unsigned rewrites = 0;
  llvm::StringMap<Node *> seen;
  for (Node &node : llvm::make_early_inc_range(graph.nodes())) {
    // Arguments are distinct, and each update in place is an event of its own.
    if (node.op == Op::argument || kind(node.op) == OpKind::update)
      continue;
    auto [entry, isNew] = seen.try_emplace(key(node), &node);
    if (isNew)
      continue;
    for (unsigned index = 0; index < node.results.size(); ++index)
      graph.replaceAllUses(node.result(index), entry->second->result(index));
    graph.erase(&node);
    ++rewrites;
  }
  return rewrites;
}

} // namespace warploom
