#include "ir/graph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <set>

namespace warploom {

const TensorType &Value::type() const {
  return node->results[index].type;
}

const std::string &Value::name() const {
  return node->results[index].name;
}

Value Node::labelled(llvm::StringRef label) const {
  for (const auto &[index, name] : llvm::enumerate(labels))
    if (name == label)
      return operands[arity(op) + index];
  return {};
}

Graph Graph::clone() const {
  Graph copy(name_);
  llvm::DenseMap<const Node *, Node *> copies;
  auto translate = [&](Value value) { return Value{copies.at(value.node), value.index}; };
  for (const Node &node : nodes_) {
    Node *twin = new Node(node);
    for (Value &operand : twin->operands)
      operand = translate(operand);
    copies[&node] = twin;
    copy.nodes_.push_back(twin);
    for (unsigned index = 0; index < twin->results.size(); ++index)
      copy.valuesByName_[twin->results[index].name] = twin->result(index);
  }
  for (const GraphArgument &argument : arguments_)
    copy.arguments_.push_back({translate(argument.value), argument.isMutable});
  for (const GraphResult &result : results_)
    copy.results_.push_back({translate(result.value), result.name});
  return copy;
}

Value Graph::addArgument(llvm::StringRef name, TensorType type, bool isMutable) {
  Node node;
  node.results.push_back({name.str(), std::move(type)});
  // Arguments stay in front of every op.
  Node *before = nullptr;
  for (Node &other : nodes_)
    if (other.op != Op::argument) {
      before = &other;
      break;
    }
  Value value = insert(before, std::move(node))->result();
  arguments_.push_back({value, isMutable});
  return value;
}

void Graph::addResult(Value value, llvm::StringRef name) {
  std::string given = name.empty() ? llvm::formatv("result{0}", results_.size()).str() : name.str();
  results_.push_back({value, std::move(given)});
}

Node *Graph::insert(Node *before, Node &&node) {
  Node *owned = new Node(std::move(node));
  nodes_.insert(before ? before->getIterator() : nodes_.end(), owned);
  for (unsigned index = 0; index < owned->results.size(); ++index) {
    std::string &name = owned->results[index].name;
    name = uniqueName(name);
    valuesByName_[name] = owned->result(index);
  }
  return owned;
}

void Graph::erase(Node *node) {
  for (const Node::Result &result : node->results)
    valuesByName_.erase(result.name);
  nodes_.erase(node->getIterator());
}

void Graph::replaceAllUses(Value from, Value to) {
  for (Node &node : nodes_)
    for (Value &operand : node.operands)
      if (operand == from)
        operand = to;
  for (GraphResult &result : results_)
    if (result.value == from)
      result.value = to;
}

void Graph::takeName(Value to, Value from) {
  std::string &taken = from.node->results[from.index].name;
  std::string &given = to.node->results[to.index].name;
  std::swap(taken, given);
  valuesByName_[given] = to;
  valuesByName_[taken] = from;
}

std::string Graph::uniqueName(llvm::StringRef base) const {
  std::string name = base.empty() ? "v" : base.str();
  if (!base.empty() && !valuesByName_.contains(name))
    return name;
  for (unsigned suffix = 0;; ++suffix) {
    std::string candidate = base.empty() ? llvm::formatv("v{0}", suffix).str()
                                         : llvm::formatv("{0}_{1}", base, suffix + 1).str();
    if (!valuesByName_.contains(candidate))
      return candidate;
  }
}

Value Graph::find(llvm::StringRef name) const {
  return valuesByName_.lookup(name);
}

std::vector<std::string> Graph::symbols() const {
  std::set<std::string> names;
  auto collect = [&](const Dim &dim) {
    for (const Dim::Term &term : dim.terms())
      names.insert(term.symbol);
  };
  for (const GraphArgument &argument : arguments_) {
    const TensorType &type = argument.value.type();
    llvm::for_each(type.dims, collect);
    if (type.strides)
      llvm::for_each(*type.strides, collect);
    collect(type.offset);
  }
  return {names.begin(), names.end()};
}

unsigned Graph::groupCount() const {
  unsigned count = 0;
  for (const Node &node : nodes_)
    if (node.group)
      count = std::max(count, *node.group + 1);
  return count;
}

Uses::Uses(const Graph &graph) {
  for (const Node &node : graph.nodes())
    for (Value operand : node.operands) {
      llvm::SmallVector<Node *, 2> &nodes = entries_[operand].nodes;
      Node *user = const_cast<Node *>(&node);
      if (nodes.empty() || nodes.back() != user)
        nodes.push_back(user);
    }
  for (const GraphResult &result : graph.results())
    ++entries_[result.value].returns;
}

llvm::ArrayRef<Node *> Uses::of(Value value) const {
  auto entry = entries_.find(value);
  return entry == entries_.end() ? llvm::ArrayRef<Node *>() : entry->second.nodes;
}

unsigned Uses::returns(Value value) const {
  auto entry = entries_.find(value);
  return entry == entries_.end() ? 0 : entry->second.returns;
}

} // namespace warploom
