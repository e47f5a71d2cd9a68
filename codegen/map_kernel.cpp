#include "codegen/evaluator.h"
#include "codegen/group_kernels.h"

#include "ir/index_map.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {
namespace {

constexpr unsigned kThreads = 256;

// The value whose index space an output is stored over: an update's is its new element's.
Value carrierOf(Value output) {
  return kind(output.node->op) == OpKind::update ? output.node->operands[1] : output;
}

} // namespace

llvm::Expected<Kernel> emitMapKernel(const KernelContext &context, const Group &group) {
  KernelBuilder kernel(context, group);
  // Every output has the same number of elements; each is stored in the order of its own shape.
  // Inputs without a dim to run along, such as positions of updates, bound no access.
  llvm::SmallVector<Value, 8> touched(group.outputs.begin(), group.outputs.end());
  llvm::copy_if(group.inputs, std::back_inserter(touched), [](Value input) {
    return input.type().rank() > 0 && !(input.type().dims.back() == 1);
  });
  unsigned width = 16;
  for (Value output : group.outputs) {
    Value carrier = carrierOf(output);
    std::vector<IndexExpr> extents = extentsOf(kernel, carrier);
    width = std::min(width, extents.empty() ? 1 : chunkWidth(touched, extents.back()));
  }
  SizeExpr elements = elementCount(carrierOf(group.outputs.front()).type().dims);
  SizeExpr chunks = ceilDiv(elements, SizeExpr(width));

  Emitter &text = kernel.body();
  text.line("const {0} chunk = {0}(blockIndex()) * {1} + threadIndex();", kernel.indexType(),
            kThreads);
  text.line("if (chunk >= {0})", kernel.size(chunks).str());
  text.line("  return;");
  Evaluator evaluator(kernel);
  evaluator.beginLanes(width);
  IndexExpr position =
      IndexExpr::variable("chunk", chunks.constant()) * IndexExpr(width) + evaluator.laneVariable();
  for (Value output : group.outputs)
    evaluator.evaluateAndStore(output, delinearize(position, extentsOf(kernel, carrierOf(output))));
  evaluator.endLanes();
  return kernel.finish({ceilDiv(chunks, SizeExpr(kThreads)), SizeExpr(1), SizeExpr(1)}, kThreads,
                       0);
}

} // namespace warploom
