#include "codegen/row_phases.h"

#include "ir/index_map.h"
#include "ir/shape_rules.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace warploom {
namespace {

llvm::StringRef combineOf(Op op) {
  switch (op) {
  case Op::reduce_sum:
  case Op::reduce_mean:
    return "SumOf";
  case Op::reduce_prod:
    return "ProductOf";
  case Op::reduce_max:
    return "MaximumOf";
  case Op::reduce_min:
    return "MinimumOf";
  default:
    llvm_unreachable("reduce_var is opened before");
  }
}

// Reductions in the order of what they depend on: those of one level need only earlier levels.
std::vector<std::vector<const Node *>> reductionLevels(llvm::ArrayRef<const Node *> nodes) {
  llvm::DenseMap<const Node *, unsigned> level; // reductions behind a node
  std::vector<std::vector<const Node *>> levels;
  for (const Node *node : nodes) {
    unsigned behind = 0;
    for (Value operand : node->operands)
      behind = std::max(behind, level.lookup(storedValue(operand).node));
    if (isReduction(node->op)) {
      levels.resize(std::max<size_t>(levels.size(), behind + 1));
      levels[behind].push_back(node);
      ++behind;
    }
    level[node] = behind;
  }
  return levels;
}

class PhaseEmitter {
public:
  PhaseEmitter(KernelBuilder &kernel, const RowSchedule &schedule, const RowShape &shape,
               const IndexExpr &row)
      : kernel_(kernel), schedule_(schedule), shape_(shape), row_(row), evaluator_(kernel),
        columns_(kernel.size(shape.columns())) {
    kernel.include("kernels/row.cuh");
    if (schedule.isHeld)
      evaluator_.hold([this](Value stored, const IndexExpr &address, unsigned width) {
        return held(stored, address, width);
      });
  }

  void emit(llvm::ArrayRef<const Node *> nodes, llvm::ArrayRef<RowUse> uses) {
    auto levels = reductionLevels(nodes);
    phases_ = levels.size() + 1;
    kernel_.openBody();
    if (schedule_.isCut)
      kernel_.body().line("const int shift = {0};", mod(row_ * columns_, schedule_.width).str());
    for (const std::vector<const Node *> &level : levels)
      emitReductions(level);
    emitUses(uses);
    std::unique_ptr<Emitter> phases = kernel_.closeBody();
    for (const std::string &declaration : holderDeclarations_)
      kernel_.body().line("{0}", declaration);
    kernel_.body().splice(*phases);
  }

private:
  // The full-shape index of the element `column` of the row.
  Index indexAt(const IndexExpr &column) {
    Dims outer, inner;
    for (const auto &[axis, dim] : llvm::enumerate(shape_.dims))
      (llvm::is_contained(shape_.axes, axis) ? inner : outer).push_back(dim);
    Index rows = delinearize(row_, kernel_.sizes(outer));
    Index columns = delinearize(column, kernel_.sizes(inner));
    Index index;
    unsigned nextRow = 0, nextColumn = 0;
    for (unsigned axis = 0; axis < shape_.dims.size(); ++axis)
      index.push_back(llvm::is_contained(shape_.axes, axis) ? columns[nextColumn++]
                                                            : rows[nextRow++]);
    return index;
  }

  // Loops over the thread's chunks; `body` gets the full-shape index and the chunk's first column.
  void forChunks(llvm::function_ref<void(const Index &, const IndexExpr &)> body) {
    Emitter &text = kernel_.body();
    unsigned width = schedule_.width, step = schedule_.threadsPerRow * width;
    IndexExpr variable =
        IndexExpr::variable("column", columns_.constant(), schedule_.isCut ? 1 : width);
    auto chunk = [&](llvm::StringRef knownWhole) {
      if (schedule_.isCut)
        text.line("const bool is_whole = {0}isWholeChunk<{1}>(column, {2});", knownWhole, width,
                  columns_.str());
      evaluator_.beginLanes(width, cutAt(variable));
      body(indexAt(variable + evaluator_.laneVariable()), variable);
      evaluator_.endLanes();
    };
    std::string start = width == 1 ? "thread" : llvm::formatv("thread * {0}", width).str();
    std::string shift = schedule_.isCut ? " - shift" : "";
    if (!schedule_.isHeld) {
      auto loop = text.block("for ({0} column = {1}{2}; column < {3}; column += {4})",
                             kernel_.indexType(), start, shift, columns_.str(), step);
      chunk("");
      return;
    }
    // Before this item every thread's chunk lies inside, but for the cut first one.
    int64_t fullItems = *columns_.constant() / step;
    bool isExact = !schedule_.isCut && *columns_.constant() > 0 && fullItems == schedule_.items;
    text.line("#pragma unroll");
    auto loop = text.block("for (int item = 0; item < {0}; ++item)", schedule_.items);
    text.line("const int column = {0} + item * {1}{2};", start, step, shift);
    if (isExact) {
      chunk("");
      return;
    }
    std::string known =
        fullItems > 0 ? llvm::formatv("item < {0} || ", fullItems).str() : std::string();
    auto inside = text.block("if ({0}column < {1})", known, columns_.str());
    chunk(fullItems > 1 ? llvm::formatv("(item > 0 && item < {0}) || ", fullItems).str() : "");
  }

