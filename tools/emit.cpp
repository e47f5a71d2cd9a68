#include "tools/emit.h"

#include "ir/print.h"
#include "ir/program/error.h"
#include "ir/program/output_file.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace warploom {
namespace {

// Text inside a DOT string.
std::string dotText(llvm::StringRef text) {
  std::string safe;
  for (char c : text) {
    if (c == '"' || c == '\\')
      safe += '\\';
    safe += llvm::isPrint(c) ? c : '_';
  }
  return safe;
}

std::string dot(const Compilation &compilation) {
  const Program &program = compilation.program;
  std::string text = "digraph \"" + dotText(program.name) +
                     "\" {\n"
                     "  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
  for (const auto &[index, kernel] : llvm::enumerate(program.kernels)) {
    text += llvm::formatv("  k{0} [label=\"{1}\\l", index, dotText(kernel.name));
    for (const std::string &op : kernel.ops)
      text += "  " + dotText(op) + "\\l";
    text += "\"];\n";
  }
  for (const Edge &edge : program.edges) {
    const Kernel &from = program.kernels[edge.from], &to = program.kernels[edge.to];
    std::vector<std::string> shared;
    for (unsigned buffer : from.writes)
      if (llvm::is_contained(to.reads, buffer))
        shared.push_back(dotText(program.buffers[buffer].name));
    text += llvm::formatv("  k{0} -> k{1} [label=\"{2}\"];\n", edge.from, edge.to,
                          llvm::join(shared, "\\n"));
  }
  return text + "}\n";
}

llvm::Expected<std::string> svg(const Compilation &compilation) {
  llvm::ErrorOr<std::string> program = llvm::sys::findProgramByName("dot");
  if (!program)
    return makeError("--emit svg needs Graphviz: there is no 'dot' on the path");
  llvm::SmallString<64> input, output;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("warploom", "dot", input))
    return makeError("cannot create a temporary file: {0}", error.message());
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("warploom", "svg", output))
    return makeError("cannot create a temporary file: {0}", error.message());
  if (llvm::Error error = writeText(input, dot(compilation)))
    return error;
  std::string failure;
  int status = llvm::sys::ExecuteAndWait(*program, {*program, "-Tsvg", input, "-o", output},
                                         std::nullopt, {}, 0, 0, &failure);
  auto drawn = llvm::MemoryBuffer::getFile(output);
  std::string text = drawn ? (*drawn)->getBuffer().str() : "";
  llvm::sys::fs::remove(input);
  llvm::sys::fs::remove(output);
  if (status != 0 || text.empty())
    return makeError("Graphviz's dot failed: {0}", failure.empty() ? "no output" : failure);
  return text;
}

} // namespace

llvm::Expected<std::string> emit(const Compilation &compilation, EmitForm form) {
  const Program &program = compilation.program;
  std::string text;
  switch (form) {
  case EmitForm::loom: {
    Graph ungrouped = compilation.fused.clone();
    for (Node &node : ungrouped.nodes())
      node.group.reset();
    return print(ungrouped);
  }
  case EmitForm::groups:
    return print(compilation.fused);
  case EmitForm::program:
    return print(program);
  case EmitForm::cuda:
    for (const Kernel &kernel : program.kernels)
      if (kernel.function.empty())
        text += (text.empty() ? "" : "\n") + kernel.source;
    return text;
  case EmitForm::ptx:
    for (const auto &[kernel, compiled] : llvm::zip(program.kernels, compilation.kernels))
      if (kernel.function.empty())
        text += "// kernel " + kernel.name + "\n" + compiled.ptx + "\n";
    return text;
  case EmitForm::cubin:
    if (compilation.kernels.size() != 1)
      return makeError("--emit cubin writes one kernel; this program has {0}",
                       compilation.kernels.size());
    return compilation.kernels.front().cubin;
  case EmitForm::dot:
    return dot(compilation);
  case EmitForm::svg:
    return svg(compilation);
  case EmitForm::json:
    return llvm::formatv("{0:2}\n", toJson(program, compilation.resources())).str();
  }
  llvm_unreachable("all forms are handled");
}

llvm::Error writeText(llvm::StringRef path, llvm::StringRef text) {
  if (path == "-") {
    llvm::outs() << text;
    llvm::outs().flush();
    std::error_code error = llvm::outs().error();
    llvm::outs().clear_error();
    return error ? makeError("cannot write the output: {0}", error.message())
                 : llvm::Error::success();
  }
  return writeWhole(path, [&](llvm::raw_ostream &stream) { stream << text; });
}

} // namespace warploom
