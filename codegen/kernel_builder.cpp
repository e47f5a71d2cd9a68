#include "codegen/kernel_builder.h"

#include "ir/index_map.h"
#include "ir/print.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/xxhash.h"

namespace warploom {
namespace {

// What may stand in a comment of the emitted code: printable, and neither its end nor a trigraph or
// a line splice.
std::string commentText(llvm::StringRef text) {
  std::string safe;
  for (char c : text)
    safe += llvm::isPrint(c) && c != '\\' && c != '?' ? c : '_';
  for (size_t place; (place = safe.find("*/")) != std::string::npos;)
    safe[place] = '_';
  return safe;
}

// The distinct ops of a group in order, at most five, for a kernel's name.
std::string opList(const Group &group) {
  llvm::SmallVector<llvm::StringRef, 6> ops;
  auto add = [&](const Node *node) {
    if (ops.size() < 5 && !llvm::is_contained(ops, spelling(node->op)))
      ops.push_back(spelling(node->op));
  };
  llvm::for_each(group.anchors, add);
  for (const Node *node : group.nodes)
    if (node->op != Op::cast)
      add(node);
  if (ops.empty())
    ops.push_back("cast");
  return llvm::join(ops, "_");
}

bool mayExceedInt(const SizeExpr &elements) {
  std::optional<int64_t> count = elements.constant();
  return !count || *count > INT32_MAX;
}

} // namespace

llvm::StringRef storageType(DType dtype) {
  switch (dtype) {
  case DType::f32:
    return "float";
  case DType::f64:
    return "double";
  case DType::i1:
    return "bool";
  case DType::i8:
    return "int8_t";
  case DType::u8:
    return "uint8_t";
  case DType::i16:
    return "int16_t";
  case DType::u16:
    return "uint16_t";
  case DType::i32:
    return "int32_t";
  case DType::i64:
    return "int64_t";
  case DType::f16:
  case DType::bf16:
  case DType::f8e4m3:
  case DType::f8e5m2:
    return spelling(dtype);
  }
  llvm_unreachable("all dtypes are handled");
}

llvm::StringRef computeType(DType dtype) {
  return isFloating(dtype) && dtype != DType::f64 ? "float" : storageType(dtype);
}

KernelBuilder::KernelBuilder(const KernelContext &context, const Group &group)
    : context_(context), group_(group), prelude_(names_) {
  bodies_.push_back(std::make_unique<Emitter>(names_, 1));
  auto widen = [&](Value stored) {
    const Buffer &buffer = context.buffers.buffers()[context.buffers.of(stored)];
    if (mayExceedInt(buffer.bytes))
      indexType_ = "int64_t";
    // Parameters have the plain names; what is computed on the way is numbered.
    std::string &name = nameOfBuffer_[context.buffers.of(stored)];
    if (name.empty())
      name = names_.fresh(stored.name());
  };
  llvm::for_each(group.inputs, widen);
  llvm::for_each(group.outputs, widen);
}

std::string KernelBuilder::pointer(unsigned buffer, llvm::StringRef type, bool isConst,
                                   llvm::StringRef base) {
  auto [entry, isNew] = parameterOfBuffer_.try_emplace(buffer, parameters_.size());
  if (isNew) {
    Parameter parameter;
    parameter.argument.kind = KernelArgument::Kind::buffer;
    parameter.argument.buffer = buffer;
    std::string known = nameOfBuffer_.lookup(buffer);
    parameter.argument.name = known.empty() ? names_.fresh(base) : known;
    parameters_.push_back(std::move(parameter));
  }
  Parameter &parameter = parameters_[entry->second];
  // A buffer that is read and written is not const, whichever came first.
  bool staysConst =
      isConst && (isNew || llvm::StringRef(parameter.declaration).starts_with("const"));
  parameter.declaration = llvm::formatv("{0}{1} *__restrict__ {2}", staysConst ? "const " : "",
                                        type, parameter.argument.name)
                              .str();
  return parameter.argument.name;
}

std::string KernelBuilder::reads(Value stored) {
  unsigned buffer = context_.buffers.of(stored);
  if (!llvm::is_contained(reads_, buffer))
    reads_.push_back(buffer);
  return pointer(buffer, storageType(stored.type().dtype), true, stored.name());
}

std::string KernelBuilder::writes(Value stored) {
  unsigned buffer = context_.buffers.of(stored);
  if (!llvm::is_contained(writes_, buffer))
    writes_.push_back(buffer);
  return pointer(buffer, storageType(stored.type().dtype), false, stored.name());
}

std::string KernelBuilder::scratch(unsigned buffer, llvm::StringRef type) {
  if (!llvm::is_contained(writes_, buffer))
    writes_.push_back(buffer);
  return pointer(buffer, type, false, context_.buffers.buffers()[buffer].name);
}

IndexExpr KernelBuilder::size(const SizeExpr &expr) {
  if (std::optional<int64_t> constant = expr.constant())
    return IndexExpr(*constant);
  auto [entry, isNew] = parameterOfSize_.try_emplace(expr.str());
  if (isNew) {
    Parameter parameter;
    parameter.argument.kind = KernelArgument::Kind::integer;
    parameter.argument.name =
        names_.fresh(expr.kind() == SizeExpr::Kind::symbol ? expr.str() : "size");
    parameter.argument.value = expr;
    parameter.argument.bytes = 8;
    parameter.declaration = "int64_t " + parameter.argument.name;
    entry->second = parameter.argument.name;
    parameters_.push_back(std::move(parameter));
  }
  return IndexExpr::variable(entry->second);
}

IndexExpr KernelBuilder::size(const Dim &dim) {
  return size(toSizeExpr(dim));
}

std::vector<IndexExpr> KernelBuilder::sizes(llvm::ArrayRef<Dim> dims) {
  std::vector<IndexExpr> result;
  for (const Dim &dim : dims)
    result.push_back(size(dim));
  return result;
}

std::unique_ptr<Emitter> KernelBuilder::closeBody() {
  std::unique_ptr<Emitter> closed = std::move(bodies_.back());
  bodies_.pop_back();
  return closed;
}

void KernelBuilder::include(llvm::StringRef header) {
  if (!llvm::is_contained(includes_, header))
    includes_.push_back(header.str());
}

Kernel KernelBuilder::finish(std::array<SizeExpr, 3> grid, unsigned blockThreads,
                             unsigned sharedBytes, unsigned minBlocksPerMultiprocessor) {
  Kernel kernel;
  std::string includes;
  if (includes_.empty())
    include("kernels/tile.cuh");
  for (const std::string &header : includes_)
    includes += "#include \"" + header + "\"\n";
  std::string head = includes + "\n// group " + std::to_string(group_.number) + ", " +
                     spelling(group_.kind).str() + "\n";
  for (const Node *node : group_.nodes) {
    head += "//   " + commentText(print(*node)) + "\n";
    kernel.ops.push_back(commentText(node->results[0].name) + " = " + spelling(node->op).str());
  }
  head += "using namespace warploom;\n\n" + prelude_.str();

  std::string signature;
  for (const Parameter &parameter : parameters_)
    signature += (signature.empty() ? "\n    " : ",\n    ") + parameter.declaration;
  // Without the second number ptxas aims at several blocks, and spills to reach them.
  std::string bounds = llvm::formatv("{0}, {1}", blockThreads, minBlocksPerMultiprocessor).str();
  std::string text = "(" + signature + ") {\n" + body().str() + "}\n";
  uint64_t hash = llvm::xxh3_64bits(head + bounds + text);
  kernel.name = llvm::formatv("{0}_{1:x-8}", opList(group_), uint32_t(hash)).str();
  // Launched alike, too: the function's shared memory is set once.
  std::string key = names_.numbered(includes + bounds + ", " + std::to_string(sharedBytes) + "\n" +
                                    prelude_.str() + text);
  auto [entry, isNew] = context_.functions.try_emplace(key);
  Function &function = entry->second;
  if (isNew) {
    function.symbol = kernel.name;
    function.source = head + "extern \"C\" __global__ void __launch_bounds__(" + bounds + ")\n" +
                      kernel.name + text;
    for (const Parameter &parameter : parameters_)
      function.parameters.push_back(parameter.argument.name);
  } else {
    kernel.function = function.symbol;
  }
  kernel.source = function.source;
  kernel.grid = std::move(grid);
  kernel.blockThreads = blockThreads;
  kernel.sharedBytes = sharedBytes;
  for (const auto &[parameter, name] : llvm::zip(parameters_, function.parameters))
    kernel.arguments.emplace_back(parameter.argument).name = name;
  kernel.reads = reads_;
  kernel.writes = writes_;
  return kernel;
}

} // namespace warploom
