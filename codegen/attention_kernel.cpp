#include "codegen/attention_schedule.h"
#include "codegen/evaluator.h"
#include "codegen/group_kernels.h"

#include "ir/index_map.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace warploom {
namespace {

// Whether a size is a multiple of `number` whatever its symbols are: it is a polynomial in them
// with integer coefficients, so a few values decide.
bool isMultiple(const SizeExpr &size, const Graph &graph, int64_t number) {
  for (int64_t value : {1, 2, 3}) {
    llvm::StringMap<int64_t> symbols;
    for (const std::string &symbol : graph.symbols())
      symbols[symbol] = value;
    llvm::Expected<int64_t> result = size.evaluate(symbols);
    if (!result) {
      llvm::consumeError(result.takeError());
      return false;
    }
    if (*result % number != 0)
      return false;
  }
  return true;
}

class AttentionEmitter {
public:
  AttentionEmitter(const KernelContext &context, const Group &group)
      : context_(context), group_(group), attention_(*group.anchors.front()),
        kernel_(context, group), evaluator_(kernel_), text_(kernel_.body()) {}

  llvm::Expected<Kernel> emit();

private:
  const TensorType &type() const { return attention_.type(); }
  llvm::StringRef compute() const { return computeType(type().dtype); }
  StridedView view(unsigned operand) { return *stridedView(attention_.operands[operand]); }
  bool isAligned();
  std::string headPointer(unsigned operand, const IndexExpr &head);
  void emitBlock(llvm::StringRef place);
  void emitVisibility();
  void emitMask();
  void emitTile();
  void emitRows();
  void emitEpilogue(unsigned rows);
  std::string scaleLiteral() const;

