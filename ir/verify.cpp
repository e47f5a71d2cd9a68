#include "ir/verify.h"

#include "ir/group.h"
#include "ir/print.h"
#include "ir/program/error.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace warploom {
namespace {

llvm::Error verifyNode(const Graph &graph, const Node &node, llvm::DenseSet<const Node *> &defined,
                       llvm::StringSet<> &names) {
  // Before this has passed, an operand may be no value that printing could name.
  for (Value operand : node.operands)
    if (!defined.contains(operand.node) || operand.index >= operand.node->results.size())
      return makeError("'%{0}', a {1}, uses a value that is not defined before it",
                       node.results.empty() ? "" : node.results[0].name, spelling(node.op));
  llvm::Expected<llvm::SmallVector<TensorType, 1>> types = inferTypes(node);
  if (!types)
    return makeError("'{0}': {1}", print(node), llvm::toString(types.takeError()));
  if (types->size() != node.results.size())
    return makeError("'{0}' has {1} results, not {2}", print(node), types->size(),
                     node.results.size());
  for (const auto &[index, result] : llvm::enumerate(node.results)) {
    const TensorType &type = (*types)[index];
    if (!names.insert(result.name).second)
      return makeError("two values are named '%{0}'", result.name);
    if (graph.find(result.name) != Value{const_cast<Node *>(&node), unsigned(index)})
      return makeError("the graph's table of names lacks '%{0}'", result.name);
    if (!(result.type == type))
      return makeError("'{0}' is of type {1}", print(node), type.str());
  }
  defined.insert(&node);
  return llvm::Error::success();
}

// A value updated in place is used by nothing after its update, and goes back to a mut argument.
llvm::Error verifyUpdates(const Graph &graph) {
  llvm::DenseSet<Value> updatable, consumed;
  for (const GraphArgument &argument : graph.arguments())
    if (argument.isMutable)
      updatable.insert(argument.value);
  for (const Node &node : graph.nodes()) {
    for (Value operand : node.operands)
      if (consumed.contains(storedValue(operand)))
        return makeError("'{0}' uses '%{1}' after its update in place", print(node),
                         storedValue(operand).name());
    if (kind(node.op) != OpKind::update)
      continue;
    if (!updatable.contains(node.operands[0]))
      return makeError("'{0}' updates '%{1}', which is no mut argument", print(node),
                       node.operands[0].name());
    for (Value operand : llvm::drop_begin(node.operands))
      if (storedValue(operand) == node.operands[0])
        return makeError("'{0}' reads '%{1}', which it updates", print(node), operand.name());
    consumed.insert(node.operands[0]);
    updatable.insert({const_cast<Node *>(&node), 0});
  }
  for (const GraphResult &result : graph.results())
    if (consumed.contains(storedValue(result.value)))
      return makeError("'%{0}' is returned after its update in place", result.value.name());
  return llvm::Error::success();
}

// The graph whose vertices are groups and nodes of no group; an edge leads to each reader.
class GroupGraph {
public:
  explicit GroupGraph(const Graph &graph) {
    llvm::DenseMap<unsigned, unsigned> vertexOfGroup;
    llvm::DenseMap<const Node *, unsigned> vertexOfNode;
    for (const Node &node : graph.nodes()) {
      unsigned vertex = groups_.size();
      if (node.group)
        vertex = vertexOfGroup.try_emplace(*node.group, vertex).first->second;
      if (vertex == groups_.size()) {
        groups_.push_back(node.group);
        predecessors_.emplace_back();
      }
      vertexOfNode[&node] = vertex;
      for (Value operand : node.operands)
        if (unsigned producer = vertexOfNode.at(storedValue(operand).node); producer != vertex)
          predecessors_[vertex].insert(producer);
    }
  }

  // A group that is behind itself, if there is one. Nodes alone are in order, so that every cycle
  // has a group.
  std::optional<unsigned> groupOnCycle() const {
    enum class Visit : uint8_t { none, open, done };
    std::vector<Visit> visits(predecessors_.size(), Visit::none);
    // A stack of our own: chains of groups are as long as the graph.
    std::vector<std::pair<unsigned, unsigned>> path;
    for (unsigned start = 0; start < predecessors_.size(); ++start) {
      if (visits[start] == Visit::none)
        path.emplace_back(start, 0);
      while (!path.empty()) {
        auto &[vertex, next] = path.back();
        visits[vertex] = Visit::open;
        if (next == predecessors_[vertex].size()) {
          visits[vertex] = Visit::done;
          path.pop_back();
          continue;
        }
        unsigned before = predecessors_[vertex][next++];
        if (visits[before] == Visit::open)
          return groupFrom(before, path);
        if (visits[before] == Visit::none)
          path.emplace_back(before, 0);
      }
    }
    return std::nullopt;
  }

private:
  // The first group of a cycle: the part of the path that begins at `vertex`.
  std::optional<unsigned> groupFrom(unsigned vertex,
                                    llvm::ArrayRef<std::pair<unsigned, unsigned>> path) const {
    while (path.front().first != vertex)
      path = path.drop_front();
    for (auto [member, next] : path)
      if (groups_[member])
        return groups_[member];
    llvm_unreachable("nodes of no group are in order");
  }

  std::vector<std::optional<unsigned>> groups_; // of each vertex
  std::vector<llvm::SmallSetVector<unsigned, 4>> predecessors_;
};

// No path may leave a group and come back, whichever of its nodes it leaves and meets.
llvm::Error verifyGroups(const Graph &graph) {
  std::optional<unsigned> group = GroupGraph(graph).groupOnCycle();
  if (!group)
    return llvm::Error::success();
  return makeError("group {0} is not convex: it depends on itself through other nodes", *group);
}

} // namespace

llvm::Error verify(const Graph &graph) {
  llvm::DenseSet<const Node *> defined;
  llvm::StringSet<> names;
  for (const Node &node : graph.nodes())
    if (llvm::Error error = verifyNode(graph, node, defined, names))
      return error;
  for (const GraphResult &result : graph.results())
    if (!defined.contains(result.value.node) ||
        result.value.index >= result.value.node->results.size())
      return makeError("the result \"{0}\" is not a value of the graph", result.name);
  if (llvm::Error error = verifyUpdates(graph))
    return error;
  return verifyGroups(graph);
}

} // namespace warploom
