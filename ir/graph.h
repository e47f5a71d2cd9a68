// The graph of a layer: nodes in order of definition, each an op on values of earlier nodes.
#pragma once

#include "ir/attributes.h"
#include "ir/op.h"
#include "ir/tensor_type.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/ilist.h"
#include "llvm/ADT/ilist_node.h"

#include <vector>

namespace warploom {

struct Node;

// One result of a node. Values compare by identity.
struct Value {
  Node *node = nullptr;
  unsigned index = 0;

  explicit operator bool() const { return node != nullptr; }
  bool operator==(const Value &) const = default;
  const TensorType &type() const;
  // The name without '%'; unique in the graph.
  const std::string &name() const;
};

// Where a node stands in its source text; line 0 means nowhere.
struct Location {
  unsigned line = 0;
  unsigned column = 0;
};

// One op. A result's name and type live here, a use is just the Value.
struct Node : llvm::ilist_node<Node> {
  struct Result {
    std::string name;
    TensorType type;
  };

  Op op = Op::argument;
  // arity(op) positional operands, then one for each label, in the order of `labels`.
  llvm::SmallVector<Value, 3> operands;
  // Names of the optional operands, e.g. {"mask"}; sorted.
  llvm::SmallVector<std::string, 0> labels;
  Attributes attributes;
  llvm::SmallVector<Result, 1> results;
  // The fused group this node belongs to; none before fusion and for nodes that cost nothing
  // (arguments, sources, and views that every consumer reads through).
  std::optional<unsigned> group;
  Location location;

  Value result(unsigned index = 0) { return {this, index}; }
  const TensorType &type(unsigned index = 0) const { return results[index].type; }
  // The optional operand of that label, or no value.
  Value labelled(llvm::StringRef label) const;
};

struct GraphArgument {
  Value value;
  bool isMutable = false; // updated in place by the ops that consume it
};

struct GraphResult {
  Value value;
  std::string name; // as named by the text, or "result0", "result1", ...
};

// Owns nodes, nothing else: analyses are functions of a graph and live apart. Nodes stand in an
// order in which every operand is defined before its use; arguments come first.
class Graph {
public:
  using Nodes = llvm::iplist<Node>;

  explicit Graph(llvm::StringRef name) : name_(name.str()) {}
  Graph(Graph &&) = default;
  Graph &operator=(Graph &&) = default;
  // A deep copy; nodes keep names, groups and locations.
  Graph clone() const;

  const std::string &name() const { return name_; }

  Value addArgument(llvm::StringRef name, TensorType type, bool isMutable = false);
  // `name` defaults to the next of "result0", ...
  void addResult(Value value, llvm::StringRef name = "");

  // Returns another value at a place that addResult() made.
  void setResult(unsigned index, Value value) { results_[index].value = value; }

  // Inserts a node before `before` (null: at the end). Names that are empty or taken are replaced
  // by unique ones made from them. The caller has inferred the types (ir/shape_rules.h), or uses
  // build() there.
  Node *insert(Node *before, Node &&node);
  // Removes a node that no other node and no result uses.
  void erase(Node *node);
  void replaceAllUses(Value from, Value to);
  // Gives `to` the name of `from`, which gets another.
  void takeName(Value to, Value from);
  // A name no value has, made from `base` ("x" -> "x", "x_1", ...).
  std::string uniqueName(llvm::StringRef base) const;

  Nodes &nodes() { return nodes_; }
  const Nodes &nodes() const { return nodes_; }
  llvm::ArrayRef<GraphArgument> arguments() const { return arguments_; }
  llvm::ArrayRef<GraphResult> results() const { return results_; }
  // The value of that name, or no value.
  Value find(llvm::StringRef name) const;
  // Names of all symbols in the arguments' types, sorted.
  std::vector<std::string> symbols() const;
  // One more than the largest group number in use.
  unsigned groupCount() const;

private:
  std::string name_;
  Nodes nodes_;
  std::vector<GraphArgument> arguments_;
  std::vector<GraphResult> results_;
  llvm::StringMap<Value> valuesByName_;
};

// The graphs of one file, in order of definition; the first is the entry.
struct Module {
  std::vector<Graph> graphs;
};

} // namespace warploom

namespace llvm {
template <> struct DenseMapInfo<warploom::Value> {
  using NodeInfo = DenseMapInfo<warploom::Node *>;
  static warploom::Value getEmptyKey() { return {NodeInfo::getEmptyKey(), 0}; }
  static warploom::Value getTombstoneKey() { return {NodeInfo::getTombstoneKey(), 0}; }
  static unsigned getHashValue(const warploom::Value &value) {
    return hash_combine(value.node, value.index);
  }
  static bool isEqual(const warploom::Value &a, const warploom::Value &b) { return a == b; }
};
} // namespace llvm

namespace warploom {

// Which nodes use a value, in node order; a node that uses it twice stands once.
class Uses {
public:
  explicit Uses(const Graph &graph);
  llvm::ArrayRef<Node *> of(Value value) const;
  // Times the value is returned by the graph.
  unsigned returns(Value value) const;
  bool isUnused(Value value) const { return of(value).empty() && returns(value) == 0; }
  bool hasOneUse(Value value) const { return of(value).size() + returns(value) == 1; }

private:
  struct Entry {
    llvm::SmallVector<Node *, 2> nodes;
    unsigned returns = 0;
  };
  llvm::DenseMap<Value, Entry> entries_;
};

} // namespace warploom
