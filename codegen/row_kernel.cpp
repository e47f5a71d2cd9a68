#include "codegen/group_kernels.h"
#include "codegen/row_phases.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {

// Of a block; each then has 128 registers, where more threads would have 64 and spill.
constexpr unsigned kMostThreads = 512;

llvm::Expected<Kernel> emitRowKernel(const KernelContext &context, const Group &group) {
  KernelBuilder kernel(context, group);
  llvm::SmallVector<const Node *, 8> nodes(group.nodes.begin(), group.nodes.end());
  RowShape shape = rowShape(nodes);
  llvm::SmallVector<Value, 8> values(group.inputs);
  values.append(group.outputs.begin(), group.outputs.end());
  RowSchedule schedule =
      scheduleRow(shape, values, std::min(kMostThreads, context.target.maxThreadsPerBlock),
                  context.target.multiprocessors, /*mayCut=*/true);
  SizeExpr rows = shape.rows();

  Emitter &text = kernel.body();
  llvm::StringRef type = kernel.indexType();
  text.line("const Threads threads = {{threadIndex(), {0}};", schedule.blockThreads());
  text.line("const BlockSync sync;");
  text.line("char *scratch = sharedMemory();");
  IndexExpr count = kernel.size(rows);
  if (schedule.rowsPerBlock == 1) {
    text.line("const int thread = threads.index;");
    text.line("const {0} row = blockIndex();", type);
  } else {
    // Rows past the end repeat the last one, since a shuffle needs every lane.
    text.line("const int thread = threads.index % {0};", schedule.threadsPerRow);
    text.line("const {0} own_row = {0}(blockIndex()) * {1} + threads.index / {2};", type,
              schedule.rowsPerBlock, schedule.threadsPerRow);
    text.line("const {0} row = own_row < {1} ? own_row : {2};", type, count.str(),
              (count - IndexExpr(1)).str());
  }

  std::vector<RowUse> uses;
  for (Value output : group.outputs)
    uses.push_back(
        {output, [output](Evaluator &evaluator, const Index &index, const std::string &expression,
                          const IndexExpr &) { evaluator.storeAt(output, index, expression); }});
  emitRowPhases(kernel, nodes, schedule, shape, IndexExpr::variable("row", rows.constant()), uses);
  return kernel.finish({ceilDiv(rows, SizeExpr(schedule.rowsPerBlock)), SizeExpr(1), SizeExpr(1)},
                       schedule.blockThreads(), schedule.sharedBytes());
}

} // namespace warploom
