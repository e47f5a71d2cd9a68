#include "codegen/matmul_kernel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

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
      // One look-up for all lanes where they lie side by side, as they then do in the tile.
      std::optional<IndexExpr> step = index.back().coefficientOf("lane");
      bool sideBySide = step && step->constant() == 1;
      IndexExpr column = sideBySide ? index.back().without("lane") : index.back();
      std::string place = llvm::formatv("columns.place({0})", column.str());
      if (start != 0)
        place += llvm::formatv(" + {0}", start).str();
      if (sideBySide)
        place += " + lane";
      return llvm::formatv("sums.at(localRow, {0})", place);
    });
  }
}

// The condition under which a chunk lies in the matrix and belongs to the tile; empty if all do.
std::string insideMatrix(const IndexExpr &rows, unsigned tileRows, const IndexExpr &chunks,
                         const BranchTiles &tiles, unsigned width) {
  llvm::SmallVector<std::string, 3> conditions;
  if (!rows.isMultipleOf(tileRows))
    conditions.push_back(llvm::formatv("row < {0}", rows.factor()));
  int64_t own = tiles.pairRuns == 2 ? tiles.step / 2 : tiles.step;
  if (own % tiles.width != 0)
    conditions.push_back("columns.has(place)");
  if (!(chunks * IndexExpr(width)).isMultipleOf(tiles.step))
    conditions.push_back(llvm::formatv("chunk < {0}", chunks.factor()));
  return llvm::join(conditions, " && ");
}

// Stores the outputs of a branch at the chunk of columns and the row at hand.
void emitOutputs(KernelBuilder &kernel, const MatmulPlan &plan, unsigned branchIndex,
                 unsigned width) {
  const EpilogueBranch &branch = plan.branches[branchIndex];
  const BranchTiles &tiles = plan.schedule.branches[branchIndex];
  auto anchorIndex = [&](const IndexExpr &column) {
    Index index = leadingIndex(kernel, plan);
    index.push_back(column);
    return index;
  };
  IndexExpr columnCount = kernel.size(branch.matmuls[0]->type().dims.back());
  IndexExpr chunkCount = floorDiv(columnCount, IndexExpr(width));
  IndexExpr column = IndexExpr::variable("chunk", chunkCount.constant()) * IndexExpr(width);
  auto emitSet = [&](llvm::ArrayRef<const EpilogueOutput *> outputs) {
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
      emitSet(outputs);
      continue;
    }
    auto inside = kernel.body().block("if ({0})", condition);
    emitSet(outputs);
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
  // Whole chunks: the width divides a known number of columns, and is 1 for an unknown one.
  IndexExpr chunkCount = floorDiv(columnCount, IndexExpr(width));
  int64_t rowChunks = tiles.pairRuns * tiles.width / width;

  auto loop = body.block("for (int item = threads.index; item < {0}; item += threads.count)",
                         plan.schedule.rows * rowChunks);
  IndexExpr item = IndexExpr::variable("item", plan.schedule.rows * rowChunks);
  body.line("int place = {0};", (mod(item, IndexExpr(rowChunks)) * IndexExpr(width)).str());
  body.line("int localRow = {0};", floorDiv(item, IndexExpr(rowChunks)).str());
  if (rowCount.constant() != 1 || plan.schedule.rows > 1)
    body.line("{0} row = firstRow + localRow;", kernel.indexType());
  body.line("{0} chunk = columns.column(place){1};", kernel.indexType(),
            width == 1 ? "" : " / " + std::to_string(width));
  std::string condition = insideMatrix(rowCount, plan.schedule.rows, chunkCount, tiles, width);
  if (condition.empty()) {
    emitOutputs(kernel, plan, branchIndex, width);
    return;
  }
  auto guard = body.block("if ({0})", condition);
  emitOutputs(kernel, plan, branchIndex, width);
}

} // namespace warploom
