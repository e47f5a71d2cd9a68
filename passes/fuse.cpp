#include "passes/passes.h"

#include "passes/clusters.h"
#include "passes/fusion_rules.h"

#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {
namespace {

class Fuser {
public:
  Fuser(Graph &graph, const PassContext &context)
      : graph_(graph), context_(context), clusters_(graph) {}

  unsigned run() {
    seedContractions();
    growRows();
    absorbIntoRows();
    mergeSiblings();
    growEpilogues();
    absorbSideArithmetic();
    foldPrologues();
    chainPointwise();
    return clusters_.assignGroups();
  }

private:
  void remark(const Node *node, const char *what, const Node *other) {
    context_.remarks.push_back(
        {"fuse", llvm::formatv("{0} %{1} {2} %{3}", spelling(node->op), node->results[0].name, what,
                               other->results[0].name)
                     .str()});
  }

  bool tryAdd(unsigned cluster, Node *node) {
    const Node *into = clusters_[cluster].nodes.front();
    if (!clusters_.canAdd(cluster, node)) {
      remark(node, "stays apart, since a path leads through another kernel, from", into);
      return false;
    }
    clusters_.add(cluster, node);
    remark(node, "joins", into);
    return true;
  }

  bool tryMerge(unsigned into, unsigned from) {
    const Node *kept = clusters_[into].nodes.front(), *moved = clusters_[from].nodes.front();
    if (!clusters_.canMerge(into, from)) {
      remark(moved, "stays apart, since a path leads through another kernel, from", kept);
      return false;
    }
    remark(moved, "and its kernel join", kept);
    clusters_.merge(into, from);
    return true;
  }

  void seedContractions() {
    for (Node &node : graph_.nodes())
      if (node.op == Op::matmul)
        clusters_.create(&node, GroupKind::matmul);
      else if (node.op == Op::attention)
        clusters_.create(&node, GroupKind::attention);
  }

  // Dependent reductions over one row, and what is elementwise on it behind them.
  void growRows() {
    for (Node &node : graph_.nodes()) {
      if (clusters_.of(&node) || !(isReduction(node.op) || isElementwise(node.op)))
        continue;
      if (joinRow(node) || !isReduction(node.op))
        continue;
      unsigned cluster = clusters_.create(&node, GroupKind::row);
      clusters_[cluster].row = rowOf(node);
    }
  }

  bool joinRow(Node &node) {
    for (Value operand : node.operands) {
      std::optional<unsigned> cluster = clusters_.of(operand.node);
      if (!cluster || clusters_[*cluster].kind != GroupKind::row)
        continue;
      const RowDomain &row = clusters_[*cluster].row;
      bool sameRow = isReduction(node.op)
                         ? rowOf(node) == row
                         : row.holds(node.type().dims) && row.holds(operand.type().dims);
      if (sameRow && tryAdd(*cluster, &node))
        return true;
    }
    return false;
  }

  // The one cluster that all users of a node are in, if the node need not be stored.
  std::optional<unsigned> onlyCluster(Node &node) {
    if (clusters_.isReturned(&node) || clusters_.users(&node).empty())
      return std::nullopt;
    std::optional<unsigned> only;
    for (Node *user : clusters_.users(&node)) {
      std::optional<unsigned> cluster = clusters_.of(user);
      if (!cluster || (only && only != cluster))
        return std::nullopt;
      only = cluster;
    }
    return only;
  }

  // Pointwise producers that only a row reads are computed where the row is loaded.
  void absorbIntoRows() {
    for (Node &node : llvm::reverse(graph_.nodes())) {
      if (clusters_.of(&node) || !isElementwise(node.op))
        continue;
      std::optional<unsigned> only = onlyCluster(node);
      if (only && clusters_[*only].kind == GroupKind::row)
        tryAdd(*only, &node);
    }
  }

  // Matmuls that read one left operand are one kernel: its rows are loaded once.
  void mergeSiblings() {
    llvm::DenseMap<Value, unsigned> byLeft;
    for (Node &node : graph_.nodes()) {
      if (node.op != Op::matmul)
        continue;
      auto [entry, isFirst] = byLeft.try_emplace(node.operands[0], *clusters_.of(&node));
      if (isFirst)
        continue;
      const Node &first = *clusters_[entry->second].nodes.front();
      if (areSiblings(first, node))
        tryMerge(entry->second, *clusters_.of(&node));
    }
  }

  // What follows a matmul or an attention element by element is applied to its tile.
  void growEpilogues() {
    for (Node &node : graph_.nodes()) {
      if (isStoredView(node)) {
        storeAsView(node);
        continue;
      }
      if (clusters_.of(&node) || !canFollow(node.op))
        continue;
      // The operand that was computed last carries the node; the others are then loaded.
      std::optional<unsigned> best;
      for (unsigned index = 0; index < node.operands.size(); ++index) {
        std::optional<unsigned> cluster = clusters_.of(storedValue(node.operands[index]).node);
        if (!cluster || !isContraction(clusters_[*cluster].kind) ||
            !followsElementwise(node, index, clusters_[*cluster].kind))
          continue;
        if (!readsAlike(node, index,
                        [&](const Node *other) { return clusters_.of(other) == cluster; }))
          continue;
        if (!best || clusters_[*best].last < clusters_[*cluster].last)
          best = cluster;
      }
      if (best)
        tryAdd(*best, &node);
    }
  }

