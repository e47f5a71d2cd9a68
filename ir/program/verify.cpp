#include "ir/program/error.h"
#include "ir/program/program.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace warploom {
namespace {

constexpr unsigned kParameterBytes = 4096; // CUDA's limit for graph kernel nodes

std::string describe(const Kernel &kernel) {
  return kernel.name + " (" + llvm::join(kernel.ops, "; ") + ")";
}

llvm::Error verifyIndices(const Program &program) {
  llvm::StringSet<> bufferNames, kernelNames;
  for (const Buffer &buffer : program.buffers)
    if (!bufferNames.insert(buffer.name).second)
      return makeError("two buffers are named {0}", buffer.name);
  auto check = [&](llvm::ArrayRef<unsigned> indices, llvm::StringRef owner) -> llvm::Error {
    for (unsigned index : indices)
      if (index >= program.buffers.size())
        return makeError("{0} names buffer {1} of {2}", owner, index, program.buffers.size());
    return llvm::Error::success();
  };
  for (const Kernel &kernel : program.kernels) {
    if (!kernelNames.insert(kernel.name).second)
      return makeError("two kernels are named {0}", kernel.name);
    unsigned bytes = 0;
    for (const KernelArgument &argument : kernel.arguments) {
      bytes += argument.kind == KernelArgument::Kind::buffer ? 8 : argument.bytes;
      if (argument.kind == KernelArgument::Kind::buffer)
        if (llvm::Error error = check(argument.buffer, describe(kernel)))
          return error;
    }
    if (bytes > kParameterBytes)
      return makeError("{0} takes {1} bytes of parameters; the limit is {2}", describe(kernel),
                       bytes, kParameterBytes);
    for (llvm::ArrayRef<unsigned> list :
         {llvm::ArrayRef(kernel.reads), llvm::ArrayRef(kernel.writes)})
      if (llvm::Error error = check(list, describe(kernel)))
        return error;
  }
  if (llvm::Error error = check(program.arguments, "the program's arguments"))
    return error;
  for (const ProgramResult &result : program.results)
    if (llvm::Error error = check(result.buffer, "the program's results"))
      return error;
  for (const Edge &edge : program.edges)
    if (edge.from >= edge.to || edge.to >= program.kernels.size())
      return makeError("the edge {0} -> {1} does not follow the order of {2} kernels", edge.from,
                       edge.to, program.kernels.size());
  return llvm::Error::success();
}

// Sizes with symbols are judged at two values of every symbol.
bool overlap(const Program &program, const Buffer &a, const Buffer &b) {
  for (int64_t size : {1, 64}) {
    llvm::StringMap<int64_t> symbols;
    for (const std::string &symbol : program.symbols)
      symbols[symbol] = size;
    auto value = [&](const SizeExpr &expr) {
      llvm::Expected<int64_t> result = expr.evaluate(symbols);
      if (!result) {
        llvm::consumeError(result.takeError());
        return int64_t(0);
      }
      return *result;
    };
    int64_t startA = value(a.arenaOffset), startB = value(b.arenaOffset);
    if (startA < startB + value(b.bytes) && startB < startA + value(a.bytes))
      return true;
  }
  return false;
}

class OrderVerifier {
public:
  explicit OrderVerifier(const Program &program) : program_(program) {
    // precedes_[k]: the kernels with a path to k.
    precedes_.resize(program.kernels.size(), llvm::BitVector(program.kernels.size()));
    llvm::SmallVector<llvm::SmallVector<unsigned, 4>> incoming(program.kernels.size());
    for (const Edge &edge : program.edges)
      incoming[edge.to].push_back(edge.from);
    for (unsigned kernel = 0; kernel < program.kernels.size(); ++kernel)
      for (unsigned from : incoming[kernel]) {
        precedes_[kernel] |= precedes_[from];
        precedes_[kernel].set(from);
      }
  }

  llvm::Error verify() {
    for (unsigned buffer = 0; buffer < program_.buffers.size(); ++buffer)
      if (llvm::Error error = verifyBuffer(buffer))
        return error;
    for (unsigned a = 0; a < program_.buffers.size(); ++a)
      for (unsigned b = 0; b < a; ++b)
        if (llvm::Error error = verifyShared(a, b))
          return error;
    return llvm::Error::success();
  }

private:
  static bool touches(llvm::ArrayRef<unsigned> list, unsigned buffer) {
    return llvm::is_contained(list, buffer);
  }

  llvm::Error verifyBuffer(unsigned buffer) {
    const Buffer &described = program_.buffers[buffer];
    std::optional<unsigned> firstWrite;
    for (unsigned later = 0; later < program_.kernels.size(); ++later) {
      const Kernel &kernel = program_.kernels[later];
      bool reads = touches(kernel.reads, buffer), writes = touches(kernel.writes, buffer);
      if (writes && described.kind == BufferKind::argument)
        return makeError("{0} writes the argument {1}", describe(kernel), described.name);
      if (reads && !firstWrite && described.kind == BufferKind::temporary)
        return makeError("{0} reads {1} before any kernel has written it", describe(kernel),
                         described.name);
      for (unsigned earlier = 0; earlier < later; ++earlier) {
        const Kernel &other = program_.kernels[earlier];
        bool otherWrites = touches(other.writes, buffer);
        bool conflict =
            (otherWrites && (reads || writes)) || (touches(other.reads, buffer) && writes);
        if (conflict && !precedes_[later][earlier])
          return makeError("{0} and {1} both touch {2}, and no path of edges orders them",
                           describe(other), describe(kernel), described.name);
      }
      if (writes && !firstWrite)
        firstWrite = later;
    }
    return llvm::Error::success();
  }

  // Two buffers in the same memory: every use of one is before every use of the other.
  llvm::Error verifyShared(unsigned a, unsigned b) {
    auto inArena = [&](unsigned index) {
      BufferKind kind = program_.buffers[index].kind;
      return kind == BufferKind::temporary || kind == BufferKind::counter;
    };
    if (!inArena(a) || !inArena(b) || !overlap(program_, program_.buffers[a], program_.buffers[b]))
      return llvm::Error::success();
    auto uses = [&](unsigned buffer) {
      llvm::SmallVector<unsigned, 8> kernels;
      for (const auto &[index, kernel] : llvm::enumerate(program_.kernels))
        if (touches(kernel.reads, buffer) || touches(kernel.writes, buffer))
          kernels.push_back(index);
      return kernels;
    };
    for (unsigned x : uses(a))
      for (unsigned y : uses(b))
        if (!precedes_[std::max(x, y)][std::min(x, y)])
          return makeError("{0} and {1} share memory, but {2} and {3} are not ordered",
                           program_.buffers[a].name, program_.buffers[b].name,
                           describe(program_.kernels[x]), describe(program_.kernels[y]));
    return llvm::Error::success();
  }

  const Program &program_;
  std::vector<llvm::BitVector> precedes_;
};

} // namespace

llvm::Error verify(const Program &program) {
  if (llvm::Error error = verifyIndices(program))
    return error;
  return OrderVerifier(program).verify();
}

} // namespace warploom
