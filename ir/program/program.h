// A compiled layer as plain data: kernels with their arguments, buffers, and launch order. It names
// source ops but depends on no graph, and a runtime needs nothing else.
#pragma once

#include "ir/program/size_expr.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <vector>

namespace warploom {

enum class BufferKind : uint8_t {
  argument,  // bound by the caller, read
  mutable_,  // bound by the caller, read and updated in place; spelled "mutable"
  result,    // bound by the caller, written whole
  temporary, // lives in the arena
  counter,   // lives in the arena; zero before the first launch, and every kernel leaves it zero
};

llvm::StringRef spelling(BufferKind kind);

struct Buffer {
  std::string name; // the value's name in the source graph; unique among the program's buffers
  BufferKind kind = BufferKind::temporary;
  std::string dtype; // spelling; "byte" for scratch space without elements
  llvm::SmallVector<SizeExpr, 4> dims;
  // Elements; empty = contiguous. Only for buffers the caller binds.
  llvm::SmallVector<SizeExpr, 4> strides;
  SizeExpr offsetElements = 0;
  SizeExpr bytes;               // extent of the memory, gaps of strides included
  SizeExpr arenaOffset = 0;     // bytes, a multiple of 256; temporaries and counters only
  unsigned alignmentBytes = 16; // what the kernels assume of the bound pointer
};

// One parameter of a kernel, in the order of its signature.
struct KernelArgument {
  enum class Kind : uint8_t { buffer, integer } kind = Kind::buffer;
  std::string name;    // as in the emitted signature
  unsigned buffer = 0; // index into Program::buffers: a pointer to its first element
  SizeExpr value = 0;  // an integer parameter
  unsigned bytes = 8;  // 4 or 8, the width of the integer parameter
};

// What the program returns: a buffer's elements, in row-major order, as a tensor of `dims`. Several
// results may name one buffer, a reshape of another among them.
struct ProgramResult {
  std::string name;
  unsigned buffer = 0; // index into Program::buffers
  llvm::SmallVector<SizeExpr, 4> dims;
};

struct Kernel {
  std::string name; // ops and a short content hash; unique among the program's kernels
  // Symbol in the source, where it is another kernel's that differs in names alone; empty: the
  // name.
  std::string function;
  std::vector<std::string> ops; // source ops as "value = op", for messages
  std::string source;           // CUDA source; includes headers of kernels/ by their path
  std::array<SizeExpr, 3> grid = {SizeExpr(1), SizeExpr(1), SizeExpr(1)};
  unsigned blockThreads = 1;
  unsigned sharedBytes = 0; // dynamic shared memory
  std::vector<KernelArgument> arguments;
  // Buffers by index. A buffer in both is read and then written in place.
  llvm::SmallVector<unsigned, 8> reads;
  llvm::SmallVector<unsigned, 4> writes;

  const std::string &symbol() const { return function.empty() ? name : function; }
};

// `to` starts when `from` has finished; indices into Program::kernels.
struct Edge {
  unsigned from = 0;
  unsigned to = 0;
  bool operator==(const Edge &) const = default;
};

// Kernels stand in an order that respects the edges.
struct Program {
  std::string name;
  std::string arch;                 // what the sources are meant for, e.g. "sm_90a"
  std::vector<std::string> symbols; // bound before a launch
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  std::vector<Edge> edges;
  // Buffers by index, in the order of the graph's arguments and results. The same index may stand
  // twice among the results, and a result may be a mutable argument's buffer.
  std::vector<unsigned> arguments;
  std::vector<ProgramResult> results;
  SizeExpr arenaBytes = 0;
};

// What NVRTC and ptxas say of a compiled kernel.
struct KernelResources {
  unsigned registers = 0;
  unsigned stackBytes = 0;
  unsigned spillBytes = 0; // stores and loads
  unsigned staticSharedBytes = 0;
};

// Error: the first broken rule, with the source ops of the kernels involved. Rules: indices are in
// range; every read of a temporary follows its write, and every read-after-write, write-after-read
// and write-after-write pair is ordered by a path of edges, also for buffers that share memory in
// the arena; parameters fit 4096 bytes; the edges are acyclic and respect the kernels' order.
llvm::Error verify(const Program &program);

// The text form, for people.
std::string print(const Program &program);

// The stable form: {"name", "arch", "symbols", "kernels": [{"name", "function", "ops", "grid",
// "block", "shared_bytes", "arguments", "registers", "stack_bytes", "spill_bytes", "reads",
// "writes"}], "edges", "buffers", "results": [{"name", "buffer", "dims"}], "arena_bytes"}. An
// argument is
// {"buffer": name}, a pointer to the first element, or an integer {"value", "bytes"}. Sizes with
// symbols are strings. `resources` is empty where nothing was compiled (the fields are then null),
// else one entry per kernel.
llvm::json::Value toJson(const Program &program, llvm::ArrayRef<KernelResources> resources);

} // namespace warploom
