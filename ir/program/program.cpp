#include "ir/program/program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {
namespace {

std::string gridText(const Kernel &kernel) {
  return llvm::formatv("[{0}, {1}, {2}]", kernel.grid[0].str(), kernel.grid[1].str(),
                       kernel.grid[2].str());
}

std::string dimsText(llvm::ArrayRef<SizeExpr> dims) {
  auto texts = llvm::map_range(dims, [](const SizeExpr &dim) { return dim.str(); });
  return "[" + llvm::join(texts, ", ") + "]";
}

bool isInArena(BufferKind kind) {
  return kind == BufferKind::temporary || kind == BufferKind::counter;
}

std::string bufferText(const Buffer &buffer) {
  std::string text = llvm::formatv("buffer {0}: {1} {2}{3}", buffer.name, spelling(buffer.kind),
                                   buffer.dtype, dimsText(buffer.dims));
  if (!buffer.strides.empty())
    text += llvm::formatv(" strides {0} offset {1}", dimsText(buffer.strides),
                          buffer.offsetElements.str());
  text += llvm::formatv(", {0} bytes", buffer.bytes.str());
  if (isInArena(buffer.kind))
    text += llvm::formatv(" at {0}", buffer.arenaOffset.str());
  return text;
}

std::string names(const Program &program, llvm::ArrayRef<unsigned> buffers) {
  return llvm::join(
      llvm::map_range(buffers, [&](unsigned index) { return program.buffers[index].name; }), ", ");
}

llvm::json::Array nameArray(const Program &program, llvm::ArrayRef<unsigned> buffers) {
  llvm::json::Array array;
  for (unsigned index : buffers)
    array.push_back(program.buffers[index].name);
  return array;
}

llvm::json::Array sizeArray(llvm::ArrayRef<SizeExpr> sizes) {
  llvm::json::Array array;
  for (const SizeExpr &size : sizes)
    array.push_back(size.json());
  return array;
}

llvm::json::Array argumentArray(const Program &program, const Kernel &kernel) {
  llvm::json::Array array;
  for (const KernelArgument &argument : kernel.arguments)
    if (argument.kind == KernelArgument::Kind::buffer)
      array.push_back(llvm::json::Object{{"buffer", program.buffers[argument.buffer].name}});
    else
      array.push_back(
          llvm::json::Object{{"value", argument.value.json()}, {"bytes", argument.bytes}});
  return array;
}

llvm::json::Object kernelJson(const Program &program, const Kernel &kernel,
                              const KernelResources *resources) {
  auto number = [&](unsigned KernelResources::*field) {
    return resources ? llvm::json::Value(resources->*field) : llvm::json::Value(nullptr);
  };
  return llvm::json::Object{{"name", kernel.name},
                            {"function", kernel.symbol()},
                            {"ops", llvm::json::Array(kernel.ops)},
                            {"grid", sizeArray(kernel.grid)},
                            {"block", kernel.blockThreads},
                            {"shared_bytes", kernel.sharedBytes},
                            {"arguments", argumentArray(program, kernel)},
                            {"registers", number(&KernelResources::registers)},
                            {"stack_bytes", number(&KernelResources::stackBytes)},
                            {"spill_bytes", number(&KernelResources::spillBytes)},
                            {"reads", nameArray(program, kernel.reads)},
                            {"writes", nameArray(program, kernel.writes)}};
}

} // namespace

llvm::StringRef spelling(BufferKind kind) {
  switch (kind) {
  case BufferKind::argument:
    return "argument";
  case BufferKind::mutable_:
    return "mutable";
  case BufferKind::result:
    return "result";
  case BufferKind::temporary:
    return "temporary";
  case BufferKind::counter:
    return "counter";
  }
  llvm_unreachable("all kinds are handled");
}

std::string print(const Program &program) {
  std::string text = llvm::formatv("program {0} for {1}, {2} bytes of arena\n", program.name,
                                   program.arch, program.arenaBytes.str());
  for (const Buffer &buffer : program.buffers)
    text += "  " + bufferText(buffer) + "\n";
  for (const auto &[index, kernel] : llvm::enumerate(program.kernels)) {
    text += llvm::formatv("  kernel {0}: {1} grid {2} block {3} shared {4}\n", index, kernel.name,
                          gridText(kernel), kernel.blockThreads, kernel.sharedBytes);
    if (!kernel.function.empty())
      text += "    function " + kernel.function + "\n";
    for (const std::string &op : kernel.ops)
      text += "    op " + op + "\n";
    text += "    reads " + names(program, kernel.reads) + "\n";
    text += "    writes " + names(program, kernel.writes) + "\n";
  }
  for (const Edge &edge : program.edges)
    text += llvm::formatv("  edge {0} -> {1}\n", edge.from, edge.to);
  for (const ProgramResult &result : program.results)
    text += llvm::formatv("  result \"{0}\" in {1}\n", result.name,
                          program.buffers[result.buffer].name);
  return text;
}

llvm::json::Value toJson(const Program &program, llvm::ArrayRef<KernelResources> resources) {
  llvm::json::Array kernels, edges, buffers, results;
  for (const auto &[index, kernel] : llvm::enumerate(program.kernels))
    kernels.push_back(kernelJson(program, kernel, resources.empty() ? nullptr : &resources[index]));
  for (const Edge &edge : program.edges)
    edges.push_back(llvm::json::Object{{"from", program.kernels[edge.from].name},
                                       {"to", program.kernels[edge.to].name}});
  for (const ProgramResult &result : program.results)
    results.push_back(llvm::json::Object{{"name", result.name},
                                         {"buffer", program.buffers[result.buffer].name},
                                         {"dims", sizeArray(result.dims)}});
  for (const Buffer &buffer : program.buffers) {
    llvm::json::Object object{{"name", buffer.name},
                              {"kind", spelling(buffer.kind)},
                              {"dtype", buffer.dtype},
                              {"dims", sizeArray(buffer.dims)},
                              {"bytes", buffer.bytes.json()}};
    if (isInArena(buffer.kind))
      object["arena_offset"] = buffer.arenaOffset.json();
    buffers.push_back(std::move(object));
  }
  return llvm::json::Object{{"name", program.name},
                            {"arch", program.arch},
                            {"symbols", llvm::json::Array(program.symbols)},
                            {"kernels", std::move(kernels)},
                            {"edges", std::move(edges)},
                            {"buffers", std::move(buffers)},
                            {"results", std::move(results)},
                            {"arena_bytes", program.arenaBytes.json()}};
}

} // namespace warploom
