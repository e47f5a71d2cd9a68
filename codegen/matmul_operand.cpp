#include "codegen/matmul_operand.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <set>

namespace warploom {
namespace {

// Whether a polynomial of symbols is a multiple of `divisor` for every binding. Its remainder
// repeats with each symbol's, so that trying all remainders decides.
bool isMultiple(const SizeExpr &size, int64_t divisor, llvm::ArrayRef<std::string> symbols) {
  if (std::optional<int64_t> constant = size.constant())
    return *constant % divisor == 0;
  if (symbols.size() > 3)
    return false;
  int64_t trials = 1;
  for (unsigned index = 0; index < symbols.size(); ++index)
    trials *= divisor;
  for (int64_t trial = 0; trial < trials; ++trial) {
    llvm::StringMap<int64_t> bindings;
    int64_t rest = trial;
    for (const std::string &symbol : symbols) {
      bindings[symbol] = rest % divisor + divisor;
      rest /= divisor;
    }
    llvm::Expected<int64_t> value = size.evaluate(bindings);
    if (!value) {
      llvm::consumeError(value.takeError());
      return false;
    }
    if (*value % divisor != 0)
      return false;
  }
  return true;
}

void addSymbols(llvm::ArrayRef<Dim> dims, std::set<std::string> &symbols) {
  for (const Dim &dim : dims)
    for (const Dim::Term &term : dim.terms())
      symbols.insert(term.symbol);
}

std::vector<std::string> symbolsOf(Value value, Value base) {
  std::set<std::string> symbols;
  for (const TensorType *type : {&value.type(), &base.type()}) {
    addSymbols(type->dims, symbols);
    addSymbols(type->strides.value_or(Dims()), symbols);
    addSymbols(type->offset, symbols);
  }
  return {symbols.begin(), symbols.end()};
}

// Whether the leading dims of a view are one dim in memory.
bool leadingDimsCollapse(const StridedView &view, llvm::ArrayRef<Dim> dims) {
  for (unsigned axis = 0; axis + 2 < dims.size(); ++axis) {
    SizeExpr size = toSizeExpr(dims[axis + 1]), stride = view.strides[axis + 1];
    // Equality is of structure: contiguousStrides multiplies in the other order.
    if (!collapses(view.strides[axis], size, stride) && !(view.strides[axis] == stride * size) &&
        !(dims[axis] == 1))
      return false;
  }
  return true;
}

// `outerAxis` and `depthAxis` of the operand; the batch dims align with the result's from the end.
MatrixOperand matrixOperand(Value value, unsigned outerAxis, unsigned depthAxis, const Dim &outer,
                            const Dim &depth, llvm::ArrayRef<Dim> batch, unsigned ownBatch) {
  std::optional<StridedView> view = stridedView(value);
  assert(view && "a matmul reads memory that strides express");
  MatrixOperand operand;
  operand.base = view->base;
  operand.offset = view->offset;
  operand.outerStride = view->strides[outerAxis];
  operand.depthStride = view->strides[depthAxis];
  for (unsigned index = 0; index < batch.size(); ++index) {
    unsigned missing = batch.size() - ownBatch;
    bool repeats = index < missing || value.type().dims[index - missing] == 1;
    operand.batchStrides.push_back(repeats ? SizeExpr(0) : view->strides[index - missing]);
  }
  if (operand.depthStride == SizeExpr(1) || depth == 1)
    operand.layout = MatmulLayout::depthContiguous;
  else if (operand.outerStride == SizeExpr(1))
    operand.layout = MatmulLayout::outerContiguous;

  std::vector<std::string> symbols = symbolsOf(value, view->base);
  int64_t elements = 16 / int64_t(byteSize(value.type().dtype));
  bool deep = operand.layout == MatmulLayout::depthContiguous;
  operand.aligned = operand.layout != MatmulLayout::strided &&
                    isMultiple(operand.offset, elements, symbols) &&
                    isMultiple(toSizeExpr(deep ? depth : outer), elements, symbols) &&
                    isMultiple(deep ? operand.outerStride : operand.depthStride, elements, symbols);
  for (const SizeExpr &stride : operand.batchStrides)
    operand.aligned &= isMultiple(stride, elements, symbols);
  return operand;
}

} // namespace

MatmulExtent extentOf(const Node &matmul, bool leftIsComputed) {
  const TensorType &left = matmul.operands[0].type(), &right = matmul.operands[1].type();
  llvm::ArrayRef<Dim> result = matmul.type().dims;
  bool transposed = matmul.attributes.boolean("transpose_a", false);
  MatmulExtent extent;
  extent.columns = result.back();
  extent.depth = left.dims[left.rank() - (transposed ? 2 : 1)];
  bool collapse = right.rank() == 2 && !transposed;
  if (collapse && !leftIsComputed) {
    std::optional<StridedView> view = stridedView(matmul.operands[0]);
    assert(view && "a matmul reads memory that strides express");
    collapse = leadingDimsCollapse(*view, left.dims);
  }
  unsigned batchDims = collapse ? 0 : result.size() - 2;
  extent.batch.assign(result.begin(), result.begin() + batchDims);
  extent.rows.assign(result.begin() + batchDims, result.end() - 1);
  return extent;
}

MatrixOperand leftOperand(const Node &matmul, const MatmulExtent &extent) {
  Value left = matmul.operands[0];
  bool transposed = matmul.attributes.boolean("transpose_a", false);
  unsigned last = left.type().rank() - 1;
  unsigned outerAxis = transposed ? last : last - 1, depthAxis = transposed ? last - 1 : last;
  unsigned ownBatch = extent.batch.empty() ? 0 : last - 1;
  return matrixOperand(left, outerAxis, depthAxis, left.type().dims[outerAxis], extent.depth,
                       extent.batch, ownBatch);
}

MatrixOperand rightOperand(const Node &matmul, const MatmulExtent &extent) {
  Value right = matmul.operands[1];
  bool transposed = matmul.attributes.boolean("transpose_b", false);
  unsigned last = right.type().rank() - 1;
  return matrixOperand(right, transposed ? last - 1 : last, transposed ? last : last - 1,
                       extent.columns, extent.depth, extent.batch, last - 1);
}

} // namespace warploom
