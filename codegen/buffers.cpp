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
    Buffer &described = buffers_[buffer];
    if (described.kind == BufferKind::temporary) {
      described.kind = BufferKind::result;
      // A returned reshape names the same memory by its own dims.
      described.dims.clear();
      for (const Dim &dim : result.value.type().dims)
        described.dims.push_back(toSizeExpr(dim));
    }
    results_.push_back(buffer);
    resultNames_.push_back(result.name);
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
  for (const Dim &dim : type.dims)
    buffer.dims.push_back(toSizeExpr(dim));
  if (type.strides)
    for (const Dim &stride : *type.strides)
      buffer.strides.push_back(toSizeExpr(stride));
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
  program.resultNames = std::move(resultNames_);
}

} // namespace warploom
