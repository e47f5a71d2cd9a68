#include "tests/fuzz/random_views.h"

#include <numeric>

namespace warploom::fuzz {
namespace {

// Two dims merged, one split, or a 1 put in.
Dims reshaped(Dims dims, Dice &dice) {
  unsigned choice = dice.below(3);
  if (choice == 0 && dims.size() > 1) {
    unsigned axis = dice.below(dims.size() - 1);
    if (dims[axis].isConstant())
      std::swap(dims[axis], dims[axis + 1]);
    if (dims[axis + 1].isConstant()) {
      dims[axis] = dims[axis] * dims[axis + 1].constant();
      dims.erase(dims.begin() + axis + 1);
    }
  } else if (choice == 1 && !dims.empty()) {
    unsigned axis = dice.below(dims.size());
    int64_t factor = dice.oneOf<int64_t>({2, 3, 4, 8});
    if (dims[axis].isConstant() && dims[axis].constant() % factor == 0) {
      dims[axis] = dims[axis].constant() / factor;
      dims.insert(dims.begin() + axis + 1, factor);
    }
  } else if (dims.size() < 5) {
    dims.insert(dims.begin() + dice.below(dims.size() + 1), 1);
  }
  return dims;
}

} // namespace

void layOut(TensorType &type, Dice &dice) {
  llvm::SmallVector<unsigned, 4> order(type.rank());
  std::iota(order.begin(), order.end(), 0);
  dice.shuffle(order);
  type.strides = Dims(type.rank());
  int64_t stride = 1 + dice.below(2), offset = dice.below(4);
  for (unsigned axis : order) {
    int64_t size = type.dims[axis].constant();
    (*type.strides)[axis] = stride;
    if (dice.chance(0.1)) {
      (*type.strides)[axis] = 0;
      continue;
    }
    if (dice.chance(0.1)) {
      (*type.strides)[axis] = -stride;
      offset += (size - 1) * stride;
    }
    stride *= std::max<int64_t>(size, 1);
  }
  type.offset = std::max<int64_t>(offset, 0);
}

std::optional<Attributes> randomView(Op op, const Dims &dims, llvm::ArrayRef<Dim> palette,
                                     Dice &dice) {
  Attributes attributes;
  if (op == Op::reshape) {
    attributes.set("shape", reshaped(dims, dice));
  } else if (op == Op::transpose) {
    Integers permutation(dims.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    dice.shuffle(permutation);
    attributes.set("permutation", permutation);
  } else if (op == Op::broadcast) {
    Dims shape;
    Integers places;
    for (const Dim &dim : dims) {
      if (dice.chance(0.3))
        shape.push_back(dice.oneOf(palette));
      places.push_back(shape.size());
      shape.push_back(dim == 1 && dice.chance(0.5) ? dice.oneOf(palette) : dim);
    }
    attributes.set("shape", shape);
    attributes.set("dims", places);
  } else if (op == Op::slice) {
    Integers starts, limits, steps;
    for (const Dim &dim : dims) {
      bool isWhole = !dim.isConstant() || dice.chance(0.5);
      int64_t size = dim.isConstant() ? dim.constant() : -1;
      starts.push_back(isWhole ? 0 : dice.below(size + 1));
      limits.push_back(isWhole ? size : starts.back() + dice.below(size - starts.back() + 1));
      steps.push_back(isWhole ? 1 : 1 + dice.below(3));
    }
    attributes.set("starts", starts);
    attributes.set("limits", limits);
    attributes.set("steps", steps);
  } else {
    return std::nullopt;
  }
  return attributes;
}

} // namespace warploom::fuzz
