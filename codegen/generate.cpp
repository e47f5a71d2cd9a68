#include "codegen/generate.h"

#include "codegen/arena.h"
#include "codegen/buffers.h"
#include "codegen/group_kernels.h"
#include "codegen/launch_graph.h"

#include "ir/program/error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

namespace warploom {
namespace {

llvm::Expected<Kernel> emitKernel(const KernelContext &context, const Group &group) {
  switch (group.kind) {
  case GroupKind::map:
    return emitMapKernel(context, group);
  case GroupKind::row:
    return emitRowKernel(context, group);
  case GroupKind::matmul:
    return emitMatmulKernel(context, group);
  case GroupKind::attention:
    return emitAttentionKernel(context, group);
  }
  llvm_unreachable("all kinds are handled");
}

} // namespace

llvm::Expected<Program> generate(const Graph &graph, const Target &target,
                                 const CodegenOptions &options) {
  std::vector<Group> groups = groupsOf(graph);
  BufferTable buffers(graph, groups);
  FunctionTable functions;
  KernelContext context{graph, target, buffers, functions};
  Program program;
  program.name = graph.name();
  program.arch = target.arch;
  program.symbols = graph.symbols();
  for (const Group &group : groups) {
    llvm::Expected<Kernel> kernel = emitKernel(context, group);
    if (!kernel)
      return kernel.takeError();
    program.kernels.push_back(std::move(*kernel));
  }
  program.edges = launchEdges(program.kernels);
  buffers.moveInto(program);
  planArena(program, options.keepTemporaries);
  if (llvm::Error error = verify(program))
    return makeError("the generated program is wrong: {0}", llvm::toString(std::move(error)));
  return program;
}

} // namespace warploom
