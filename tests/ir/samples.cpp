#include "tests/ir/samples.h"

#include "ir/parse.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

llvm::StringRef operandDType(OperandDomain domain) {
  switch (domain) {
  case OperandDomain::floating:
    return "bf16";
  case OperandDomain::numeric:
    return "f32";
  case OperandDomain::integer:
    return "i32";
  case OperandDomain::boolean:
    return "i1";
  case OperandDomain::any:
    return "u8";
  }
  llvm_unreachable("all domains are handled");
}

// One operand of each arity, from the table's line.
std::string elementwiseSample(Op op) {
  llvm::StringRef dtype = operandDType(operandDomain(op));
  std::vector<std::string> arguments, uses;
  for (unsigned index : llvm::seq(arity(op))) {
    arguments.push_back(llvm::formatv("%x{0}: {1}[n, {2}]", index, dtype, index == 1 ? 1 : 4));
    uses.push_back(llvm::formatv("%x{0}", index));
  }
  return llvm::formatv("graph @g({0}) -> ({1}[n, 4]) {{\n  %y = {2}({3})\n  return %y\n}\n",
                       llvm::join(arguments, ", "), yieldsBoolean(op) ? "i1" : dtype, spelling(op),
                       llvm::join(uses, ", "));
}

const llvm::StringLiteral kStructured = R"(
graph @conversions(%x: f32[n, 4], %c: i1[4]) -> (bf16[n, 4], i32[n, 4], f32[n, 4]) {
  %a = cast(%x) {to = bf16}
  %b = bitcast(%x) {to = i32}
  %d = select(%c, %x, %x)
  return %a, %b as "bits", %d
}
graph @reductions(%x: f32[n, 4, 8]) -> (f32[], f32[n, 1, 8], f32[n], f32[4], f32[n, 4], f32[n, 4, 8]) {
  %a = reduce_sum(%x)
  %b = reduce_max(%x) {axes = [1], keepdims = true}
  %c = reduce_min(%x) {axes = [-1, 1]}
  %d = reduce_mean(%x) {axes = [2, 0], keepdims = false}
  %e = reduce_prod(%x) {axes = [2]}
  %f = reduce_var(%x) {axes = [], correction = 0.5}
  return %a, %b, %c, %d, %e, %f
}
graph @composites(%x: bf16[2, 4, 8], %g: bf16[8], %m: bf16[4, 8], %c: f32[4, 8]) -> (bf16[2, 4, 8]) {
  %a = softmax(%x)
  %b = log_softmax(%a) {axis = 0}
  %d = layer_norm(%b, %g, %g) {axis = -1, eps = 1e-12}
  %e = rms_norm(%d, %m) {axis = 1}
  %f = swiglu(%e, %x)
  %h = rope(%f, %c, %c) {style = "interleaved"}
  %y = rope(%h, %c, %c)
  return %y
}
graph @attend(%q: f16[b, 8, 1, 64], %k: f16[b, 2, kv, 64], %m: i1[b, 1, 1, kv], %n: i32[b]) -> (f16[b, 8, 1, 64]) {
  %y = attention(%q, %k, %k, mask = %m, lengths = %n) {causal = true, scale = 0.125}
  return %y
}
graph @multiply(%a: f32[n, 4, 8], %b: f32[8, 16], %c: f32[16, 8]) -> (f32[n, 4, 16], f32[n, 4, 16]) {
  %y = matmul(%a, %b)
  %z = matmul(%a, %c) {transpose_b = true}
  return %y, %z
}
graph @sources(%x: f32[n]) -> (f32[n, 2], i32[3, 4], i1[], f64[2]) {
  %a = constant {value = -0.0} : f32[n, 2]
  %b = iota {axis = 0} : i32[3, 4]
  %c = constant {value = false} : i1[]
  %d = constant {value = -inf} : f64[2]
  return %a, %b, %c, %d
}
graph @views(%x: f32[2, 3, 4] strides [1, 0, -2] offset 9) -> (f32[2, 2]) {
  %a = reshape(%x) {shape = [6, -1]}
  %b = transpose(%a) {permutation = [1, 0]}
  %c = slice(%b) {limits = [4, 6], starts = [0, 1], steps = [2, 4]}
  %d = slice(%c) {limits = [2, 1], starts = [0, 0]}
  %y = broadcast(%d) {dims = [0, 1], shape = [2, 2]}
  return %y
}
graph @update(%c: mut bf16[b, 2, 32, 8], %x: bf16[b, 2, 1, 8], %p: i32[b], %q: i32[]) -> (bf16[b, 2, 32, 8]) {
  %d = kv_update(%c, %x, %p)
  %e = kv_update(%d, %x, %q) {axis = 2}
  return %e as "cache"
}
graph @"a graph"(%"a b": f32[2*n + m - 1], %"x/y:0": f32[2*n + m - 1], %1st: f32[n], %z: f32[m]) -> (f32[m + 2*n - 1]) {
  %"*/ int x;" = add(%"a b", %"x/y:0") group 0
  %"π" = neg(%"*/ int x;") group 0
  %"\22\0A#include" = exp(%"π") group 3
  return %"\22\0A#include" as "wörld \22\\"
}
)";

} // namespace

std::string sourcePath(llvm::StringRef folder) {
  return (WARPLOOM_SOURCE_DIR "/" + folder).str();
}

std::vector<std::string> loomFiles(llvm::StringRef folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(sourcePath(folder), error), end;
       !error && entry != end; entry.increment(error))
    if (llvm::StringRef(entry->path()).ends_with(".loom"))
      paths.push_back(entry->path());
  llvm::sort(paths);
  return paths;
}

std::string fileText(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    ADD_FAILURE() << path.str() << ": " << buffer.getError().message();
    return "";
  }
  return (*buffer)->getBuffer().str();
}

std::vector<std::string> sampleGraphs() {
  std::vector<std::string> texts;
#define WARPLOOM_ELEMENTWISE(name, arity, domain, result, expression)                              \
  texts.push_back(elementwiseSample(Op::name));
#include "ir/ops.def"
  texts.push_back(kStructured.str());
  return texts;
}

Graph parsedGraph(llvm::StringRef text) {
  llvm::Expected<Module> module = parseModule(text, "test.loom");
  if (module)
    return std::move(module->graphs.front());
  ADD_FAILURE() << llvm::toString(module.takeError());
  return Graph("rejected");
}

std::string diagnostic(llvm::StringRef text) {
  llvm::Expected<Module> module = parseModule(text, "test.loom");
  return module ? "accepted" : llvm::toString(module.takeError());
}