  // How the chunk at `column` is cut, if rows are.
  std::optional<CutChunk> cutAt(const IndexExpr &column) {
    if (!schedule_.isCut)
      return std::nullopt;
    return CutChunk{column.str(), columns_.str(), "is_whole",
                    linearize(indexAt(column), kernel_.sizes(shape_.dims))};
  }

  void emitReductions(const std::vector<const Node *> &level) {
    Emitter &text = kernel_.body();
    std::vector<std::string> partials;
    for (const Node *node : level) {
      llvm::StringRef type = computeType(node->type().dtype);
      partials.push_back(text.name(node->results[0].name + "_partial"));
      text.line("{0} {1} = {2}::identity<{0}>();", type, partials.back(), combineOf(node->op));
    }
    forChunks([&](const Index &index, const IndexExpr &) {
      for (const auto &[node, partial] : llvm::zip(level, partials)) {
        std::string value = evaluator_.evaluate(node->operands[0], index);
        // Scaled before it is added, so that the mean of large numbers does not overflow.
        if (node->op == Op::reduce_mean)
          value = llvm::formatv("{0} * {1}", value, reciprocal(*node)).str();
        evaluator_.lanes().line("{0} = {1}::combine({0}, {2});", partial, combineOf(node->op),
                                value);
      }
    });
    for (const auto &[node, partial] : llvm::zip(level, partials)) {
      llvm::StringRef type = computeType(node->type().dtype);
      std::string name = text.name(node->results[0].name);
      std::string area = llvm::formatv("scratch + {0}", reductions_++ % 2 * 32 * 8).str();
      text.line("const {0} {1} = reduceRow<{2}, {3}>({4}, threads, "
                "reinterpret_cast<{0} *>({5}), sync){6};",
                type, name, combineOf(node->op), schedule_.threadsPerRow, partial, area,
                node->op == Op::reduce_mean ? nanIfEmpty(*node) : "");
      evaluator_.provide({const_cast<Node *>(node), 0}, [name](const Index &) { return name; });
    }
    ++phase_;
  }

  // 1 / columns in the compute type.
  std::string reciprocal(const Node &mean) {
    llvm::StringRef type = computeType(mean.type().dtype);
    std::string one = type == "double" ? "1.0" : "1.0f";
    if (std::optional<int64_t> columns = columns_.constant())
      return llvm::formatv("({0} / {1})", one, *columns).str();
    return llvm::formatv("({0} / {1}({2}))", one, type, columns_.str()).str();
  }

  // What makes the mean of an empty row NaN: 0 times infinity.
  std::string nanIfEmpty(const Node &mean) {
    if (std::optional<int64_t> columns = columns_.constant(); columns && *columns > 0)
      return "";
    return " + 0 * " + reciprocal(mean);
  }

  void emitUses(llvm::ArrayRef<RowUse> uses) {
    Dims reduced = shape_.dims;
    for (unsigned axis : shape_.axes)
      reduced[axis] = 1;
    bool hasFull = false;
    for (const RowUse &use : uses) {
      if (use.value.type().dims == shape_.dims) {
        hasFull = true;
        continue;
      }
      // One value for the row: its first thread uses it.
      auto lead = kernel_.body().block("if (thread == 0)");
      evaluator_.beginLanes(1);
      Index index = indexAt(0);
      use.emit(evaluator_, index, evaluator_.evaluate(use.value, index), 0);
      evaluator_.endLanes();
    }
    if (!hasFull)
      return;
    forChunks([&](const Index &index, const IndexExpr &column) {
      for (const RowUse &use : uses)
        if (use.value.type().dims == shape_.dims)
          use.emit(evaluator_, index, evaluator_.evaluate(use.value, index), column);
    });
  }

