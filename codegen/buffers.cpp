#include "codegen/buffers.h"

#include "ir/index_map.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>

namespace warploom {
namespace {

// Bytes from the first element's buffer start to the end of the last element, for the strides the
// caller binds with. Negative strides reach in front of `offset`.
SizeExpr extentBytes(const TensorType &type) {
  SizeExpr elementBytes = byteSize(type.dtype);
  if (!type.strides)
    return (elementCount(type.dims) + toSizeExpr(type.offset)) * elementBytes;
  SizeExpr last = toSizeExpr(type.offset);
  for (const auto &[dim, stride] : llvm::zip(type.dims, *type.strides))
    if (!stride.isConstant() || stride.constant() > 0)
      last = last + max(toSizeExpr(dim) - SizeExpr(1), SizeExpr(0)) * toSizeExpr(stride);
  return (last + SizeExpr(1)) * elementBytes;
}

llvm::SmallVector<SizeExpr, 4> sizes(llvm::ArrayRef<Dim> dims) {
  return llvm::to_vector<4>(llvm::map_range(dims, toSizeExpr));
}

} // namespace

BufferTable::BufferTable(const Graph &graph, llvm::ArrayRef<Group> groups) {
  for (const GraphArgument &argument : graph.arguments())
    arguments_.push_back(
        add(argument.value, argument.isMutable ? BufferKind::mutable_ : BufferKind::argument));
  for (const Group &group : groups)
    for (Value output : group.outputs)
      if (kind(output.node->op) == OpKind::update)
        bufferOf_[output] = bufferOf_.at(updatedArgument(output));
      else
        add(output, BufferKind::temporary);
  for (const GraphResult &result : graph.results()) {
    unsigned buffer = of(storedValue(result.value));
    if (buffers_[buffer].kind == BufferKind::temporary)
      buffers_[buffer].kind = BufferKind::result;
    results_.push_back({result.name, buffer, sizes(result.value.type().dims)});
  }
}

unsigned BufferTable::of(Value stored) const {
  auto entry = bufferOf_.find(stored);
  assert(entry != bufferOf_.end() && "every stored value has a buffer");
  return entry->second;
}

std::string BufferTable::uniqueName(llvm::StringRef base) const {
  std::string name = base.str();
  for (unsigned suffix = 1;
       llvm::any_of(buffers_, [&](const Buffer &buffer) { return buffer.name == name; }); ++suffix)
    name = llvm::formatv("{0}_{1}", base, suffix).str();
  return name;
}

unsigned BufferTable::add(Value value, BufferKind kind) {
  const TensorType &type = value.type();
  Buffer buffer;
  buffer.name = value.name();
  buffer.kind = kind;
  buffer.dtype = spelling(type.dtype).str();
  buffer.dims = sizes(type.dims);
  if (type.strides)
    buffer.strides = sizes(*type.strides);
  buffer.offsetElements = toSizeExpr(type.offset);
  buffer.bytes = extentBytes(type);
  buffers_.push_back(std::move(buffer));
  return bufferOf_[value] = buffers_.size() - 1;
}

unsigned BufferTable::scratch(llvm::StringRef name, llvm::StringRef dtype, const SizeExpr &elements,
                              const SizeExpr &bytes, BufferKind kind) {
  Buffer buffer;
  buffer.name = uniqueName(name);
  buffer.kind = kind;
  buffer.dtype = dtype.str();
  buffer.dims = {elements};
  buffer.bytes = bytes;
  buffers_.push_back(std::move(buffer));
  return buffers_.size() - 1;
}

void BufferTable::moveInto(Program &program) {
  program.buffers = std::move(buffers_);
  program.arguments = std::move(arguments_);
  program.results = std::move(results_);
}

} // namespace warploom
