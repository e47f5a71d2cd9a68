#include "codegen/emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace warploom {
namespace {

// C++ keywords, alternative tokens and macros of the host's headers.
constexpr llvm::StringLiteral kKeywords[] = {
    "alignas",     "alignof",      "and",        "and_eq",       "asm",
    "assert",      "auto",         "bitand",     "bitor",        "bool",
    "break",       "case",         "catch",      "char",         "class",
    "compl",       "concept",      "const_cast", "dynamic_cast", "reinterpret_cast",
    "static_cast", "maybe_unused", "int8_t",     "int16_t",      "int32_t",
    "int64_t",     "uint8_t",      "uint16_t",   "uint32_t",     "uint64_t",
    "const",       "constexpr",    "continue",   "decltype",     "default",
    "delete",      "do",           "double",     "else",         "enum",
    "errno",       "explicit",     "export",     "extern",       "false",
    "float",       "for",          "friend",     "goto",         "if",
    "inline",      "int",          "linux",      "long",         "main",
    "mutable",     "namespace",    "new",        "noexcept",     "not",
    "not_eq",      "nullptr",      "operator",   "or",           "or_eq",
    "private",     "protected",    "public",     "register",     "requires",
    "return",      "short",        "signed",     "sizeof",       "static",
    "struct",      "switch",       "template",   "this",         "throw",
    "true",        "try",          "typedef",    "typeid",       "typename",
    "union",       "unix",         "unsigned",   "using",        "virtual",
    "void",        "volatile",     "while",      "xor",          "xor_eq"};

// What the text of kernels itself declares and calls, where that is one lower-case word.
constexpr llvm::StringLiteral kOwnWords[] = {
    "batch",    "bf16",    "bitcast",     "chunk",   "column",  "columns", "combine",
    "convert",  "count",   "counter",     "d",       "data",    "f16",     "f8e4m3",
    "f8e5m2",   "first",   "first_query", "flag",    "has",     "head",    "highest",
    "identity", "index",   "item",        "key",     "keys",    "kv_head", "lane",
    "last",     "left",    "load",        "lowest",  "mask",    "output",  "own_row",
    "place",    "product", "queries",     "query",   "right",   "row",     "row_block",
    "scalar",   "scratch", "share",       "shared",  "shuffle", "split",   "splits",
    "staged",   "store",   "sums",        "sync",    "thread",  "threads", "tile",
    "valid",    "values",  "visibility",  "warploom"};

} // namespace

Names::Names() {
  for (llvm::StringRef word : kKeywords)
    taken_[word] = 0;
  for (llvm::StringRef word : kOwnWords)
    taken_[word] = 0;
}

std::string Names::fresh(llvm::StringRef base) {
  constexpr size_t kLongest = 48;
  std::string name;
  for (char c : base.take_front(kLongest))
    name += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  // Names that start with '_' or hold "__" belong to the compiler, and op_... to the op table.
  if (name.empty() || !llvm::isAlpha(name[0]) || llvm::StringRef(name).starts_with("op_"))
    name = "v" + name;
  for (size_t place; (place = name.find("__")) != std::string::npos;)
    name.erase(place, 1);
  std::string unique = name;
  for (unsigned suffix = 1; !taken_.try_emplace(unique, taken_.size() + 1).second; ++suffix)
    unique = name + (name.back() == '_' ? "" : "_") + std::to_string(suffix);
  return unique;
}

std::string Names::numbered(llvm::StringRef text) const {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  std::string result;
  while (!text.empty()) {
    llvm::StringRef word = text.take_while(isPart);
    bool isMember = llvm::StringRef(result).ends_with(".");
    if (unsigned number = isMember ? 0 : taken_.lookup(word))
      result += "$" + std::to_string(number);
    else
      result += word;
    text = text.drop_front(word.size());
    llvm::StringRef between = text.take_until(isPart);
    result += between;
    text = text.drop_front(between.size());
  }
  return result;
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
