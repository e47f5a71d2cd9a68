#include "ir/parse.h"

#include "ir/group.h"
#include "ir/parser.h"
#include "ir/shape_rules.h"
#include "ir/verify.h"

#include "llvm/ADT/STLExtras.h"

namespace warploom {

llvm::Error Parser::checkName(const Graph &graph, const Token &name) const {
  if (name.text.empty())
    return fail(name.location, "a name has at least one character");
  if (graph.find(name.text))
    return fail(name.location, "the name '%{0}' is taken", name.text);
  return llvm::Error::success();
}

llvm::Error Parser::checkSymbols(llvm::ArrayRef<Dim> dims, Location location) const {
  for (const Dim &dim : dims)
    for (const Dim::Term &term : dim.terms())
      if (!symbols_.contains(term.symbol))
        return fail(location, "the symbol '{0}' is in no argument's type", term.symbol);
  return llvm::Error::success();
}

llvm::Error Parser::argument(Graph &graph) {
  if (token_.kind != TokenKind::value)
    return failHere("an argument such as '%x: f32[4]'");
  Token name = take();
  if (llvm::Error error = checkName(graph, name))
    return error;
  if (llvm::Error error = expect(":"))
    return error;
  bool isMutable = token_.isWord("mut");
  if (isMutable)
    take();
  llvm::Expected<TensorType> parsed = type();
  if (!parsed)
    return parsed.takeError();
  Value value = graph.addArgument(name.text, *parsed, isMutable);
  value.node->location = name.location;
  if (isMutable)
    mutable_.insert(value);
  Dims sizes = parsed->dims;
  if (parsed->strides)
    sizes.append(*parsed->strides);
  sizes.push_back(parsed->offset);
  for (const Dim &size : sizes)
    for (const Dim::Term &term : size.terms())
      symbols_.insert(term.symbol);
  return llvm::Error::success();
}

llvm::Expected<Value> Parser::use(Graph &graph) {
  if (token_.kind != TokenKind::value)
    return failHere("a value such as '%x'");
  Token name = take();
  Value value = graph.find(name.text);
  if (!value)
    return fail(name.location, "'%{0}' is not defined before this use", name.text);
  // A view shows what its operand holds, so it ends with its operand.
  Value stored = storedValue(value);
  if (auto update = consumed_.find(stored); update != consumed_.end())
    return fail(name.location,
                "'%{0}' {1}was updated in place on line {2}; use the value that the update returns",
                name.text, stored == value ? "" : "views '%" + stored.name() + "', which ",
                update->second.line);
  return value;
}

// Kept sorted by label, whatever order the text has.
llvm::Error Parser::namedOperand(Graph &graph, Node &node) {
  Token label = take();
  auto place = llvm::lower_bound(node.labels, label.text);
  if (place != node.labels.end() && *place == label.text)
    return fail(label.location, "the operand '{0}' stands twice", label.text);
  if (llvm::Error error = expect("="))
    return error;
  llvm::Expected<Value> value = use(graph);
  if (!value)
    return value.takeError();
  size_t positional = node.operands.size() - node.labels.size();
  node.operands.insert(node.operands.begin() + positional + (place - node.labels.begin()), *value);
  node.labels.insert(place, label.text);
  return llvm::Error::success();
}

llvm::Error Parser::operands(Graph &graph, Node &node) {
  if (llvm::Error error = expect("("))
    return error;
  while (!token_.is(")")) {
    if (!node.operands.empty())
      if (llvm::Error error = expect(","))
        return error;
    if (token_.kind == TokenKind::word) {
      if (llvm::Error error = namedOperand(graph, node))
        return error;
      continue;
    }
    if (!node.labels.empty())
      return failHere("a named operand");
    llvm::Expected<Value> value = use(graph);
    if (!value)
      return value.takeError();
    node.operands.push_back(*value);
  }
  take();
  return llvm::Error::success();
}

llvm::Error Parser::attributes(Node &node) {
  if (!accept("{"))
    return llvm::Error::success();
  while (!token_.is("}")) {
    if (!node.attributes.empty())
      if (llvm::Error error = expect(","))
        return error;
    if (token_.kind != TokenKind::word)
      return failHere("an attribute such as 'axis = -1'");
    Token name = take();
    if (node.attributes.find(name.text))
      return fail(name.location, "the attribute '{0}' stands twice", name.text);
    if (kind(node.op) == OpKind::source && (name.text == "dtype" || name.text == "shape"))
      return fail(name.location, "the type of {0} is written behind it: '{0} {{...} : f32[4]'",
                  spelling(node.op));
    if (llvm::Error error = expect("="))
      return error;
    llvm::Expected<AttributeValue> value = attributeValue();
    if (!value)
      return value.takeError();
    node.attributes.set(name.text, *value);
  }
  take();
  return llvm::Error::success();
}

llvm::Error Parser::typeList(llvm::SmallVectorImpl<AscribedType> &types) {
  do {
    Location location = token_.location;
    llvm::Expected<TensorType> next = type();
    if (!next)
      return next.takeError();
    if (!next->isContiguous())
      return fail(location, "only arguments have strides and offsets");
    types.emplace_back(*next, location);
  } while (accept(","));
  return llvm::Error::success();
}

llvm::Error Parser::ascriptions(llvm::SmallVectorImpl<AscribedType> &types) {
  return accept(":") ? typeList(types) : llvm::Error::success();
}

// An update in place ends the life of the value it updates.
llvm::Error Parser::consume(Node *node, Location location) {
  if (kind(node->op) != OpKind::update)
    return llvm::Error::success();
  Value updated = node->operands[0];
  if (!mutable_.contains(updated) && updated.node->op == Op::argument)
    return fail(location,
                "'%{0}' cannot be updated in place: declare the argument as '%{0}: mut {1}'",
                updated.name(), updated.type().str());
  if (!mutable_.contains(updated))
    return fail(location,
                "'%{0}' cannot be updated in place: only mut arguments and results of "
                "{1} can",
                updated.name(), spelling(node->op));
  for (Value operand : llvm::drop_begin(node->operands))
    if (storedValue(operand) == updated)
      return fail(location, "'%{0}' is updated in place and read by the same op", updated.name());
  consumed_[updated] = location;
  mutable_.insert(node->result());
  return llvm::Error::success();
}

llvm::Error Parser::resultNames(const Graph &graph, Node &node) {
  do {
    if (token_.kind != TokenKind::value)
      return failHere("a value such as '%x', or 'return'");
    Token name = take();
    if (llvm::Error error = checkName(graph, name))
      return error;
    if (llvm::any_of(node.results, [&](const auto &result) { return result.name == name.text; }))
      return fail(name.location, "the name '%{0}' is taken", name.text);
    node.results.push_back({name.text, {}});
  } while (accept(","));
  return expect("=");
}

llvm::Error Parser::op(Node &node) {
  if (token_.kind != TokenKind::word)
    return failHere("an op");
  Token name = take();
  std::optional<Op> op = parseOp(name.text);
  if (!op) {
    llvm::StringRef nearest = nearestOpSpelling(name.text);
    return fail(name.location, "there is no op '{0}'{1}", name.text,
                parseOp(nearest) ? ("; did you mean '" + nearest + "'?").str() : "");
  }
  node.op = *op;
  return llvm::Error::success();
}

llvm::Error Parser::group(Node &node) {
  if (!token_.isWord("group"))
    return llvm::Error::success();
  take();
  Location location = token_.location;
  llvm::Expected<int64_t> group = integer(false);
  if (!group)
    return group.takeError();
  if (*group > 1'000'000)
    return fail(location, "group numbers end at 1000000");
  node.group = static_cast<unsigned>(*group);
  return llvm::Error::success();
}

llvm::Error Parser::statement(Graph &graph) {
  Node node;
  node.location = token_.location;
  if (llvm::Error error = resultNames(graph, node))
    return error;
  Location opLocation = token_.location;
  if (llvm::Error error = op(node))
    return error;
  if (kind(node.op) != OpKind::source)
    if (llvm::Error error = operands(graph, node))
      return error;
  if (llvm::Error error = attributes(node))
    return error;
  llvm::SmallVector<AscribedType, 1> ascribed;
  if (llvm::Error error = ascriptions(ascribed))
    return error;
  if (llvm::Error error = group(node))
    return error;
  if (kind(node.op) == OpKind::source && !ascribed.empty()) {
    node.attributes.set("dtype", ascribed[0].first.dtype);
    node.attributes.set("shape", ascribed[0].first.dims);
  }
  unsigned named = node.results.size();
  llvm::Expected<Node *> built = build(graph, std::move(node));
  if (!built)
    return fail(opLocation, "{0}", llvm::toString(built.takeError()));
  if (llvm::Error error = checkResults(**built, named, ascribed, opLocation))
    return error;
  return consume(*built, opLocation);
}

llvm::Error Parser::checkResults(const Node &node, unsigned named,
                                 llvm::ArrayRef<AscribedType> ascribed, Location opLocation) const {
  if (node.results.size() != named)
    return fail(node.location, "{0} has {1} result{2}, not {3}", spelling(node.op),
                node.results.size(), node.results.size() == 1 ? "" : "s", named);
  if (!ascribed.empty() && ascribed.size() != named)
    return fail(ascribed[0].second, "{0} types stand for {1} results", ascribed.size(), named);
  for (const auto &[result, expected] : llvm::zip(node.results, ascribed))
    if (!result.type.hasSameShape(expected.first))
      return fail(expected.second, "{0} gives {1}, not {2}", spelling(node.op), result.type.str(),
                  expected.first.str());
  for (const Node::Result &result : node.results)
    if (llvm::Error error = checkSymbols(result.type.dims, opLocation))
      return error;
  return llvm::Error::success();
}

llvm::Error Parser::results(Graph &graph, llvm::ArrayRef<AscribedType> signature) {
  Location start = token_.location;
  if (llvm::Error error = expectWord("return"))
    return error;
  llvm::StringSet<> names;
  do {
    Location location = token_.location;
    llvm::Expected<Value> value = use(graph);
    if (!value)
      return value.takeError();
    unsigned index = graph.results().size();
    std::string name = llvm::formatv("result{0}", index).str();
    if (token_.isWord("as")) {
      take();
      if (token_.kind != TokenKind::string)
        return failHere("a name in quotes");
      if (token_.text.empty())
        return fail(token_.location, "a name has at least one character");
      name = take().text;
    }
    if (!names.insert(name).second)
      return fail(location, "two results are named \"{0}\"", name);
    if (index < signature.size() && !value->type().hasSameShape(signature[index].first))
      return fail(location, "'%{0}' is {1}; the signature says {2}", value->name(),
                  value->type().str(), signature[index].first.str());
    graph.addResult(*value, name);
  } while (accept(","));
  if (graph.results().size() != signature.size())
    return fail(start, "{0} results are returned; the signature says {1}", graph.results().size(),
                signature.size());
  return llvm::Error::success();
}

llvm::Expected<Graph> Parser::graph() {
  if (llvm::Error error = expectWord("graph"))
    return error;
  if (token_.kind != TokenKind::graph)
    return failHere("a name such as '@layer'");
  if (token_.text.empty())
    return fail(token_.location, "a name has at least one character");
  Graph graph(take().text);
  symbols_.clear();
  consumed_.clear();
  mutable_.clear();
  if (llvm::Error error = expect("("))
    return error;
  while (!token_.is(")")) {
    if (!graph.arguments().empty())
      if (llvm::Error error = expect(","))
        return error;
    if (llvm::Error error = argument(graph))
      return error;
  }
  take();
  if (llvm::Error error = expect("->"))
    return error;
  if (llvm::Error error = expect("("))
    return error;
  llvm::SmallVector<AscribedType, 2> signature;
  if (!token_.is(")"))
    if (llvm::Error error = typeList(signature))
      return error;
  for (const auto &[type, location] : signature)
    if (llvm::Error error = checkSymbols(type.dims, location))
      return error;
  if (llvm::Error error = expect(")"))
    return error;
  if (llvm::Error error = expect("{"))
    return error;
  while (!token_.isWord("return"))
    if (llvm::Error error = statement(graph))
      return error;
  if (llvm::Error error = results(graph, signature))
    return error;
  if (llvm::Error error = expect("}"))
    return error;
  return graph;
}

llvm::Expected<Module> Parser::module() {
  Module module;
  llvm::StringSet<> names;
  do {
    Location location = token_.location;
    llvm::Expected<Graph> parsed = graph();
    if (!parsed)
      return parsed.takeError();
    if (!names.insert(parsed->name()).second)
      return fail(location, "two graphs are named '@{0}'", parsed->name());
    // What no token is to blame for: groups that are not convex.
    if (llvm::Error error = verify(*parsed))
      return fail(location, "{0}", llvm::toString(std::move(error)));
    module.graphs.push_back(std::move(*parsed));
  } while (token_.kind != TokenKind::end);
  return module;
}

llvm::Expected<Module> parseModule(llvm::StringRef text, llvm::StringRef fileName) {
  return Parser(text, fileName).module();
}

llvm::Expected<Dim> parseDim(llvm::StringRef text) {
  return Parser(text, "dim").wholeDim();
}

} // namespace warploom
