#include "codegen/value_index.h"

#include "ir/index_map.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <functional>

namespace warploom {

std::vector<IndexExpr> extentsOf(KernelBuilder &kernel, Value value) {
  return kernel.sizes(value.type().dims);
}

IndexExpr addressOf(KernelBuilder &kernel, Value stored, const Index &index) {
  // Every value of an update's chain lies where the argument lies.
  std::optional<StridedView> view = stridedView(updatedArgument(stored));
  assert(view && "a stored value is its own view");
  IndexExpr address = kernel.size(view->offset);
  for (const auto &[place, stride] : llvm::zip(index, view->strides))
    address = address + place * kernel.size(stride);
  return address;
}

std::string elementAt(const std::string &pointer, const IndexExpr &address) {
  if (address.constant() == 0)
    return pointer;
  std::string text = address.str();
  bool isSum = text.find(" + ") != std::string::npos || text.find(" - ") != std::string::npos;
  return pointer + " + " + (isSum ? address.factor() : text);
}

Index broadcastIndex(const Index &index, llvm::ArrayRef<Dim> operand) {
  Index result(index.end() - operand.size(), index.end());
  for (const auto &[place, dim] : llvm::zip(result, operand))
    if (dim == 1)
      place = 0;
  return result;
}

Index pulledIndex(KernelBuilder &kernel, const Node &view, const Index &index) {
  const Dims &from = view.operands[0].type().dims;
  Index pulled(from.size());
  switch (view.op) {
  case Op::reshape:
    return delinearize(linearize(index, kernel.sizes(view.type().dims)), kernel.sizes(from));
  case Op::transpose:
    for (const auto &[axis, source] : llvm::enumerate(view.attributes.integers("permutation")))
      pulled[source] = index[axis];
    return pulled;
  case Op::broadcast:
    for (const auto &[axis, target] : llvm::enumerate(view.attributes.integers("dims")))
      pulled[axis] = from[axis] == 1 ? IndexExpr(0) : index[target];
    return pulled;
  case Op::slice: {
    Integers starts = view.attributes.integers("starts"), steps = view.attributes.integers("steps");
    for (unsigned axis = 0; axis < from.size(); ++axis)
      pulled[axis] =
          index[axis] * IndexExpr(steps.empty() ? 1 : steps[axis]) + IndexExpr(starts[axis]);
    return pulled;
  }
  default:
    llvm_unreachable("not a view");
  }
}

ForwardIndex forwardIndex(KernelBuilder &kernel, llvm::ArrayRef<const Node *> path,
                          const Index &anchorIndex) {
  ForwardIndex forward{anchorIndex, ""};
  auto require = [&](const std::string &condition) {
    forward.guard += (forward.guard.empty() ? "" : " && ") + condition;
  };
  for (const Node *node : path) {
    Index &index = forward.index;
    if (node->op == Op::reshape) {
      index = delinearize(linearize(index, kernel.sizes(node->operands[0].type().dims)),
                          kernel.sizes(node->type().dims));
    } else if (node->op == Op::transpose) {
      Index moved;
      for (int64_t axis : node->attributes.integers("permutation"))
        moved.push_back(index[axis]);
      index = moved;
    } else if (node->op == Op::slice) {
      Integers starts = node->attributes.integers("starts");
      Integers steps = node->attributes.integers("steps");
      const Dims &from = node->operands[0].type().dims, &dims = node->type().dims;
      for (unsigned axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis] == from[axis])
          continue;
        int64_t start = starts[axis], step = steps.empty() ? 1 : steps[axis];
        int64_t limit = start + (dims[axis].constant() - 1) * step + 1;
        std::string place = index[axis].factor();
        if (start > 0)
          require(llvm::formatv("{0} >= {1}", place, start).str());
        if (!(from[axis] == limit))
          require(llvm::formatv("{0} < {1}", place, limit).str());
        index[axis] = index[axis] - IndexExpr(start);
        if (step == 1)
          continue;
        require(mod(index[axis], IndexExpr(step)).factor() + " == 0");
        index[axis] = floorDiv(index[axis], IndexExpr(step));
      }
    }
  }
  return forward;
}

llvm::SmallVector<const Node *, 8> pathFrom(const Group &group, Value anchor, Value output) {
  llvm::SmallVector<const Node *, 8> path;
  // Backwards from the output: through the operand that carries the index.
  std::function<bool(Value)> walk = [&](Value value) {
    if (value == anchor)
      return true;
    const Node &node = *value.node;
    bool isFreeView = isView(node.op) && !node.group;
    if (!isFreeView && node.group != group.number)
      return false;
    unsigned first = kind(node.op) == OpKind::update ? 1 : 0;
    unsigned last = isElementwise(node.op) ? node.operands.size() : first + 1;
    for (unsigned index = first; index < last && index < node.operands.size(); ++index) {
      // A broadcast operand does not carry the index.
      bool carries =
          !isElementwise(node.op) || node.operands[index].type().dims == node.type().dims;
      if (carries && walk(node.operands[index])) {
        path.push_back(&node);
        return true;
      }
    }
    return false;
  };
  walk(output);
  return path;
}

unsigned chunkWidth(llvm::ArrayRef<Value> values, const IndexExpr &innermost) {
  std::optional<int64_t> extent = innermost.constant();
  if (!extent || values.empty())
    return 1;
  unsigned widest = 1;
  for (Value value : values)
    widest = std::max(widest, byteSize(value.type().dtype));
  unsigned width = 16 / widest;
  while (width > 1 && *extent % width != 0)
    width /= 2;
  return width;
}

} // namespace warploom
