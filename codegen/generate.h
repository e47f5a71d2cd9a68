// Groups of a fused graph to a Program: schedules, CUDA source, buffers, arena and launch edges.
#pragma once

#include "ir/graph.h"
#include "ir/program/program.h"
#include "ir/target.h"

namespace warploom {

struct CodegenOptions {
  // Give every temporary its own memory, so that all can be read back after a run.
  bool keepTemporaries = false;
};

// The program of a fused and verified graph, itself verified. Error: a schedule that does not fit
// the target; the message names the op, what it needs and the limit.
llvm::Expected<Program> generate(const Graph &graph, const Target &target,
                                 const CodegenOptions &options = {});

} // namespace warploom
