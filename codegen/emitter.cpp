#include "codegen/emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace warploom {
namespace {

constexpr llvm::StringLiteral kReserved[] = {
    // C++ keywords and alternative tokens that a value may be named after.
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break",
    "case", "catch", "char", "class", "compl", "concept", "const", "constexpr", "continue",
    "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export", "extern",
    "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable",
    "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq",
    "private", "protected", "public", "register", "requires", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid",
    "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
    "xor_eq", "main",
    // Names of the device headers and of CUDA.
    "bf16", "f16", "f8e4m3", "f8e5m2", "scalar", "warploom", "Vec", "Threads", "BlockSync", "load",
    "store", "convert", "threads", "thread", "lane", "item", "row", "column", "shared", "sync",
    "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "DEVICE", "NULL", "INFINITY", "NAN",
    "asm_", "exp", "log", "sin", "cos", "tanh", "sqrt", "pow", "floor", "ceil", "round", "min",
    "max", "abs"};

} // namespace

Names::Names() {
  for (llvm::StringRef word : kReserved)
    taken_.insert(word);
}

std::string Names::fresh(llvm::StringRef base) {
  constexpr size_t kLongest = 48;
  std::string name;
  for (char c : base.take_front(kLongest))
    name += llvm::isAlnum(c) ? c : '_';
  // Names that start with '_' or hold "__" belong to the compiler.
  if (name.empty() || !llvm::isAlpha(name[0]))
    name = "v" + name;
  for (size_t place; (place = name.find("__")) != std::string::npos;)
    name.erase(place, 1);
  std::string unique = name;
  for (unsigned suffix = 1; !taken_.insert(unique).second; ++suffix)
    unique = name + (name.back() == '_' ? "" : "_") + std::to_string(suffix);
  return unique;
}

void Emitter::append(llvm::StringRef text) {
  if (!text.empty())
    text_.append(2 * depth_, ' ');
  text_ += text;
  text_ += '\n';
}

void Emitter::splice(const Emitter &other) {
  llvm::StringRef rest = other.text_;
  while (!rest.empty()) {
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    append(line);
  }
}

} // namespace warploom
