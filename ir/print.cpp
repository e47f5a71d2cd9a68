#include "ir/print.h"

#include "ir/lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {
namespace {

std::string quoted(llvm::StringRef name) {
  return str(AttributeValue(name.str()));
}

std::string named(char sigil, llvm::StringRef name) {
  return sigil + (isPlainName(name) ? name.str() : quoted(name));
}

std::string valueText(Value value) {
  return named('%', value.name());
}

template <class Range, class Function> std::string list(Range &&range, Function &&text) {
  return llvm::join(llvm::map_range(range, text), ", ");
}

// In parentheses; nothing behind a source, which never has operands.
std::string operandsText(const Node &node) {
  if (kind(node.op) == OpKind::source)
    return "";
  std::string text = "(";
  for (const auto &[index, operand] : llvm::enumerate(node.operands)) {
    if (index > 0)
      text += ", ";
    if (index >= arity(node.op))
      text += node.labels[index - arity(node.op)] + " = ";
    text += valueText(operand);
  }
  return text + ")";
}

std::string attributesText(const Node &node) {
  std::string text;
  for (const Attributes::Entry &entry : node.attributes.entries()) {
    // The ascription says these of a source.
    if (kind(node.op) == OpKind::source && (entry.name == "dtype" || entry.name == "shape"))
      continue;
    text += (text.empty() ? "" : ", ") + entry.name + " = " + str(entry.value);
  }
  return text.empty() ? "" : " {" + text + "}";
}

std::string argumentText(const GraphArgument &argument) {
  return valueText(argument.value) + ": " + (argument.isMutable ? "mut " : "") +
         argument.value.type().str();
}

std::string resultText(const Graph &graph, unsigned index) {
  const GraphResult &result = graph.results()[index];
  std::string text = valueText(result.value);
  if (result.name != llvm::formatv("result{0}", index).str())
    text += " as " + quoted(result.name);
  return text;
}

// The type of a result in the signature; the layout of an argument is not the result's.
std::string signatureText(const GraphResult &result) {
  TensorType type = result.value.type();
  type.strides.reset();
  type.offset = 0;
  return type.str();
}

} // namespace

std::string print(const Node &node) {
  std::string text =
      list(node.results, [](const Node::Result &result) { return named('%', result.name); });
  text += " = " + spelling(node.op).str() + operandsText(node) + attributesText(node);
  text += " : " + list(node.results, [](const Node::Result &result) { return result.type.str(); });
  if (node.group)
    text += llvm::formatv(" group {0}", *node.group);
  return text;
}

std::string print(const Graph &graph) {
  std::string text = "graph " + named('@', graph.name()) + "(" +
                     list(graph.arguments(), argumentText) + ") -> (" +
                     list(graph.results(), signatureText) + ") {\n";
  for (const Node &node : graph.nodes())
    if (node.op != Op::argument)
      text += "  " + print(node) + "\n";
  auto indices = llvm::seq<unsigned>(0, graph.results().size());
  text += "  return " + list(indices, [&](unsigned index) { return resultText(graph, index); }) +
          "\n}\n";
  return text;
}

std::string print(const Module &module) {
  std::string text;
  for (const Graph &graph : module.graphs)
    text += (text.empty() ? "" : "\n") + print(graph);
  return text;
}

} // namespace warploom