  // Vectors of the row are loaded in the first phase and stay in registers for the later ones. What
  // does not vary from row to row, such as a gain, is used in one phase and loaded there.
  std::string held(Value stored, const IndexExpr &address, unsigned width) {
    if (phases_ < 2 || stored.type().dims != shape_.dims)
      return "";
    std::string pointer = kernel_.reads(stored);
    // One value may be read at several places of a row, through views.
    std::string key = elementAt(pointer, address);
    auto [entry, isNew] = holders_.try_emplace(key);
    if (isNew) {
      if (phase_ > 0) {
        holders_.erase(key);
        return "";
      }
      entry->second = kernel_.names().fresh(stored.name() + "_held");
      holderDeclarations_.push_back(llvm::formatv("Vec<{0}, {1}> {2}[{3}];",
                                                  storageType(stored.type().dtype), width,
                                                  entry->second, schedule_.items)
                                        .str());
    }
    if (phase_ == 0)
      evaluator_.beforeLanes().line("{0}[item] = {1};", entry->second, evaluator_.chunkLoad(key));
    return entry->second + "[item]";
  }

  KernelBuilder &kernel_;
  const RowSchedule &schedule_;
  const RowShape &shape_;
  IndexExpr row_;
  Evaluator evaluator_;
  IndexExpr columns_;
  unsigned phase_ = 0, phases_ = 1, reductions_ = 0;
  llvm::StringMap<std::string> holders_;
  std::vector<std::string> holderDeclarations_;
};

} // namespace

SizeExpr RowShape::rows() const {
  SizeExpr count = 1;
  for (const auto &[axis, dim] : llvm::enumerate(dims))
    if (!llvm::is_contained(axes, axis))
      count = count * toSizeExpr(dim);
  return count;
}

SizeExpr RowShape::columns() const {
  SizeExpr count = 1;
  for (unsigned axis : axes)
    count = count * toSizeExpr(dims[axis]);
  return count;
}

RowShape rowShape(llvm::ArrayRef<const Node *> nodes) {
  const Node *reduction =
      *llvm::find_if(nodes, [](const Node *node) { return isReduction(node->op); });
  return {reduction->operands[0].type().dims, reducedAxes(*reduction)};
}

// Whether an aligned chunk of a row is aligned in every value of the full shape: they lie in
// memory alike, without gaps.
static bool canCut(const RowShape &shape, llvm::ArrayRef<Value> full) {
  return shape.axes.size() == 1 && shape.axes[0] + 1 == shape.dims.size() && !full.empty() &&
         llvm::all_of(full, [](Value value) { return value.type().isContiguous(); });
}

RowSchedule scheduleRow(const RowShape &shape, llvm::ArrayRef<Value> values, unsigned maxThreads,
                        unsigned multiprocessors, bool mayCut) {
  RowSchedule schedule;
  std::optional<int64_t> columns = shape.columns().constant();
  unsigned rank = shape.dims.size();
  bool isInnermost = !shape.axes.empty() && shape.axes.back() + 1 == rank;
  llvm::SmallVector<Value, 8> full;
  unsigned heldBytes = 0;
  for (Value value : values)
    if (value.type().dims == shape.dims) {
      full.push_back(value);
      heldBytes += byteSize(value.type().dtype);
    }
  if (isInnermost && shape.dims.back().isConstant())
    schedule.width = chunkWidth(full, IndexExpr(shape.dims.back().constant()));
  if (mayCut && columns && canCut(shape, full)) {
    unsigned widest = chunkWidth(full, IndexExpr(16));
    schedule.isCut = schedule.width < widest && *columns >= 4 * widest;
    if (schedule.isCut)
      schedule.width = widest;
  }
  if (!columns) {
    schedule.threadsPerRow = std::min(256u, maxThreads);
    schedule.isHeld = false;
    return schedule;
  }
  int64_t chunks = std::max<int64_t>(
      1, llvm::divideCeil(*columns + (schedule.isCut ? schedule.width - 1 : 0), schedule.width));
  // About four chunks in flight per thread hide the memory's latency; where the rows do not fill
  // the GPU, more threads do.
  std::optional<int64_t> rows = shape.rows().constant();
  unsigned inFlight = rows && *rows <= multiprocessors ? 1 : 4;
  uint64_t wanted = llvm::PowerOf2Ceil(llvm::divideCeil(chunks, inFlight));
  schedule.threadsPerRow = std::clamp<uint64_t>(wanted, 1, maxThreads);
  if (schedule.threadsPerRow <= 32)
    schedule.rowsPerBlock = std::max(1u, std::min(128u, maxThreads) / schedule.threadsPerRow);
  schedule.items = llvm::divideCeil(chunks, schedule.threadsPerRow);
  // Bytes of registers that may hold the row.
  constexpr unsigned budget = 256;
  schedule.isHeld =
      schedule.items <= 16 && schedule.items * schedule.width * std::max(heldBytes, 2u) <= budget;
  return schedule;
}

void emitRowPhases(KernelBuilder &kernel, llvm::ArrayRef<const Node *> nodes,
                   const RowSchedule &schedule, const RowShape &shape, const IndexExpr &row,
                   llvm::ArrayRef<RowUse> uses) {
  PhaseEmitter(kernel, schedule, shape, row).emit(nodes, uses);
}

} // namespace warploom
