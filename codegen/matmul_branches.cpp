#include "codegen/matmul_branches.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>

namespace warploom {
namespace {

class Search {
public:
  explicit Search(const Group &group) : group_(group) {}

  // The matmuls under a value, and on the way the largest span of a rope that pairs halves.
  void collect(Value value, llvm::SmallSetVector<Node *, 2> &matmuls, int64_t &pairSpan) {
    Node *node = value.node;
    if (!isInside(node) || !visited_.insert(node))
      return;
    if (node->op == Op::matmul) {
      matmuls.insert(node);
      return;
    }
    if (node->op == Op::rope && node->attributes.text("style", "half") == "half")
      pairSpan = std::max(pairSpan, node->type().dims.back().constant());
    for (Value operand : node->operands)
      collect(operand, matmuls, pairSpan);
  }

  // The nodes from a matmul to `value`; false if none leads there.
  bool path(Value value, EpilogueOutput &output) {
    Node *node = value.node;
    if (!isInside(node))
      return false;
    if (node->op == Op::matmul) {
      output.matmul = node;
      return true;
    }
    bool update = kind(node->op) == OpKind::update;
    for (const auto &[index, operand] : llvm::enumerate(node->operands)) {
      bool carries =
          update ? index == 1 : isView(node->op) || operand.type().dims == node->type().dims;
      if (carries && path(operand, output)) {
        output.path.push_back(node);
        return true;
      }
    }
    return false;
  }

private:
  // Views without a group are read through, whoever reads them.
  bool isInside(Node *node) const {
    return node->group == group_.number || (isView(node->op) && !node->group);
  }

  const Group &group_;
  llvm::SmallSetVector<Node *, 16> visited_;
};

} // namespace

std::vector<EpilogueBranch> epilogueBranches(const Group &group) {
  llvm::EquivalenceClasses<Node *> together;
  llvm::SmallVector<std::pair<EpilogueOutput, int64_t>, 4> outputs;
  for (Value value : group.outputs) {
    llvm::SmallSetVector<Node *, 2> matmuls;
    int64_t pairSpan = 0;
    Search(group).collect(value, matmuls, pairSpan);
    if (matmuls.empty())
      continue;
    for (Node *matmul : matmuls)
      together.unionSets(matmuls[0], matmul);
    EpilogueOutput output{value, nullptr, {}};
    bool found = Search(group).path(value, output);
    assert(found && "a stored value follows from a matmul element by element");
    (void)found;
    outputs.push_back({output, pairSpan});
  }
  std::vector<EpilogueBranch> branches;
  for (Node *anchor : group.anchors) {
    if (together.findValue(anchor) == together.end())
      continue;
    auto branch = llvm::find_if(branches, [&](const EpilogueBranch &other) {
      return together.isEquivalent(other.matmuls[0], anchor);
    });
    if (branch == branches.end())
      branch = branches.insert(branches.end(), EpilogueBranch());
    branch->matmuls.push_back(anchor);
  }
  for (auto &[output, pairSpan] : outputs)
    for (EpilogueBranch &branch : branches)
      if (llvm::is_contained(branch.matmuls, output.matmul)) {
        branch.outputs.push_back(output);
        branch.pairSpan = std::max(branch.pairSpan, pairSpan);
      }
  return branches;
}

} // namespace warploom
