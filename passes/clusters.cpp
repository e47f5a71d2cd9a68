#include "passes/clusters.h"

#include "passes/dependency_graph.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace warploom {

bool RowDomain::holds(llvm::ArrayRef<Dim> shape) const {
  if (shape == llvm::ArrayRef<Dim>(dims))
    return true;
  Dims reduced = dims;
  for (unsigned axis : axes)
    reduced[axis] = 1;
  return shape == llvm::ArrayRef<Dim>(reduced);
}

bool hasCost(const Node &node) {
  return node.op != Op::argument && kind(node.op) != OpKind::source &&
         (!isView(node.op) || node.group);
}

Clusters::Clusters(Graph &graph) {
  llvm::DenseMap<Value, Node *> updates; // the node that updates a value in place
  for (const auto &[position, node] : llvm::enumerate(graph.nodes())) {
    position_[&node] = position;
    if (kind(node.op) == OpKind::update)
      updates[node.operands[0]] = &node;
    if (hasCost(node))
      for (Value operand : node.operands)
        users_[storedValue(operand).node].insert(&node);
  }
  // What reads a value before it is updated in place stands before the update.
  for (Node &node : graph.nodes())
    if (hasCost(node))
      for (Value operand : node.operands)
        if (Node *update = updates.lookup(storedValue(operand)); update && update != &node)
          users_[&node].insert(update);
  for (const GraphResult &result : graph.results())
    returned_.insert(storedValue(result.value).node);
  for (Node &node : graph.nodes())
    if (isView(node.op) && node.group)
      create(&node, GroupKind::map);
}

std::optional<unsigned> Clusters::of(const Node *node) const {
  auto entry = clusterOf_.find(node);
  return entry == clusterOf_.end() ? std::nullopt : std::optional(entry->second);
}

unsigned Clusters::create(Node *node, GroupKind kind) {
  clusters_.emplace_back();
  clusters_.back().kind = kind;
  clusters_.back().first = clusters_.back().last = position_.at(node);
  add(clusters_.size() - 1, node);
  return clusters_.size() - 1;
}

void Clusters::add(unsigned cluster, Node *node) {
  assert(!of(node) && "a node is in one cluster");
  Cluster &grown = clusters_[cluster];
  grown.nodes.push_back(node);
  grown.first = std::min(grown.first, position_.at(node));
  grown.last = std::max(grown.last, position_.at(node));
  clusterOf_[node] = cluster;
}

void Clusters::merge(unsigned into, unsigned from) {
  for (Node *node : std::exchange(clusters_[from].nodes, {})) {
    clusterOf_.erase(node);
    add(into, node);
  }
}

llvm::ArrayRef<Node *> Clusters::users(const Node *node) const {
  auto entry = users_.find(node);
  return entry == users_.end() ? llvm::ArrayRef<Node *>() : entry->second.getArrayRef();
}

Clusters::Unit Clusters::unit(const Node *node) const {
  std::optional<unsigned> cluster = of(node);
  return cluster ? Unit(nullptr, *cluster) : Unit(node, kNone);
}

llvm::SmallVector<Clusters::Unit, 8> Clusters::successors(Unit from) const {
  llvm::SmallVector<Unit, 8> next;
  auto collect = [&](const Node *node) {
    for (Node *user : users(node))
      if (unit(user) != from)
        next.push_back(unit(user));
  };
  if (from.first)
    collect(from.first);
  else
    llvm::for_each(clusters_[from.second].nodes, collect);
  return next;
}

// Units that start behind `limit` lead to nothing before it.
bool Clusters::leadsThroughThird(Unit from, Unit to, unsigned limit) const {
  llvm::DenseSet<Unit> seen;
  llvm::SmallVector<Unit, 16> pending;
  for (Unit next : successors(from))
    if (next != to)
      pending.push_back(next);
  while (!pending.empty()) {
    Unit here = pending.pop_back_val();
    if (here == to)
      return true;
    unsigned first = here.first ? position_.at(here.first) : clusters_[here.second].first;
    if (first > limit || !seen.insert(here).second)
      continue;
    pending.append(successors(here));
  }
  return false;
}

// The threads of a kernel run in no order: none may read what another updates in place.
bool Clusters::readsWhatItUpdates(llvm::ArrayRef<Node *> a, llvm::ArrayRef<Node *> b) {
  llvm::SmallVector<Node *, 16> nodes(a);
  llvm::append_range(nodes, b);
  return llvm::any_of(nodes, [&](const Node *update) {
    if (kind(update->op) != OpKind::update)
      return false;
    Value updated = updatedArgument(update->operands[0]);
    return llvm::any_of(nodes, [&](const Node *reader) {
      return llvm::any_of(llvm::drop_begin(reader->operands, reader == update), [&](Value operand) {
        return updatedArgument(storedValue(operand)) == updated;
      });
    });
  });
}

bool Clusters::canAdd(unsigned cluster, const Node *node) const {
  const std::vector<Node *> &nodes = clusters_[cluster].nodes;
  if (readsWhatItUpdates(nodes, const_cast<Node *>(node)))
    return false;
  unsigned limit = std::max(clusters_[cluster].last, position_.at(node));
  Unit a(nullptr, cluster), b(node, kNone);
  return !leadsThroughThird(a, b, limit) && !leadsThroughThird(b, a, limit);
}

bool Clusters::canMerge(unsigned a, unsigned b) const {
  const std::vector<Node *> &nodesA = clusters_[a].nodes, &nodesB = clusters_[b].nodes;
  if (readsWhatItUpdates(nodesA, nodesB))
    return false;
  unsigned limit = std::max(clusters_[a].last, clusters_[b].last);
  Unit unitA(nullptr, a), unitB(nullptr, b);
  return !leadsThroughThird(unitA, unitB, limit) && !leadsThroughThird(unitB, unitA, limit);
}

unsigned Clusters::assignGroups() {
  // Clusters by their first node, so that the order is the text's wherever dependencies allow.
  std::vector<unsigned> alive;
  for (unsigned cluster = 0; cluster < clusters_.size(); ++cluster)
    if (!isEmpty(cluster))
      alive.push_back(cluster);
  llvm::sort(alive,
             [&](unsigned a, unsigned b) { return clusters_[a].first < clusters_[b].first; });
  llvm::DenseMap<unsigned, unsigned> rank;
  for (const auto &[index, cluster] : llvm::enumerate(alive))
    rank[cluster] = index;
  DependencyGraph dependencies(alive.size());
  for (unsigned cluster : alive)
    for (Unit next : successors(Unit(nullptr, cluster)))
      dependencies.addEdge(rank.at(cluster), rank.at(next.second));
  unsigned changed = 0;
  for (const auto &[number, index] : llvm::enumerate(dependencies.topologicalOrder()))
    for (Node *node : clusters_[alive[index]].nodes) {
      changed += node->group != unsigned(number);
      node->group = number;
    }
  return changed;
}

} // namespace warploom
