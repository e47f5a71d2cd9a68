#include "ir/program/error.h"
#include "ir/program/program.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>
#include <array>

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

// Where a buffer lies in the arena. Sizes with symbols are judged at two values of every symbol.
struct Place {
  std::array<int64_t, 2> begin = {}, end = {};

  Place(const Program &program, const Buffer &buffer) {
    for (const auto &[index, size] : llvm::enumerate(std::array<int64_t, 2>{1, 64})) {
      llvm::StringMap<int64_t> symbols;
      for (const std::string &symbol : program.symbols)
        symbols[symbol] = size;
      auto value = [&](const SizeExpr &expr) {
        llvm::Expected<int64_t> result = expr.evaluate(symbols);
        if (result)
          return *result;
        llvm::consumeError(result.takeError());
        return int64_t(0);
      };
      begin[index] = value(buffer.arenaOffset);
      end[index] = begin[index] + value(buffer.bytes);
    }
  }

  bool overlaps(const Place &other) const {
    return (begin[0] < other.end[0] && other.begin[0] < end[0]) ||
           (begin[1] < other.end[1] && other.begin[1] < end[1]);
  }
};

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
    uses_.resize(program.buffers.size());
    for (const auto &[index, kernel] : llvm::enumerate(program.kernels)) {
      for (unsigned buffer : kernel.reads)
        useOf(buffer, index).reads = true;
      for (unsigned buffer : kernel.writes)
        useOf(buffer, index).writes = true;
    }
  }

  llvm::Error verify() {
    for (unsigned buffer = 0; buffer < program_.buffers.size(); ++buffer)
      if (llvm::Error error = verifyBuffer(buffer))
        return error;
    std::vector<std::pair<unsigned, Place>> places;
    for (const auto &[index, buffer] : llvm::enumerate(program_.buffers))
      if (buffer.kind == BufferKind::temporary || buffer.kind == BufferKind::counter)
        places.emplace_back(index, Place(program_, buffer));
    for (const auto &[index, later] : llvm::enumerate(places))
      for (const auto &earlier : llvm::ArrayRef(places).take_front(index))
        if (later.second.overlaps(earlier.second))
          if (llvm::Error error = verifyShared(later.first, earlier.first))
            return error;
    return llvm::Error::success();
  }

private:
  // A kernel that touches a buffer, and how.
  struct Use {
    unsigned kernel = 0;
    bool reads = false, writes = false;
  };

  Use &useOf(unsigned buffer, unsigned kernel) {
    std::vector<Use> &uses = uses_[buffer];
    if (uses.empty() || uses.back().kernel != kernel)
      uses.push_back({kernel});
    return uses.back();
  }

  llvm::Error verifyBuffer(unsigned buffer) {
    const Buffer &described = program_.buffers[buffer];
    bool isWritten = false;
    for (const auto &[index, later] : llvm::enumerate(uses_[buffer])) {
      const Kernel &kernel = program_.kernels[later.kernel];
      if (later.writes && described.kind == BufferKind::argument)
        return makeError("{0} writes the argument {1}", describe(kernel), described.name);
      if (later.reads && !isWritten && described.kind == BufferKind::temporary)
        return makeError("{0} reads {1} before any kernel has written it", describe(kernel),
                         described.name);
      for (const Use &earlier : llvm::ArrayRef(uses_[buffer]).take_front(index))
        if ((earlier.writes || later.writes) && !precedes_[later.kernel][earlier.kernel])
          return makeError("{0} and {1} both touch {2}, and no path of edges orders them",
                           describe(program_.kernels[earlier.kernel]), describe(kernel),
                           described.name);
      isWritten |= later.writes;
    }
    return llvm::Error::success();
  }

  // Two buffers in the same memory: every use of one is before every use of the other.
  llvm::Error verifyShared(unsigned a, unsigned b) {
    for (const Use &x : uses_[a])
      for (const Use &y : uses_[b])
        if (auto [first, last] = std::minmax(x.kernel, y.kernel); !precedes_[last][first])
          return makeError("{0} and {1} share memory, but {2} and {3} are not ordered",
                           program_.buffers[a].name, program_.buffers[b].name,
                           describe(program_.kernels[x.kernel]),
                           describe(program_.kernels[y.kernel]));
    return llvm::Error::success();
  }

  const Program &program_;
  std::vector<llvm::BitVector> precedes_;
  std::vector<std::vector<Use>> uses_; // of each buffer, in the order of the kernels
};

} // namespace

llvm::Error verify(const Program &program) {
  if (llvm::Error error = verifyIndices(program))
    return error;
  return OrderVerifier(program).verify();
}

} // namespace warploom
