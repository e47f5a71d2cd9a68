#include "ir/tensor_type.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace warploom {

bool TensorType::hasSymbols() const {
  return llvm::any_of(dims, [](const Dim &dim) { return !dim.isConstant(); });
}

std::string TensorType::str() const {
  std::string text = spelling(dtype).str() + shapeText(dims);
  if (strides)
    text += " strides " + shapeText(*strides);
  if (offset != Dim(0))
    text += " offset " + offset.str();
  return text;
}

std::string shapeText(llvm::ArrayRef<Dim> dims) {
  return "[" + llvm::join(llvm::map_range(dims, [](const Dim &dim) { return dim.str(); }), ", ") +
         "]";
}

std::optional<Dims> broadcastDims(llvm::ArrayRef<Dim> a, llvm::ArrayRef<Dim> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  Dims result(a.begin(), a.end());
  size_t lead = a.size() - b.size();
  for (size_t i = 0; i < b.size(); ++i) {
    Dim &dim = result[lead + i];
    if (dim == b[i] || b[i] == 1)
      continue;
    if (!(dim == 1))
      return std::nullopt;
    dim = b[i];
  }
  return result;
}

std::optional<unsigned> normalizeAxis(int64_t axis, unsigned rank) {
  if (axis < -int64_t(rank) || axis >= int64_t(rank))
    return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

} // namespace warploom