  // A contraction whose result is only stored as a view of it is stored that way at once.
  void storeAsView(Node &view) {
    std::optional<unsigned> cluster = clusters_.of(storedValue(view.operands[0]).node);
    if (cluster && isContraction(clusters_[*cluster].kind) &&
        followsElementwise(view, 0, clusters_[*cluster].kind))
      tryMerge(*cluster, *clusters_.of(&view));
  }

  // Arithmetic on masks, lengths and parameters that only one kernel reads is done there.
  void absorbSideArithmetic() {
    for (Node &node : llvm::reverse(graph_.nodes())) {
      if (clusters_.of(&node) || !isElementwise(node.op))
        continue;
      std::optional<unsigned> only = onlyCluster(node);
      if (only && isContraction(clusters_[*only].kind) && isSideOperand(node, *only))
        tryAdd(*only, &node);
    }
  }

  bool isSideOperand(Node &node, unsigned) {
    return llvm::all_of(clusters_.users(&node), [&](Node *user) {
      unsigned main = user->op == Op::matmul ? 2 : user->op == Op::attention ? 3 : 0;
      return llvm::none_of(llvm::ArrayRef(user->operands).take_front(main),
                           [&](Value operand) { return storedValue(operand).node == &node; });
    });
  }

  // A norm that only a matmul of few rows reads is computed by each of its blocks: the rows are
  // small, and a launch and a round trip through memory are saved.
  void foldPrologues() {
    for (unsigned cluster = 0; cluster < clusters_.size(); ++cluster) {
      if (clusters_.isEmpty(cluster) || clusters_[cluster].kind != GroupKind::matmul)
        continue;
      const Node &matmul = **llvm::find_if(clusters_[cluster].nodes,
                                           [](Node *node) { return node->op == Op::matmul; });
      Node *left = storedValue(matmul.operands[0]).node;
      std::optional<unsigned> rows = clusters_.of(left);
      if (!rows || clusters_[*rows].kind != GroupKind::row || !isSkinny(matmul, context_.policy) ||
          !isWholeRow(clusters_[*rows].row, matmul))
        continue;
      bool onlyHere = llvm::all_of(clusters_[*rows].nodes, [&](Node *node) {
        return !clusters_.isReturned(node) && llvm::all_of(clusters_.users(node), [&](Node *user) {
          std::optional<unsigned> reader = clusters_.of(user);
          return reader == rows || (reader == cluster && node == left && user->op == Op::matmul);
        });
      });
      if (onlyHere)
        tryMerge(cluster, *rows);
      else
        remark(left, "stays apart, since more than one kernel reads it, from", &matmul);
    }
  }

  // What is left is pointwise: it joins the pointwise kernel or the row that it follows.
  void chainPointwise() {
    for (Node &node : graph_.nodes()) {
      if (clusters_.of(&node) || !hasCost(node))
        continue;
      // The first pointwise kernel behind an operand takes the node, and the others join it.
      std::optional<unsigned> joined;
      for (unsigned index = 0; index < node.operands.size(); ++index) {
        std::optional<unsigned> cluster = clusters_.of(storedValue(node.operands[index]).node);
        if (!cluster || cluster == joined || clusters_[*cluster].kind != GroupKind::map ||
            !followsElementwise(node, index, GroupKind::map))
          continue;
        if (joined)
          tryMerge(*joined, *cluster);
        else if (tryAdd(*cluster, &node))
          joined = cluster;
      }
      if (!joined)
        clusters_.create(&node, GroupKind::map);
    }
    for (unsigned cluster = 0; cluster < clusters_.size(); ++cluster)
      if (!clusters_.isEmpty(cluster) && clusters_[cluster].kind == GroupKind::map)
        joinConsumingRow(cluster);
  }

  void joinConsumingRow(unsigned cluster) {
    for (Node *node : clusters_[cluster].nodes)
      for (Node *user : clusters_.users(node)) {
        std::optional<unsigned> reader = clusters_.of(user);
        if (!reader || clusters_[*reader].kind != GroupKind::row)
          continue;
        bool onRow = llvm::all_of(clusters_[cluster].nodes, [&](Node *member) {
          return isElementwise(member->op) && clusters_[*reader].row.holds(member->type().dims);
        });
        if (onRow && tryMerge(*reader, cluster))
          return;
      }
  }

  Graph &graph_;
  const PassContext &context_;
  Clusters clusters_;
};

bool isPartitioned(const Graph &graph) {
  return llvm::all_of(graph.nodes(), [](const Node &node) { return !hasCost(node) || node.group; });
}

} // namespace

unsigned fuse(Graph &graph, const PassContext &context) {
  // Groups are final: a fused graph is fused.
  if (isPartitioned(graph))
    return 0;
  return Fuser(graph, context).run();
}

} // namespace warploom
