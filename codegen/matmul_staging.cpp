#include "codegen/matmul_kernel.h"
#include "codegen/row_phases.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace warploom {
namespace {

// The group's nodes that the left operand is computed by, in node order, and the stored values
// they read.
struct Prologue {
  llvm::SmallSetVector<const Node *, 8> reached;
  llvm::SmallSetVector<Value, 8> stored;

  void collect(Value value, const Group &group) {
    Value under = storedValue(value);
    if (under.node->group != group.number) {
      if (kind(under.node->op) != OpKind::source)
        stored.insert(under);
    } else if (reached.insert(under.node)) {
      for (Value operand : under.node->operands)
        collect(operand, group);
    }
  }
  llvm::SmallVector<const Node *, 8> nodes(const Group &group) const {
    llvm::SmallVector<const Node *, 8> ordered;
    for (const Node *node : group.nodes)
      if (reached.contains(node))
        ordered.push_back(node);
    return ordered;
  }
  // Results of these nodes that the kernel also stores.
  llvm::SmallVector<Value, 2> outputs(const Group &group) const {
    llvm::SmallVector<Value, 2> found;
    for (Value output : group.outputs)
      if (reached.contains(output.node))
        found.push_back(output);
    return found;
  }
};

std::string stagedType(const MatmulPlan &plan) {
  DType dtype = plan.problem.dtype;
  return (plan.schedule.stagesCompute ? computeType(dtype) : storageType(dtype)).str();
}

void storeStaged(Emitter &lines, const MatmulPlan &plan, const std::string &expression,
                 const IndexExpr &row, const IndexExpr &column) {
  IndexExpr place = row * IndexExpr(plan.schedule.stagedPitch) + column;
  lines.line("store(staged + {0}, convert<{1}>({2}));", place.str(), stagedType(plan), expression);
}

IndexExpr rowVariable(const MatmulPlan &plan) {
  return IndexExpr::variable("row", plan.schedule.rows);
}

// Without reductions: every element by itself.
void stageElements(KernelBuilder &kernel, const MatmulPlan &plan, const Prologue &prologue) {
  IndexExpr depth = kernel.size(plan.extent.depth);
  std::vector<Value> values(prologue.stored.begin(), prologue.stored.end());
  llvm::append_range(values, prologue.outputs(kernel.group()));
  unsigned width = chunkWidth(values, depth);
  IndexExpr chunks = floorDiv(depth, IndexExpr(width));
  Emitter &body = kernel.body();
  auto loop = body.block("for (int item = threads.index; item < {0}; item += threads.count)",
                         (chunks * IndexExpr(plan.schedule.rows)).str());
  if (plan.schedule.rows > 1)
    body.line("int row = item / {0};", chunks.factor());
  body.line("int chunk = item % {0};", chunks.factor());
  Evaluator evaluator(kernel);
  evaluator.beginLanes(width);
  IndexExpr column =
      IndexExpr::variable("chunk", chunks.constant()) * IndexExpr(width) + evaluator.laneVariable();
  Value left = plan.matmul->operands[0];
  Index index = leadingIndex(kernel, plan);
  index.push_back(column);
  if (plan.matmul->attributes.boolean("transpose_a", false))
    std::swap(index[index.size() - 1], index[index.size() - 2]);
  index = broadcastIndex(index, left.type().dims);
  std::string expression = evaluator.evaluate(left, index);
  storeStaged(evaluator.lanes(), plan, expression, rowVariable(plan), column);
  for (Value output : prologue.outputs(kernel.group()))
    evaluator.evaluateAndStore(output, index, "blockIndex() == 0");
  evaluator.endLanes();
}

// With reductions along the rows: all threads share a row where there are fewer rows than warps,
// else each warp takes rows of its own.
unsigned stageRows(KernelBuilder &kernel, const MatmulPlan &plan, const Prologue &prologue) {
  llvm::SmallVector<const Node *, 8> nodes = prologue.nodes(kernel.group());
  RowShape shape = rowShape(nodes);
  std::vector<Value> values(prologue.stored.begin(), prologue.stored.end());
  unsigned threads = plan.schedule.threads;
  RowSchedule schedule = scheduleRow(shape, values, threads);
  bool sharesRow = plan.schedule.rows < threads / 32;
  schedule.threadsPerRow = sharesRow ? threads : 32;
  schedule.rowsPerBlock = threads / schedule.threadsPerRow;
  int64_t depth = *plan.problem.depth.constant();
  schedule.items = llvm::divideCeil(depth, int64_t(schedule.threadsPerRow) * schedule.width);
  // Registers for 32 held elements of a thread leave room for everything else.
  schedule.isHeld = schedule.isHeld && schedule.items * schedule.width <= 32;

  Emitter &body = kernel.body();
  body.line("char *scratch = sharedMemory() + {0};", plan.schedule.sharedBytes);
  body.line("BlockSync sync;");
  std::string loopHead =
      sharesRow ? llvm::formatv("for (int row = 0; row < {0}; ++row)", plan.schedule.rows).str()
                : llvm::formatv("for (int row = threads.index / 32; row < {0}; row += {1})",
                                plan.schedule.rows, threads / 32)
                      .str();
  auto loop = body.block("{0}", loopHead);
  body.line("int thread = threads.index{0};", sharesRow ? "" : " % 32");
  llvm::SmallVector<RowUse, 2> uses;
  uses.push_back(
      {plan.matmul->operands[0], [&](Evaluator &evaluator, const Index &,
                                     const std::string &expression, const IndexExpr &column) {
         storeStaged(evaluator.lanes(), plan, expression, rowVariable(plan),
                     column + evaluator.laneVariable());
       }});
  for (Value output : prologue.outputs(kernel.group()))
    uses.push_back({output, [output](Evaluator &evaluator, const Index &index,
                                     const std::string &expression, const IndexExpr &) {
                      evaluator.storeAt(output, index, expression, "blockIndex() == 0");
                    }});
  emitRowPhases(kernel, nodes, schedule, shape, rowVariable(plan), uses);
  if (sharesRow)
    body.line("syncBlock();");
  return schedule.sharedBytes();
}

} // namespace

unsigned emitStagedRows(KernelBuilder &kernel, const MatmulPlan &plan) {
  Prologue prologue;
  prologue.collect(plan.matmul->operands[0], kernel.group());
  Emitter &body = kernel.body();
  body.line("{0} *staged = reinterpret_cast<{0} *>(sharedMemory() + {1});", stagedType(plan),
            plan.schedule.bodyBytes);
  unsigned scratchBytes = 0;
  bool reduces =
      llvm::any_of(prologue.reached, [](const Node *node) { return isReduction(node->op); });
  if (reduces)
    scratchBytes = stageRows(kernel, plan, prologue);
  else
    stageElements(kernel, plan, prologue);
  body.line("syncBlock();");
  return scratchBytes;
}

} // namespace warploom
