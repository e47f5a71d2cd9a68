// The forms that `warploom compile --emit` writes.
#pragma once

#include "api/compile.h"

namespace warploom {

enum class EmitForm { loom, groups, program, cuda, ptx, cubin, dot, svg, json };

// loom: the graph after the passes, without groups. groups: with them. program: kernels, buffers
// and edges. cuda, ptx: every kernel, each behind a line that names it. cubin: the kernels' cubins
// as one tar-free sequence is no format, so only a program of one kernel has it. dot, svg: the
// launch graph, kernels with their ops as boxes. json: see ir/program/program.h. Error: svg without
// Graphviz's dot, a cubin of several kernels.
llvm::Expected<std::string> emit(const Compilation &compilation, EmitForm form);

// Writes the text to a file, whole or not at all; "-" is standard output.
llvm::Error writeText(llvm::StringRef path, llvm::StringRef text);

} // namespace warploom
