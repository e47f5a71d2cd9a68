#include "ir/verify.h"

#include "ir/group.h"
#include "ir/print.h"
#include "ir/program/error.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
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

// No path may leave a group and come back: one walk in node order carries, for each value, the
// groups that lie behind it outside their own kernel.
llvm::Error verifyGroups(const Graph &graph) {
  if (graph.groupCount() == 0)
    return llvm::Error::success();
  llvm::DenseMap<const Node *, llvm::DenseSet<unsigned>> left;
  for (const Node &node : graph.nodes()) {
    llvm::DenseSet<unsigned> &behind = left[&node];
    for (Value operand : node.operands) {
      const Node *stored = storedValue(operand).node;
      const llvm::DenseSet<unsigned> before = left[stored];
      behind.insert(before.begin(), before.end());
      if (stored->group && stored->group != node.group)
        behind.insert(*stored->group);
    }
    if (node.group && behind.contains(*node.group))
      return makeError("group {0} is not convex: '{1}' depends on it through another group",
                       *node.group, print(node));
  }
  return llvm::Error::success();
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
