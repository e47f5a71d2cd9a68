#include "ir/index_map.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace warploom {
namespace {

using Strides = llvm::SmallVector<SizeExpr, 4>;

// A run of dims of `from` that becomes a run of dims of `to` with the same number of elements.
struct Run {
  llvm::SmallVector<unsigned, 4> from, to;
};

// Splits a reshape into the shortest such runs, leaving out dims of size 1. Symbolic dims only
// match themselves.
std::optional<llvm::SmallVector<Run, 4>> matchRuns(llvm::ArrayRef<Dim> from,
                                                   llvm::ArrayRef<Dim> to) {
  llvm::SmallVector<Run, 4> runs;
  unsigned i = 0, j = 0;
  auto skipOnes = [](llvm::ArrayRef<Dim> dims, unsigned &place) {
    while (place < dims.size() && dims[place] == 1)
      ++place;
  };
  while (true) {
    skipOnes(from, i);
    skipOnes(to, j);
    if (i == from.size() && j == to.size())
      return runs;
    if (i == from.size() || j == to.size())
      return std::nullopt;
    Run run{{i}, {j}};
    if (!from[i].isConstant() || !to[j].isConstant()) {
      if (!(from[i] == to[j]))
        return std::nullopt;
    } else {
      int64_t left = from[i].constant(), right = to[j].constant();
      while (left != right) {
        unsigned &place = left < right ? i : j;
        llvm::ArrayRef<Dim> dims = left < right ? from : to;
        if (++place == dims.size() || !dims[place].isConstant())
          return std::nullopt;
        (left < right ? left : right) *= dims[place].constant();
        (&place == &i ? run.from : run.to).push_back(place);
      }
    }
    runs.push_back(run);
    ++i;
    ++j;
  }
}

void applyTranspose(const Node &node, StridedView &view) {
  Strides strides;
  for (int64_t axis : node.attributes.integers("permutation"))
    strides.push_back(view.strides[axis]);
  view.strides = strides;
}

void applyBroadcast(const Node &node, StridedView &view) {
  const Dims &from = node.operands[0].type().dims;
  Strides strides(node.type().rank(), SizeExpr(0));
  for (const auto &[axis, target] : llvm::enumerate(node.attributes.integers("dims")))
    strides[target] = from[axis] == 1 ? SizeExpr(0) : view.strides[axis];
  view.strides = strides;
}

void applySlice(const Node &node, StridedView &view) {
  Integers starts = node.attributes.integers("starts"), steps = node.attributes.integers("steps");
  for (unsigned axis = 0; axis < view.strides.size(); ++axis) {
    view.offset = view.offset + view.strides[axis] * SizeExpr(starts[axis]);
    if (!steps.empty())
      view.strides[axis] = view.strides[axis] * SizeExpr(steps[axis]);
  }
}

} // namespace

SizeExpr toSizeExpr(const Dim &dim) {
  SizeExpr sum = 0;
  for (const Dim::Term &term : dim.terms())
    sum = sum + SizeExpr::symbol(term.symbol) * SizeExpr(term.coefficient);
  return sum + SizeExpr(dim.constantPart());
}

SizeExpr elementCount(llvm::ArrayRef<Dim> dims) {
  SizeExpr count = 1;
  for (const Dim &dim : dims)
    count = count * toSizeExpr(dim);
  return count;
}

Strides contiguousStrides(llvm::ArrayRef<Dim> dims) {
  Strides strides(dims.size(), SizeExpr(1));
  for (unsigned axis = dims.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * toSizeExpr(dims[axis]);
  return strides;
}

bool collapses(const SizeExpr &outerStride, const SizeExpr &innerSize,
               const SizeExpr &innerStride) {
  return outerStride == innerSize * innerStride;
}

std::optional<Strides> reshapedStrides(llvm::ArrayRef<Dim> from, llvm::ArrayRef<SizeExpr> strides,
                                       llvm::ArrayRef<Dim> to) {
  std::optional<llvm::SmallVector<Run, 4>> runs = matchRuns(from, to);
  if (!runs)
    return std::nullopt;
  Strides result(to.size(), SizeExpr(0));
  for (const Run &run : *runs) {
    for (unsigned i = 0; i + 1 < run.from.size(); ++i)
      if (!collapses(strides[run.from[i]], toSizeExpr(from[run.from[i + 1]]),
                     strides[run.from[i + 1]]))
        return std::nullopt;
    SizeExpr stride = strides[run.from.back()];
    for (unsigned axis : llvm::reverse(run.to)) {
      result[axis] = stride;
      stride = stride * toSizeExpr(to[axis]);
    }
  }
  return result;
}

std::optional<StridedView> stridedView(Value value) {
  const Node &node = *value.node;
  if (!isView(node.op) || node.group) {
    StridedView view{value, contiguousStrides(value.type().dims), toSizeExpr(value.type().offset)};
    if (value.type().strides)
      for (const auto &[stride, declared] : llvm::zip(view.strides, *value.type().strides))
        stride = toSizeExpr(declared);
    return view;
  }
  std::optional<StridedView> view = stridedView(node.operands[0]);
  if (!view)
    return std::nullopt;
  switch (node.op) {
  case Op::transpose:
    applyTranspose(node, *view);
    return view;
  case Op::broadcast:
    applyBroadcast(node, *view);
    return view;
  case Op::slice:
    applySlice(node, *view);
    return view;
  default:
    break;
  }
  std::optional<Strides> strides =
      reshapedStrides(node.operands[0].type().dims, view->strides, node.type().dims);
  if (!strides)
    return std::nullopt;
  view->strides = *strides;
  return view;
}

} // namespace warploom
