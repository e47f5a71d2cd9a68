#include "codegen/matmul_kernel.h"

#include "codegen/group_kernels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>

namespace warploom {
namespace {

std::string text(MatmulLayout layout) {
  switch (layout) {
  case MatmulLayout::depthContiguous:
    return "Layout::depthContiguous";
  case MatmulLayout::outerContiguous:
    return "Layout::outerContiguous";
  case MatmulLayout::strided:
    return "Layout::strided";
  }
  llvm_unreachable("all layouts are handled");
}

std::string shapeText(const MatmulPlan &plan) {
  const MatmulSchedule &schedule = plan.schedule;
  llvm::StringRef type = storageType(plan.problem.dtype);
  switch (schedule.body) {
  case MatmulBody::tile:
    return llvm::formatv("MatmulTileShape<{0}, {1}, {2}, {3}>", schedule.rows, schedule.columns,
                         schedule.warpRows, schedule.warpColumns);
  case MatmulBody::simt:
    return llvm::formatv("MatmulSimtShape<{0}, {1}, {2}>", type, schedule.rows, schedule.columns);
  case MatmulBody::skinny:
    return llvm::formatv("MatmulSkinnyShape<{0}, {1}, {2}, {3}, {4}>", type, schedule.rows,
                         schedule.columns, schedule.vector, schedule.threads);
  }
  llvm_unreachable("all bodies are handled");
}

// The layout that all right operands of a branch can be read in.
MatmulLayout commonLayout(const EpilogueBranch &branch, const MatmulExtent &extent,
                          bool &isAligned) {
  isAligned = true;
  std::optional<MatmulLayout> common;
  for (const Node *matmul : branch.matmuls) {
    MatmulExtent own = extent;
    own.columns = matmul->type().dims.back();
    MatrixOperand right = rightOperand(*matmul, own);
    isAligned &= right.aligned;
    if (common && *common != right.layout) {
      isAligned = false;
      return MatmulLayout::strided;
    }
    common = right.layout;
  }
  return *common;
}

// One run of a side: Run{data, outerStride, depthStride, first, end}.
std::string runText(KernelBuilder &kernel, const MatmulPlan &plan, const MatrixOperand &operand,
                    llvm::StringRef first, const SizeExpr &end) {
  IndexExpr offset = kernel.size(operand.offset);
  Index batch =
      delinearize(IndexExpr::variable("batch", elementCount(plan.extent.batch).constant()),
                  kernel.sizes(plan.extent.batch));
  for (const auto &[place, stride] : llvm::zip(batch, operand.batchStrides))
    offset = offset + place * kernel.size(stride);
  std::string data = kernel.reads(operand.base);
  if (offset.constant() != 0)
    data += " + " + offset.str();
  IndexExpr last = kernel.size(end);
  return llvm::formatv("{{{0}, {1}, {2}, {3}, {4}}", data, kernel.size(operand.outerStride).str(),
                       kernel.size(operand.depthStride).str(), first,
                       last.constant() ? last.str() : "static_cast<int>(" + last.str() + ")");
}

// The right side of a branch's tiles; the runs that fill it up to a power of two repeat the last.
std::string rightSide(KernelBuilder &kernel, const MatmulPlan &plan, unsigned branchIndex) {
  const EpilogueBranch &branch = plan.branches[branchIndex];
  const BranchTiles &tiles = plan.schedule.branches[branchIndex];
  std::vector<std::string> runs;
  for (const Node *matmul : branch.matmuls) {
    MatmulExtent own = plan.extent;
    own.columns = matmul->type().dims.back();
    MatrixOperand right = rightOperand(*matmul, own);
    for (unsigned half = 0; half < tiles.pairRuns; ++half)
      runs.push_back(runText(kernel, plan, right, half == 0 ? "columns.first" : "columns.second",
                             toSizeExpr(own.columns)));
  }
  runs.resize(tiles.runs, runs.back());
  return llvm::join(runs, ", ");
}

void emitBranch(KernelBuilder &kernel, const MatmulPlan &plan, unsigned branchIndex) {
  const BranchTiles &tiles = plan.schedule.branches[branchIndex];
  const MatmulSchedule &schedule = plan.schedule;
  Emitter &body = kernel.body();
  llvm::StringRef type = storageType(plan.problem.dtype);
  if (tiles.pairRuns == 2)
    body.line("TileColumns columns = TileColumns::ofPair(tile, {0}, {1}, {2});", tiles.tilesPerSpan,
              tiles.step, tiles.width);
  else
    body.line("TileColumns columns = TileColumns::ofRun(tile, {0}, {1});", tiles.step, tiles.width);
  body.line("Side<{0}, {1}, {2}> right{{{{{3}}};", type, tiles.runs, tiles.width,
            rightSide(kernel, plan, branchIndex));
  std::string right = text(plan.problem.branches[branchIndex].right);
  std::string depth = kernel.size(plan.extent.depth).str();
  if (schedule.body == MatmulBody::skinny)
    body.line("auto sums = matmulSkinny<Shape, {0}>(threads, sharedMemory(), staged, {1}, right, "
              "{2}, BlockSync{{});",
              right, schedule.stagedPitch, depth);
  else
    body.line("auto sums = {0}<Shape, {1}, {2}>(threads, sharedMemory(), left, right, {3}, "
              "BlockSync{{});",
              schedule.body == MatmulBody::tile ? "matmulTile" : "matmulSimt",
              text(plan.problem.left), right, depth);
  emitEpilogue(kernel, plan, branchIndex);
}

// One branch of the kernel for each range of tiles.
void emitBranches(KernelBuilder &kernel, const MatmulPlan &plan) {
  Emitter &body = kernel.body();
  SizeExpr start = 0;
  for (unsigned index = 0; index < plan.branches.size(); ++index) {
    SizeExpr end = start + plan.schedule.branches[index].tiles;
    bool isLast = index + 1 == plan.branches.size();
    std::string head = index == 0 ? "" : isLast ? "else" : "else ";
    if (!isLast)
      head += llvm::formatv("if (blockIndex() < {0})", kernel.size(end).str()).str();
    auto emit = [&] {
      IndexExpr first = kernel.size(start);
      std::string less = first.constant() == 0 ? "" : " - " + first.factor();
      body.line("int tile = blockIndex(){0};", less);
      emitBranch(kernel, plan, index);
    };
    if (head.empty()) {
      emit();
    } else {
      auto block = body.block("{0}", head);
      emit();
    }
    start = end;
  }
}

const char *headerOf(MatmulBody body) {
  switch (body) {
  case MatmulBody::tile:
    return "kernels/matmul_tile.cuh";
  case MatmulBody::simt:
    return "kernels/matmul_simt.cuh";
  case MatmulBody::skinny:
    return "kernels/matmul_skinny.cuh";
  }
  llvm_unreachable("all bodies are handled");
}

void emitLeftSide(KernelBuilder &kernel, const MatmulPlan &plan) {
  Emitter &body = kernel.body();
  body.line("int firstRow = blockIndexY() * {0};", plan.schedule.rows);
  MatrixOperand left = leftOperand(*plan.matmul, plan.extent);
  body.line("Side<{0}, 1, {1}> left{{{{{2}}};", storageType(plan.problem.dtype), plan.schedule.rows,
            runText(kernel, plan, left, "firstRow", plan.problem.rows));
}

} // namespace

llvm::Expected<MatmulPlan> planMatmul(const Group &group, const Target &target) {
  MatmulPlan plan;
  plan.matmul = group.anchors.front();
  Value under = storedValue(plan.matmul->operands[0]);
  plan.leftIsComputed = under.node->group == group.number || kind(under.node->op) == OpKind::source;
  plan.extent = extentOf(*plan.matmul, plan.leftIsComputed);
  plan.branches = epilogueBranches(group);
  MatmulProblem &problem = plan.problem;
  problem.op = plan.matmul->results[0].name + " = matmul";
  problem.dtype = plan.matmul->type().dtype;
  problem.rows = elementCount(plan.extent.rows);
  problem.depth = toSizeExpr(plan.extent.depth);
  problem.batches = elementCount(plan.extent.batch);
  problem.hasPrologue = plan.leftIsComputed;
  if (!plan.leftIsComputed) {
    MatrixOperand left = leftOperand(*plan.matmul, plan.extent);
    problem.left = left.layout;
    problem.leftAligned = left.aligned;
  }
  for (const EpilogueBranch &branch : plan.branches) {
    MatmulBranch described;
    described.columns = toSizeExpr(branch.matmuls[0]->type().dims.back());
    described.matmuls = branch.matmuls.size();
    described.right = commonLayout(branch, plan.extent, described.aligned);
    described.pairSpan = branch.pairSpan;
    problem.branches.push_back(described);
  }
  llvm::Expected<MatmulSchedule> schedule = scheduleMatmul(problem, target);
  if (!schedule)
    return schedule.takeError();
  plan.schedule = *schedule;
  return plan;
}

llvm::Expected<Kernel> emitMatmulKernel(const KernelContext &context, const Group &group) {
  llvm::Expected<MatmulPlan> planned = planMatmul(group, context.target);
  if (!planned)
    return planned.takeError();
  const MatmulPlan &plan = *planned;
  const MatmulSchedule &schedule = plan.schedule;
  KernelBuilder kernel(context, group);
  kernel.include(headerOf(schedule.body));
  Emitter &body = kernel.body();
  body.line("using Shape = {0};", shapeText(plan));
  body.line("Threads threads{{threadIndex(), {0}};", schedule.threads);
  if (!plan.extent.batch.empty())
    body.line("{0} batch = blockIndexZ();", kernel.indexType());
  uint64_t sharedBytes = schedule.sharedBytes;
  if (schedule.body == MatmulBody::skinny) {
    if (schedule.rows > 1)
      body.line("constexpr int firstRow = 0;");
    sharedBytes += emitStagedRows(kernel, plan);
  } else {
    emitLeftSide(kernel, plan);
  }
  emitBranches(kernel, plan);
  return kernel.finish({schedule.columnTiles, schedule.rowTiles, plan.problem.batches},
                       schedule.threads, sharedBytes);
}

} // namespace warploom
