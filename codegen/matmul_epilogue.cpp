#include "codegen/matmul_kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cassert>
#include <numeric>

namespace warploom {
namespace {

// Stored values that the epilogue of a branch reads or writes, which bound the chunk width.
void collectStored(Value value, const Group &group, llvm::SmallSetVector<Value, 8> &stored) {
  Value under = storedValue(value);
  if (under.node->group != group.number) {
    if (kind(under.node->op) != OpKind::source)
      stored.insert(under);
    return;
  }
  if (under.node->op == Op::matmul)
    return;
  for (Value operand : under.node->operands)
    collectStored(operand, group, stored);
}

// The largest chunk of columns that lies within one run of every tile, within the matrix, and on
// one side of every bound of a slice on the way to an output.
unsigned widthOfChunk(const Group &group, const EpilogueBranch &branch, const BranchTiles &tiles,
                      const IndexExpr &columns) {
  llvm::SmallSetVector<Value, 8> stored;
  int64_t common = std::gcd(int64_t(tiles.width), tiles.step);
  if (tiles.pairRuns == 2)
    common = std::gcd(common, tiles.step / 2);
  for (const EpilogueOutput &output : branch.outputs) {
    stored.insert(output.value);
    collectStored(output.value, group, stored);
    for (const Node *node : output.path) {
      // An update moves its elements by a position that is known on the device only.
      if (kind(node->op) == OpKind::update)
        continue;
      common = std::gcd(
          common, node->type().dims.back().isConstant() ? node->type().dims.back().constant() : 1);
      if (node->op == Op::slice) {
        common = std::gcd(common, node->attributes.integers("starts").back());
        Integers steps = node->attributes.integers("steps");
        if (!steps.empty() && steps.back() != 1)
          common = 1;
      }
    }
  }
  std::vector<Value> values(stored.begin(), stored.end());
  unsigned width = chunkWidth(values, columns);
  while (common % width != 0)
    width /= 2;
  return width;
}

llvm::SmallVector<const Node *, 8> constPath(const EpilogueOutput &output) {
  return {output.path.begin(), output.path.end()};
}

// Reads of a matmul's result go to its accumulators, in the row at hand.
void provideSums(Evaluator &evaluator, const EpilogueBranch &branch, const BranchTiles &tiles) {
  for (const auto &[position, matmul] : llvm::enumerate(branch.matmuls)) {
    unsigned start = position * tiles.pairRuns * tiles.width;
    evaluator.provide(matmul->result(), [start](const Index &index) -> std::string {
      std::string place = llvm::formatv("columns.place({0})", index.back().str());
      if (start != 0)
        place += llvm::formatv(" + {0}", start).str();
      return llvm::formatv("sums.at(localRow, {0})", place);
    });
  }
}

} // namespace

Index leadingIndex(KernelBuilder &kernel, const MatmulPlan &plan) {
  Index index;
  auto append = [&](const char *variable, llvm::ArrayRef<Dim> dims) {
    std::optional<int64_t> extent = elementCount(dims).constant();
    llvm::append_range(index,
                       delinearize(IndexExpr::variable(variable, extent), kernel.sizes(dims)));
  };
  append("batch", plan.extent.batch);
  append("row", plan.extent.rows);
  return index;
}

void emitEpilogue(KernelBuilder &kernel, const MatmulPlan &plan, unsigned branchIndex) {
  const EpilogueBranch &branch = plan.branches[branchIndex];
  const BranchTiles &tiles = plan.schedule.branches[branchIndex];
  Emitter &body = kernel.body();
  IndexExpr columnCount = kernel.size(branch.matmuls[0]->type().dims.back());
  IndexExpr rowCount = kernel.size(elementCount(plan.extent.rows));
  unsigned width = widthOfChunk(kernel.group(), branch, tiles, columnCount);
  int64_t rowChunks = tiles.pairRuns * tiles.width / width;

  auto loop = body.block("for (int item = threads.index; item < {0}; item += threads.count)",
                         plan.schedule.rows * rowChunks);
  body.line("int place = item % {0} * {1};", rowChunks, width);
  body.line("int localRow = item / {0};", rowChunks);
  body.line("{0} row = firstRow + localRow;", kernel.indexType());
  body.line("{0} column = columns.column(place);", kernel.indexType());
  auto guard = body.block("if (row < {0} && columns.has(place) && column < {1})", rowCount.factor(),
                          columnCount.factor());

  auto anchorIndex = [&](const IndexExpr &column) {
    Index index = leadingIndex(kernel, plan);
    index.push_back(column);
    return index;
  };
  IndexExpr column = IndexExpr::variable("column", columnCount.constant(), width);
  auto emitOutputs = [&](llvm::ArrayRef<const EpilogueOutput *> outputs) {
    Evaluator evaluator(kernel);
    provideSums(evaluator, branch, tiles);
    evaluator.beginLanes(width);
    for (const EpilogueOutput *output : outputs) {
      Index index = anchorIndex(column + evaluator.laneVariable());
      evaluator.evaluateAndStore(output->value,
                                 forwardIndex(kernel, constPath(*output), index).index);
    }
    evaluator.endLanes();
  };
  // Outputs under one condition share what they compute; others may not even read their operands.
  llvm::SmallVector<std::pair<std::string, llvm::SmallVector<const EpilogueOutput *, 2>>, 2> sets;
  for (const EpilogueOutput &output : branch.outputs) {
    std::string condition = forwardIndex(kernel, constPath(output), anchorIndex(column)).guard;
    auto set = llvm::find_if(sets, [&](const auto &other) { return other.first == condition; });
    if (set == sets.end())
      set = sets.insert(sets.end(), {condition, {}});
    set->second.push_back(&output);
  }
  for (const auto &[condition, outputs] : sets) {
    if (condition.empty()) {
      emitOutputs(outputs);
      continue;
    }
    auto inside = body.block("if ({0})", condition);
    emitOutputs(outputs);
  }
}

} // namespace warploom