  const KernelContext &context_;
  const Group &group_;
  const Node &attention_;
  KernelBuilder kernel_;
  Evaluator evaluator_;
  Emitter &text_;
  AttentionProblem problem_;
  AttentionSchedule schedule_;
  IndexExpr batch_, query_ = IndexExpr::variable("query"), head_ = IndexExpr::variable("head");
};

bool AttentionEmitter::isAligned() {
  int64_t elements = 16 / byteSize(type().dtype);
  for (unsigned operand = 0; operand < 3; ++operand) {
    StridedView strided = view(operand);
    const Dims &dims = attention_.operands[operand].type().dims;
    if (!isMultiple(strided.offset, context_.graph, elements))
      return false;
    for (unsigned axis = 0; axis < 3; ++axis)
      if (!(dims[axis] == 1) && !isMultiple(strided.strides[axis], context_.graph, elements))
        return false;
  }
  return true;
}

// The first element of a head of q, k or v in this block's batch.
std::string AttentionEmitter::headPointer(unsigned operand, const IndexExpr &head) {
  StridedView strided = view(operand);
  IndexExpr address = kernel_.size(strided.offset) + batch_ * kernel_.size(strided.strides[0]) +
                      head * kernel_.size(strided.strides[1]);
  std::string pointer = kernel_.reads(strided.base);
  return address.constant() == 0 ? pointer : pointer + " + " + address.str();
}

std::string AttentionEmitter::scaleLiteral() const {
  double scale = attention_.attributes.real("scale", 1 / std::sqrt(double(problem_.headDim)));
  return llvm::formatv("{0}({1})", compute(), str(AttributeValue(scale))).str();
}

// Which batch this block works for, and its place among the blocks of that batch.
void AttentionEmitter::emitBlock(llvm::StringRef place) {
  llvm::StringRef index = kernel_.indexType();
  if (problem_.batch.constant() == 1) {
    text_.line("[[maybe_unused]] const {0} batch = 0;", index);
    text_.line("[[maybe_unused]] const int {0} = blockIndex();", place);
    return;
  }
  std::string count = kernel_.size(schedule_.blocksPerBatch).str();
  text_.line("[[maybe_unused]] const {0} batch = blockIndex() / {1};", index, count);
  text_.line("[[maybe_unused]] const int {0} = blockIndex() % {1};", place, count);
}

void AttentionEmitter::emitVisibility() {
  std::string keys = kernel_.size(problem_.keys).str();
  if (Value lengths = attention_.labelled("lengths")) {
    evaluator_.beginLanes(1);
    std::string length = evaluator_.evaluate(lengths, {batch_});
    evaluator_.endLanes();
    // A length outside of the cache counts as its nearest end.
    text_.line("const int valid = {0} < 0 ? 0 : {0} < {1} ? {0} : int({1});", length, keys);
  } else {
    text_.line("const int valid = {0};", keys);
  }
  text_.line("const Visibility visibility = {{int({0}), valid, {1}};",
             kernel_.size(problem_.queries).str(),
             attention_.attributes.boolean("causal", false) ? "true" : "false");
}

void AttentionEmitter::emitMask() {
  Value mask = attention_.labelled("mask");
  if (!mask) {
    text_.line("const NoMask mask;");
    return;
  }
  kernel_.openBody();
  evaluator_.beginLanes(1);
  Index scores = {batch_, head_, query_, IndexExpr::variable("key")};
  std::string element = evaluator_.evaluate(mask, broadcastIndex(scores, mask.type().dims));
  evaluator_.endLanes();
  std::unique_ptr<Emitter> lines = kernel_.closeBody();
  auto lambda = text_.lambda("const auto mask = [=](int head, int query, int key)");
  text_.splice(*lines);
  if (mask.type().dtype == DType::i1)
    text_.line("return {0} ? {1}(0) : lowest<{1}>();", element, compute());
  else
    text_.line("return {0}({1});", compute(), element);
}

void AttentionEmitter::emitTile() {
  llvm::StringRef storage = storageType(type().dtype);
  int64_t group = problem_.heads / problem_.kvHeads;
  kernel_.include("kernels/attention_tile.cuh");
  text_.line("using Shape = AttentionTileShape<{0}>;", problem_.headDim);
  emitBlock("tile");
  text_.line("const int first_query = tile * Shape::queries;");
  text_.line("const {0} head = blockIndexY();", kernel_.indexType());
  emitVisibility();
  emitMask();
  IndexExpr kvHead = group == 1 ? head_ : floorDiv(head_, IndexExpr(group));
  for (auto [name, operand, at] : {std::tuple("queries", 0u, head_), std::tuple("keys", 1u, kvHead),
                                   std::tuple("values", 2u, kvHead)})
    text_.line("const HeadRows<{0}> {1} = {{{2}, {3}};", storage, name, headPointer(operand, at),
               kernel_.size(view(operand).strides[2]).str());
  text_.line("const AttentionOutput<float> output = attentionTile<Shape>(threads, sharedMemory(), "
             "head, first_query, queries, keys, values, visibility, {0}, mask, BlockSync{{});",
             scaleLiteral());
  emitEpilogue(64);
}

// One block: a few rows (of one head, or of all heads that share a kv head), and some of the keys.
void AttentionEmitter::emitRows() {
  llvm::StringRef storage = storageType(type().dtype), index = kernel_.indexType();
  bool isShared = schedule_.body == AttentionBody::shared;
  int64_t group = problem_.heads / problem_.kvHeads;
  kernel_.include("kernels/attention_rows.cuh");
  text_.line("using Shape = AttentionRowsShape<{0}, {1}, {2}, {3}>;", storage, problem_.headDim,
             schedule_.rows, schedule_.vector);
  emitBlock(isShared ? "split" : "tile");
  if (schedule_.rowBlocks > 1)
    text_.line("const int row_block = blockIndexZ();");
  if (isShared)
    text_.line("const {0} kv_head = blockIndexY();", index);
  else
    text_.line("const {0} kv_head = blockIndexY() / {1};", index, group);
  emitVisibility();
  emitMask();
  IndexExpr kvHead = IndexExpr::variable("kv_head");
  for (auto [name, operand] : {std::pair("keys", 1u), std::pair("values", 2u)})
    text_.line("const HeadRows<{0}> {1} = {{{2}, {3}};", storage, name,
               headPointer(operand, kvHead), kernel_.size(view(operand).strides[2]).str());
  text_.line("struct Place {{ int head, query; const {0} *data; };", storage);
  std::string queries = kernel_.size(problem_.queries).str();
  std::string base = headPointer(0, head_);
  std::string step = kernel_.size(view(0).strides[2]).str();
  {
    auto lambda = text_.lambda("const auto place = [=](int row)");
    if (isShared) {
      int64_t rows = group * *problem_.queries.constant();
      if (schedule_.rowBlocks > 1)
        text_.line("row += row_block * {0};", schedule_.rows);
      text_.line("const {0} head = kv_head * {1} + row / {2};", index, group, queries);
      text_.line("const int query = row % {0};", queries);
      if (schedule_.rowBlocks * schedule_.rows == rows)
        text_.line("return Place{{int(head), query, {0} + query * {1}};", base, step);
      else
        text_.line("return Place{{int(head), query, row < {0} ? {1} + query * {2} : nullptr};",
                   rows, base, step);
    } else {
      text_.line("const {0} head = blockIndexY();", index);
      text_.line("const int query = tile * {0} + row;", schedule_.rows);
      text_.line("return Place{{int(head), query, query < {0} ? {1} + query * {2} : nullptr};",
                 queries, base, step);
    }
  }
  std::string scratch = "nullptr", counter = "nullptr";
  if (schedule_.splits > 1) {
    SizeExpr units = problem_.batch * SizeExpr(problem_.kvHeads * schedule_.rowBlocks);
    int64_t perUnit = schedule_.splits * schedule_.rows * (problem_.headDim + 2);
    SizeExpr elements = units * SizeExpr(perUnit);
    bool isDouble = type().dtype == DType::f64;
    std::string name = attention_.results[0].name;
    unsigned parts = context_.buffers.scratch(name + "_parts", isDouble ? "f64" : "f32", elements,
                                              elements * SizeExpr(isDouble ? 8 : 4));
    unsigned done = context_.buffers.scratch(name + "_done", "u32", units, units * SizeExpr(4),
                                             BufferKind::counter);
    std::string unit = llvm::formatv("(batch * {0} + kv_head)", problem_.kvHeads).str();
    if (schedule_.rowBlocks > 1)
      unit = llvm::formatv("({0} * {1} + row_block)", unit, schedule_.rowBlocks);
    scratch = llvm::formatv("{0} + {1} * {2}", kernel_.scratch(parts, compute()), unit, perUnit);
    counter = llvm::formatv("{0} + {1}", kernel_.scratch(done, "uint32_t"), unit);
    text_.line("const int share = (valid + {0}) / {1};", schedule_.splits - 1, schedule_.splits);
    text_.line("const int first = split * share < valid ? split * share : valid;");
    text_.line("const int last = first + share < valid ? first + share : valid;");
  } else {
    text_.line("const int first = 0;");
    if (isShared)
      text_.line("const int last = valid;");
    else
      text_.line("const int last = visibility.end(tile * {0} + {1});", schedule_.rows,
                 schedule_.rows - 1);
  }
  text_.line("AttentionOutput<{0}> output;", compute());
  text_.line(
      "const bool isResult = attentionRows<Shape>(threads, sharedMemory(), place, keys, values, "
      "first, last, visibility, {0}, mask, {1}, {2}, {3}, {4}, output, BlockSync{{});",
      scaleLiteral(), isShared ? "split" : "0", schedule_.splits,
      scratch == "nullptr" ? llvm::formatv("static_cast<{0} *>(nullptr)", compute()).str()
                           : scratch,
      counter == "nullptr" ? "static_cast<uint32_t *>(nullptr)" : counter);
  text_.line("if (!isResult)");
  text_.line("  return;");
  emitEpilogue(schedule_.rows);
}

void AttentionEmitter::emitEpilogue(unsigned rows) {
  Value result = const_cast<Node &>(attention_).result();
  unsigned width = chunkWidth(group_.outputs, IndexExpr(problem_.headDim));
  int64_t pieces = problem_.headDim / width;
  IndexExpr d = IndexExpr::variable("d", problem_.headDim, width);
  text_.line("#pragma unroll 1");
  auto loop = text_.block("for (int index = threads.index; index < {0}; index += threads.count)",
                          rows * pieces);
  text_.line("const int row = index / {0};", pieces);
  text_.line("const int d = index % {0} * {1};", pieces, width);
  std::string exists;
  if (schedule_.body == AttentionBody::tile) {
    text_.line("const {0} query = first_query + row;", kernel_.indexType());
    exists = llvm::formatv("query < {0}", kernel_.size(problem_.queries).str());
  } else {
    text_.line("const {0} head = place(row).head, query = place(row).query;", kernel_.indexType());
    exists = "place(row).data != nullptr";
  }
  auto inside = text_.block("if ({0})", exists);
  evaluator_.provide(result, [](const Index &index) {
    // Views that lose nothing lead back to the point itself, so the row is the loop's.
    return "output.at(row, " + index[3].str() + ")";
  });
  evaluator_.beginLanes(width);
  Index point = {batch_, head_, query_, d + evaluator_.laneVariable()};
  for (Value output : group_.outputs) {
    ForwardIndex forward = forwardIndex(kernel_, pathFrom(group_, result, output), point);
    evaluator_.evaluateAndStore(output, forward.index, forward.guard);
  }
  evaluator_.endLanes();
}

llvm::Expected<Kernel> AttentionEmitter::emit() {
  const Dims &q = attention_.operands[0].type().dims, &k = attention_.operands[1].type().dims;
  problem_.op = attention_.results[0].name + " = attention";
  problem_.dtype = type().dtype;
  problem_.batch = toSizeExpr(q[0]);
  problem_.queries = toSizeExpr(q[2]);
  problem_.keys = toSizeExpr(k[2]);
  problem_.heads = q[1].constant();
  problem_.kvHeads = k[1].constant();
  problem_.headDim = q[3].constant();
  problem_.aligned = isAligned();
  llvm::Expected<AttentionSchedule> schedule = scheduleAttention(problem_, context_.target);
  if (!schedule)
    return schedule.takeError();
  schedule_ = *schedule;
  batch_ = IndexExpr::variable("batch", problem_.batch.constant());
  query_ = IndexExpr::variable("query", problem_.queries.constant());
  head_ = IndexExpr::variable("head", problem_.heads);
  text_.line("const Threads threads = {{threadIndex(), {0}};", schedule_.threads);
  if (schedule_.body == AttentionBody::tile)
    emitTile();
  else
    emitRows();
  return kernel_.finish(
      {schedule_.blocksX, SizeExpr(schedule_.blocksY), SizeExpr(schedule_.blocksZ)},
      schedule_.threads, schedule_.sharedBytes);
}

} // namespace

llvm::Expected<Kernel> emitAttentionKernel(const KernelContext &context, const Group &group) {
  return AttentionEmitter(context, group).emit();
}

} // namespace warploom
