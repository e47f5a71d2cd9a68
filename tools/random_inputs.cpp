#include "tools/random_inputs.h"

#include "ir/group.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <random>

namespace warploom {
namespace {

enum class Role { activation, weight, gain, bias, cosine, sine, mask, position, length, integer };

struct Purpose {
  Role role = Role::activation;
  Dim bound = 1; // depth of a weight; entries of a cache
};

// What the first op that reads a value says of it.
Purpose purposeOf(Value value, const Uses &uses) {
  bool isReal = isFloating(value.type().dtype);
  Purpose purpose;
  purpose.role = value.type().dtype == DType::i1 ? Role::mask
                 : isReal                        ? Role::activation
                                                 : Role::integer;
  for (Node *user : uses.of(value)) {
    auto isOperand = [&](unsigned index) {
      return index < user->operands.size() && user->operands[index] == value;
    };
    switch (user->op) {
    case Op::matmul:
      if (isOperand(1)) {
        bool transposed = user->attributes.boolean("transpose_b", false);
        const Dims &dims = value.type().dims;
        return {Role::weight, dims[dims.size() - (transposed ? 1 : 2)]};
      }
      break;
    case Op::layer_norm:
    case Op::rms_norm:
      if (isOperand(1))
        return {Role::gain, 1};
      if (isOperand(2))
        return {Role::bias, 1};
      break;
    case Op::rope:
      if (isOperand(1) || isOperand(2))
        return {isOperand(1) ? Role::cosine : Role::sine, 1};
      break;
    case Op::kv_update:
      if (isOperand(2)) {
        const Dims &cache = user->operands[0].type().dims, &fresh = user->operands[1].type().dims;
        unsigned axis = *normalizeAxis(user->attributes.integer("axis", -2), cache.size());
        return {Role::position, cache[axis] - fresh[axis]};
      }
      break;
    case Op::attention:
      if (user->labelled("lengths") == value)
        return {Role::length, user->operands[1].type().dims[2]};
      break;
    case Op::add:
      // A vector that is added is a bias.
      if (isReal && value.type().rank() == 1)
        return {Role::bias, 1};
      break;
    default:
      // Through views and arithmetic on positions.
      if (isView(user->op))
        if (Purpose behind = purposeOf(user->result(), uses); behind.role != Role::activation)
          return behind;
    }
  }
  return purpose;
}

double draw(const Purpose &purpose, double bound, int64_t column, int64_t row,
            std::mt19937_64 &random) {
  std::normal_distribution<double> normal;
  switch (purpose.role) {
  case Role::weight:
    return normal(random) / std::sqrt(std::max(bound, 1.0));
  case Role::gain:
    return 1 + 0.1 * normal(random);
  case Role::bias:
    return 0.1 * normal(random);
  case Role::cosine:
    return std::cos(double(row + 1) * (1 + column));
  case Role::sine:
    return std::sin(double(row + 1) * (1 + column));
  default:
    return normal(random);
  }
}

int64_t drawInteger(const Purpose &purpose, int64_t bound, int64_t column,
                    std::mt19937_64 &random) {
  switch (purpose.role) {
  case Role::mask:
    // At least one true in every row.
    return column == 0 || random() % 4 != 0;
  case Role::position:
    return random() % (std::max<int64_t>(bound, 0) + 1);
  case Role::length:
    return 1 + random() % std::max<int64_t>(bound, 1);
  default:
    return random() % 8;
  }
}

} // namespace

llvm::Expected<std::vector<Tensor>> randomInputs(const Graph &graph, const SymbolBindings &symbols,
                                                 uint64_t seed) {
  Uses uses(graph);
  std::vector<Tensor> tensors;
  for (const GraphArgument &argument : graph.arguments()) {
    const TensorType &type = argument.value.type();
    Purpose purpose = purposeOf(argument.value, uses);
    std::mt19937_64 random(seed ^ llvm::xxh3_64bits(argument.value.name()));
    WideTensor wide;
    wide.dtype = type.dtype;
    for (const Dim &dim : type.dims) {
      llvm::Expected<int64_t> size = dim.evaluate(symbols);
      if (!size)
        return size.takeError();
      wide.dims.push_back(*size);
    }
    llvm::Expected<int64_t> bound = purpose.bound.evaluate(symbols);
    if (!bound)
      return bound.takeError();
    int64_t columns = wide.dims.empty() ? 1 : std::max<int64_t>(wide.dims.back(), 1);
    // Angles repeat after half a head.
    int64_t half = std::max<int64_t>(columns / 2, 1);
    for (int64_t i = 0, count = elementCount(wide.dims); i < count; ++i) {
      int64_t column = i % columns, row = i / columns;
      if (isFloating(type.dtype))
        wide.reals.push_back(draw(purpose, double(*bound), column % half, row, random));
      else
        wide.integers.push_back(drawInteger(purpose, *bound, column, random));
    }
    tensors.push_back(narrow(wide));
  }
  return tensors;
}

} // namespace warploom
