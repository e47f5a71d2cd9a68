// The growing partition of a graph's nodes while fusion runs: which nodes are together so far, what
// depends on what, and whether two clusters may become one.
#pragma once

#include "ir/graph.h"
#include "ir/group.h"

#include "llvm/ADT/SetVector.h"

#include <vector>

namespace warploom {

// A row: the full shape, and the axes its reductions reduce.
struct RowDomain {
  Dims dims;
  llvm::SmallVector<unsigned, 4> axes;
  bool operator==(const RowDomain &) const = default;
  // Whether a value of these dims has one element for each element of the row, or one for the row.
  bool holds(llvm::ArrayRef<Dim> shape) const;
};

struct Cluster {
  GroupKind kind = GroupKind::map;
  std::vector<Node *> nodes;
  RowDomain row;                // of a row cluster
  unsigned first = 0, last = 0; // positions of its nodes in the graph
};

class Clusters {
public:
  // Nodes that already have a group (stored views) become clusters of their own.
  explicit Clusters(Graph &graph);

  // The cluster of a node, or none: not clustered yet, or a node that costs nothing.
  std::optional<unsigned> of(const Node *node) const;
  Cluster &operator[](unsigned cluster) { return clusters_[cluster]; }
  unsigned size() const { return clusters_.size(); }
  bool isEmpty(unsigned cluster) const { return clusters_[cluster].nodes.empty(); }

  unsigned create(Node *node, GroupKind kind);
  void add(unsigned cluster, Node *node);
  void merge(unsigned into, unsigned from);

  // Nodes with a cost that read a node's results, through ungrouped views.
  llvm::ArrayRef<Node *> users(const Node *node) const;
  bool isReturned(const Node *node) const { return returned_.contains(node); }

  // Whether a cluster and a node, or two clusters, can be one kernel: no path between them leads
  // through a third, and nothing in it reads what something in it updates in place.
  bool canAdd(unsigned cluster, const Node *node) const;
  bool canMerge(unsigned a, unsigned b) const;

  // Writes Node::group, numbered so that producers come first. Returns how many nodes changed.
  unsigned assignGroups();

private:
  // Clusters and unclustered nodes as one graph: a unit is a cluster, or a node without one.
  using Unit = std::pair<const Node *, unsigned>;
  Unit unit(const Node *node) const;
  static bool readsWhatItUpdates(llvm::ArrayRef<Node *> a, llvm::ArrayRef<Node *> b);
  bool leadsThroughThird(Unit from, Unit to, unsigned limit) const;
  llvm::SmallVector<Unit, 8> successors(Unit from) const;

  std::vector<Cluster> clusters_;
  llvm::DenseMap<const Node *, unsigned> clusterOf_, position_;
  llvm::DenseMap<const Node *, llvm::SmallSetVector<Node *, 4>> users_;
  llvm::DenseSet<const Node *> returned_;
  static constexpr unsigned kNone = ~0u;
};

// Nodes that run on the device: everything but arguments, sources and ungrouped views.
bool hasCost(const Node &node);

} // namespace warploom
