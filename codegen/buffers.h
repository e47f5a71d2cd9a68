// Which memory each stored value has.
#pragma once

#include "ir/group.h"
#include "ir/program/program.h"

namespace warploom {

class BufferTable {
public:
  // Buffers of the graph's arguments, of what groups store, and of the graph's results.
  BufferTable(const Graph &graph, llvm::ArrayRef<Group> groups);

  // The buffer of a stored value; an updated cache has its argument's.
  unsigned of(Value stored) const;
  // A new buffer of the arena, for what a kernel keeps for itself: scratch space, or a counter that
  // is zero before the first launch.
  unsigned scratch(llvm::StringRef name, llvm::StringRef dtype, const SizeExpr &elements,
                   const SizeExpr &bytes, BufferKind kind = BufferKind::temporary);

  // Moves buffers, arguments and results into the program.
  void moveInto(Program &program);
  std::vector<Buffer> &buffers() { return buffers_; }

private:
  unsigned add(Value value, BufferKind kind);
  std::string uniqueName(llvm::StringRef base) const;

  std::vector<Buffer> buffers_;
  llvm::DenseMap<Value, unsigned> bufferOf_;
  std::vector<unsigned> arguments_;
  std::vector<ProgramResult> results_;
};

} // namespace warploom
