#include "codegen/forward_index.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>

namespace warploom {
namespace {

using Extent = llvm::function_ref<IndexExpr(const Dim &)>;

llvm::SmallVector<IndexExpr, 4> extentsOf(llvm::ArrayRef<Dim> dims, Extent extent) {
  llvm::SmallVector<IndexExpr, 4> extents;
  for (const Dim &dim : dims)
    extents.push_back(extent(dim));
  return extents;
}

// Reshapes in steps: the longest common dims at both ends keep their index, so that only what the
// reshape merges or splits is divided.
Index reshaped(llvm::ArrayRef<Dim> from, llvm::ArrayRef<Dim> to, llvm::ArrayRef<IndexExpr> index,
               Extent extent) {
  size_t front = 0, back = 0, least = std::min(from.size(), to.size());
  while (front < least && from[front] == to[front])
    ++front;
  while (back < least - front && from[from.size() - 1 - back] == to[to.size() - 1 - back])
    ++back;
  auto middle = [&](auto range) { return range.drop_front(front).drop_back(back); };
  Index result(index.begin(), index.begin() + front);
  IndexExpr position = linearize(middle(index), extentsOf(middle(from), extent));
  llvm::append_range(result, delinearize(position, extentsOf(middle(to), extent)));
  result.append(index.end() - back, index.end());
  return result;
}

void applySlice(const Node &node, ForwardIndex &forward) {
  Integers starts = node.attributes.integers("starts"), steps = node.attributes.integers("steps");
  const Dims &from = node.operands[0].type().dims, &to = node.type().dims;
  for (unsigned axis = 0; axis < starts.size(); ++axis) {
    if (from[axis] == to[axis])
      continue;
    int64_t step = steps.empty() ? 1 : steps[axis];
    IndexExpr &place = forward.index[axis];
    int64_t end = starts[axis] + to[axis].constant() * step;
    if (starts[axis] > 0)
      forward.guards.push_back(llvm::formatv("{0} >= {1}", place.str(), starts[axis]));
    forward.guards.push_back(llvm::formatv("{0} < {1}", place.str(), end));
    IndexExpr moved = place - IndexExpr(starts[axis]);
    if (step != 1)
      forward.guards.push_back(llvm::formatv("({0}) % {1} == 0", moved.str(), step));
    place = floorDiv(moved, step);
  }
}

void applyNode(const Node &node, llvm::ArrayRef<Dim> from, ForwardIndex &forward, Extent extent) {
  Index &index = forward.index;
  switch (node.op) {
  case Op::reshape:
    index = reshaped(from, node.type().dims, index, extent);
    return;
  case Op::transpose: {
    Index moved;
    for (int64_t axis : node.attributes.integers("permutation"))
      moved.push_back(index[axis]);
    index = moved;
    return;
  }
  case Op::slice:
    applySlice(node, forward);
    return;
  case Op::broadcast: {
    // Only dims of 1 are new: every element has one place.
    Index moved(node.type().rank());
    for (const auto &[axis, target] : llvm::enumerate(node.attributes.integers("dims")))
      moved[target] = index[axis];
    index = moved;
    return;
  }
  default:
    return;
  }
}

} // namespace

ForwardIndex followForward(llvm::ArrayRef<Node *> path, const Value &start, Index index,
                           Extent extent) {
  ForwardIndex forward{std::move(index), {}};
  Dims dims = start.type().dims;
  for (const Node *node : path) {
    if (kind(node->op) == OpKind::update)
      break;
    applyNode(*node, dims, forward, extent);
    dims = node->type().dims;
  }
  return forward;
}

} // namespace warploom
