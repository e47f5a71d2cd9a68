#include "ir/group.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>

namespace warploom {
namespace {

GroupKind kindOf(llvm::ArrayRef<Node *> nodes) {
  auto has = [&](auto &&predicate) { return llvm::any_of(nodes, predicate); };
  if (has([](Node *node) { return node->op == Op::attention; }))
    return GroupKind::attention;
  if (has([](Node *node) { return node->op == Op::matmul; }))
    return GroupKind::matmul;
  if (has([](Node *node) { return isReduction(node->op); }))
    return GroupKind::row;
  return GroupKind::map;
}

bool isAnchor(const Node &node, GroupKind kind) {
  switch (kind) {
  case GroupKind::map:
    return false;
  case GroupKind::row:
    return isReduction(node.op);
  case GroupKind::matmul:
    return node.op == Op::matmul;
  case GroupKind::attention:
    return node.op == Op::attention;
  }
  llvm_unreachable("all kinds are handled");
}

// Marks what reads a value: groups, through ungrouped views, and the graph's results.
class Readers {
public:
  explicit Readers(const Graph &graph) {
    for (const Node &node : graph.nodes())
      for (Value operand : node.operands)
        if (node.group)
          groups_[storedValue(operand)].insert(*node.group);
    for (const GraphResult &result : graph.results())
      returned_.insert(storedValue(result.value));
  }

  bool isReadOutside(Value value, unsigned group) const {
    if (returned_.contains(value))
      return true;
    auto entry = groups_.find(value);
    return entry != groups_.end() &&
           llvm::any_of(entry->second, [&](unsigned reader) { return reader != group; });
  }

private:
  llvm::DenseMap<Value, llvm::SmallSetVector<unsigned, 4>> groups_;
  llvm::SmallSetVector<Value, 4> returned_;
};

} // namespace

llvm::StringRef spelling(GroupKind kind) {
  switch (kind) {
  case GroupKind::map:
    return "map";
  case GroupKind::row:
    return "row";
  case GroupKind::matmul:
    return "matmul";
  case GroupKind::attention:
    return "attention";
  }
  llvm_unreachable("all kinds are handled");
}

Value storedValue(Value value) {
  while (isView(value.node->op) && !value.node->group)
    value = value.node->operands[0];
  return value;
}

Value updatedArgument(Value updated) {
  while (kind(updated.node->op) == OpKind::update)
    updated = updated.node->operands[0];
  return updated;
}

std::vector<Group> groupsOf(const Graph &graph) {
  std::vector<Group> groups(graph.groupCount());
  for (const Node &node : graph.nodes())
    if (node.group)
      groups[*node.group].nodes.push_back(const_cast<Node *>(&node));
  Readers readers(graph);
  for (auto &&[number, group] : llvm::enumerate(groups)) {
    group.number = number;
    group.kind = kindOf(group.nodes);
    llvm::SmallSetVector<Value, 8> inputs;
    for (Node *node : group.nodes) {
      if (isAnchor(*node, group.kind))
        group.anchors.push_back(node);
      for (Value operand : node->operands) {
        Value stored = storedValue(operand);
        if (kind(stored.node->op) != OpKind::source && stored.node->group != node->group)
          inputs.insert(stored);
      }
      // An update is stored whether or not anything reads the cache afterwards.
      for (unsigned index = 0; index < node->results.size(); ++index)
        if (kind(node->op) == OpKind::update || readers.isReadOutside({node, index}, number))
          group.outputs.push_back({node, index});
    }
    group.inputs.assign(inputs.begin(), inputs.end());
  }
  return groups;
}

} // namespace warploom
