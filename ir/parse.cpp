#include "ir/parse.h"

#include "ir/lexer.h"
#include "ir/program/error.h"
#include "ir/shape_rules.h"
#include "ir/verify.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace warploom {
namespace {

// One recursive descent over the tokens. A member returns an Error at the first thing that is
// wrong; the caller passes it on.
class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef fileName)
      : text_(text), fileName_(fileName), lexer_(text), token_(lexer_.next()) {}

  llvm::Expected<Module> module();
  llvm::Expected<Dim> wholeDim();

private:
  template <class... Arguments>
  llvm::Error fail(Location location, const char *format, Arguments &&...arguments) const;
  llvm::Error failHere(llvm::StringRef expected) const;

  Token take();
  llvm::Error expect(llvm::StringRef punctuation);
  llvm::Error expectWord(llvm::StringRef word);
  bool accept(llvm::StringRef punctuation);
  llvm::Expected<int64_t> integer(bool isNegative);

  llvm::Expected<Graph> graph();
  llvm::Error argument(Graph &graph);
  llvm::Error statement(Graph &graph);
  llvm::Error operands(Graph &graph, Node &node);
  llvm::Expected<Value> use(Graph &graph);
  llvm::Error consume(Node *node, Location location);
  llvm::Error attributes(Node &node);
  llvm::Expected<AttributeValue> attributeValue();
  llvm::Expected<AttributeValue> number();
  llvm::Expected<TensorType> type();
  llvm::Expected<Dims> dims();
  llvm::Expected<Dim> dim();
  llvm::Expected<Dim> term(bool isNegative);
  llvm::Error ascriptions(llvm::SmallVectorImpl<std::pair<TensorType, Location>> &types);
  llvm::Error results(Graph &graph, llvm::ArrayRef<std::pair<TensorType, Location>> signature);

  llvm::StringRef text_, fileName_;
  Lexer lexer_;
  Token token_;
  llvm::StringSet<> symbols_;                // bound by the arguments of the current graph
  llvm::DenseMap<Value, Location> consumed_; // mut values and where they were updated
  llvm::DenseSet<Value> mutable_;            // values an update may consume
};

template <class... Arguments>
llvm::Error Parser::fail(Location location, const char *format, Arguments &&...arguments) const {
  llvm::StringRef rest = text_;
  for (unsigned line = 1; line < location.line; ++line)
    rest = rest.split('\n').second;
  std::string source = rest.split('\n').first.str();
  // A tab keeps its width under the caret; what a terminal could obey is shown as a space.
  for (char &c : source)
    if (static_cast<unsigned char>(c) < ' ' && c != '\t')
      c = ' ';
  std::string caret;
  for (unsigned column = 1; column < location.column; ++column)
    caret += column <= source.size() && source[column - 1] == '\t' ? '\t' : ' ';
  return makeError("{0}:{1}:{2}: error: {3}\n{4}\n{5}^", fileName_, location.line, location.column,
                   llvm::formatv(format, std::forward<Arguments>(arguments)...).str(), source,
                   caret);
}

llvm::Error Parser::failHere(llvm::StringRef expected) const {
  switch (token_.kind) {
  case TokenKind::invalid:
    return fail(token_.location, "{0}", token_.text);
  case TokenKind::end:
    return fail(token_.location, "expected {0} before the end of the text", expected);
  case TokenKind::value:
    return fail(token_.location, "expected {0}, not '%{1}'", expected, token_.text);
  case TokenKind::graph:
    return fail(token_.location, "expected {0}, not '@{1}'", expected, token_.text);
  case TokenKind::word:
  case TokenKind::integer:
  case TokenKind::real:
  case TokenKind::string:
  case TokenKind::punctuation:
    return fail(token_.location, "expected {0}, not '{1}'", expected, token_.text);
  }
  llvm_unreachable("all kinds are handled");
}

Token Parser::take() {
  Token taken = std::move(token_);
  token_ = lexer_.next();
  return taken;
}

llvm::Error Parser::expect(llvm::StringRef punctuation) {
  if (!token_.is(punctuation))
    return failHere(("'" + punctuation + "'").str());
  take();
  return llvm::Error::success();
}

llvm::Error Parser::expectWord(llvm::StringRef word) {
  if (!token_.isWord(word))
    return failHere(("'" + word + "'").str());
  take();
  return llvm::Error::success();
}

bool Parser::accept(llvm::StringRef punctuation) {
  if (!token_.is(punctuation))
    return false;
  take();
  return true;
}

llvm::Expected<int64_t> Parser::integer(bool isNegative) {
  if (token_.kind != TokenKind::integer)
    return failHere("an integer");
  Token token = take();
  int64_t number;
  if (llvm::StringRef((isNegative ? "-" : "") + token.text).getAsInteger(10, number))
    return fail(token.location, "{0}{1} does not fit 64 bits", isNegative ? "-" : "", token.text);
  return number;
}

llvm::Expected<Dim> Parser::term(bool isNegative) {
  int64_t sign = isNegative ? -1 : 1;
  if (token_.kind == TokenKind::word)
    return Dim::symbol(take().text) * sign;
  Location start = token_.location;
  llvm::Expected<int64_t> number = integer(isNegative);
  if (!number)
    return number.takeError();
  // Keeps coefficients far from where adding terms could overflow.
  if (*number > (int64_t(1) << 53) || *number < -(int64_t(1) << 53))
    return fail(start, "{0} is too large for a dim", *number);
  if (!accept("*"))
    return Dim(*number);
  if (token_.kind != TokenKind::word)
    return failHere("a symbol");
  return Dim::symbol(take().text) * *number;
}

llvm::Expected<Dim> Parser::dim() {
  Dim sum = 0;
  bool isNegative = accept("-");
  for (unsigned terms = 0;; ++terms) {
    if (terms == 64)
      return failHere("at most 64 terms in a dim");
    llvm::Expected<Dim> next = term(isNegative);
    if (!next)
      return next;
    sum = sum + *next;
    if (token_.is("+"))
      isNegative = false;
    else if (token_.is("-"))
      isNegative = true;
    else
      return sum;
    take();
  }
}

llvm::Expected<Dim> Parser::wholeDim() {
  llvm::Expected<Dim> result = dim();
  if (result && token_.kind != TokenKind::end)
    return failHere("the end of the dim");
  return result;
}

llvm::Expected<Dims> Parser::dims() {
  if (llvm::Error error = expect("["))
    return error;
  Dims result;
  while (!token_.is("]")) {
    if (!result.empty())
      if (llvm::Error error = expect(","))
        return error;
    llvm::Expected<Dim> next = dim();
    if (!next)
      return next.takeError();
    result.push_back(*next);
  }
  take();
  return result;
}

llvm::Expected<TensorType> Parser::type() {
  Location start = token_.location;
  if (token_.kind != TokenKind::word)
    return failHere("a type such as 'bf16[8, 4096]'");
  std::optional<DType> dtype = parseDType(token_.text);
  if (!dtype)
    return fail(start, "'{0}' is not a dtype; the dtypes are {1}", token_.text, dtypeSpellings());
  take();
  TensorType result;
  result.dtype = *dtype;
  llvm::Expected<Dims> shape = dims();
  if (!shape)
    return shape.takeError();
  result.dims = *shape;
  int64_t elements = byteSize(*dtype);
  for (const Dim &dim : result.dims) {
    if (dim.isConstant() && dim.constant() < 0)
      return fail(start, "the dim {0} is negative", dim.str());
    if (dim.isConstant() && dim.constant() != 0 &&
        llvm::MulOverflow(elements, dim.constant(), elements))
      return fail(start, "{0} has more bytes than 64 bits count", result.str());
  }
  if (token_.isWord("strides")) {
    take();
    llvm::Expected<Dims> strides = dims();
    if (!strides)
      return strides.takeError();
    if (strides->size() != result.rank())
      return fail(start, "{0} dims have {1} strides", result.rank(), strides->size());
    result.strides = *strides;
  }
  if (token_.isWord("offset")) {
    take();
    llvm::Expected<Dim> offset = dim();
    if (!offset)
      return offset.takeError();
    result.offset = *offset;
  }
  return result;
}

llvm::Error Parser::argument(Graph &graph) {
  if (token_.kind != TokenKind::value)
    return failHere("an argument such as '%x: f32[4]'");
  Token name = take();
  if (graph.find(name.text))
    return fail(name.location, "the name '%{0}' is taken", name.text);
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
  for (const std::string &symbol : graph.symbols())
    symbols_.insert(symbol);
  return llvm::Error::success();
}

llvm::Expected<Value> Parser::use(Graph &graph) {
  if (token_.kind != TokenKind::value)
    return failHere("a value such as '%x'");
  Token name = take();
  Value value = graph.find(name.text);
  if (!value)
    return fail(name.location, "'%{0}' is not defined before this use", name.text);
  if (auto update = consumed_.find(value); update != consumed_.end())
    return fail(name.location,
                "'%{0}' was updated in place on line {1}; use the value that the "
                "update returns",
                name.text, update->second.line);
  return value;
}

llvm::Error Parser::operands(Graph &graph, Node &node) {
  if (llvm::Error error = expect("("))
    return error;
  while (!token_.is(")")) {
    if (!node.operands.empty())
      if (llvm::Error error = expect(","))
        return error;
    if (token_.kind == TokenKind::word) {
      Token label = take();
      if (!node.labels.empty() && node.labels.back() >= label.text)
        return fail(label.location, "named operands stand once each, in alphabetical order");
      node.labels.push_back(label.text);
      if (llvm::Error error = expect("="))
        return error;
    } else if (!node.labels.empty()) {
      return failHere("a named operand");
    }
    llvm::Expected<Value> value = use(graph);
    if (!value)
      return value.takeError();
    node.operands.push_back(*value);
  }
  take();
  return llvm::Error::success();
}

llvm::Expected<AttributeValue> Parser::number() {
  bool isNegative = accept("-");
  if (token_.isWord("inf")) {
    take();
    return AttributeValue(isNegative ? -INFINITY : double(INFINITY));
  }
  if (token_.kind == TokenKind::real) {
    double value = std::strtod(take().text.c_str(), nullptr);
    return AttributeValue(isNegative ? -value : value);
  }
  llvm::Expected<int64_t> value = integer(isNegative);
  if (!value)
    return value.takeError();
  return AttributeValue(*value);
}

llvm::Expected<AttributeValue> Parser::attributeValue() {
  if (token_.is("[")) {
    llvm::Expected<Dims> list = dims();
    if (!list)
      return list.takeError();
    return AttributeValue(*list);
  }
  if (token_.kind == TokenKind::string)
    return AttributeValue(take().text);
  if (token_.kind != TokenKind::word || token_.text == "inf")
    return number();
  Token word = take();
  if (word.text == "true" || word.text == "false")
    return AttributeValue(word.text == "true");
  if (word.text == "nan")
    return AttributeValue(std::numeric_limits<double>::quiet_NaN());
  if (std::optional<DType> dtype = parseDType(word.text))
    return AttributeValue(*dtype);
  return fail(word.location,
              "'{0}' is not a value: write a number, true, false, a \"string\", a "
              "[list] or a dtype",
              word.text);
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

llvm::Error Parser::ascriptions(llvm::SmallVectorImpl<std::pair<TensorType, Location>> &types) {
  if (!accept(":"))
    return llvm::Error::success();
  do {
    Location location = token_.location;
    llvm::Expected<TensorType> ascribed = type();
    if (!ascribed)
      return ascribed.takeError();
    if (!ascribed->isContiguous())
      return fail(location, "only arguments have strides");
    types.emplace_back(*ascribed, location);
  } while (accept(","));
  return llvm::Error::success();
}

// An update in place ends the life of the value it updates.
llvm::Error Parser::consume(Node *node, Location location) {
  if (kind(node->op) != OpKind::update)
    return llvm::Error::success();
  Value updated = node->operands[0];
  if (!mutable_.contains(updated))
    return fail(location,
                "'%{0}' cannot be updated in place: declare the argument as "
                "'%{0}: mut {1}'",
                updated.name(), updated.type().str());
  consumed_[updated] = location;
  mutable_.insert(node->result());
  return llvm::Error::success();
}

llvm::Error Parser::statement(Graph &graph) {
  Node node;
  node.location = token_.location;
  do {
    if (token_.kind != TokenKind::value)
      return failHere("a value such as '%x', or 'return'");
    Token name = take();
    bool isTaken = graph.find(name.text) || llvm::any_of(node.results, [&](const auto &result) {
                     return result.name == name.text;
                   });
    if (isTaken)
      return fail(name.location, "the name '%{0}' is taken", name.text);
    node.results.push_back({name.text, {}});
  } while (accept(","));
  if (llvm::Error error = expect("="))
    return error;
  if (token_.kind != TokenKind::word)
    return failHere("an op");
  Token opToken = take();
  std::optional<Op> op = parseOp(opToken.text);
  if (!op) {
    llvm::StringRef nearest = nearestOpSpelling(opToken.text);
    return fail(opToken.location, "there is no op '{0}'{1}", opToken.text,
                nearest.empty() ? "" : ("; did you mean '" + nearest + "'?").str());
  }
  node.op = *op;
  if (kind(node.op) != OpKind::source)
    if (llvm::Error error = operands(graph, node))
      return error;
  if (llvm::Error error = attributes(node))
    return error;
  llvm::SmallVector<std::pair<TensorType, Location>, 1> ascribed;
  if (llvm::Error error = ascriptions(ascribed))
    return error;
  if (token_.isWord("group")) {
    take();
    Location location = token_.location;
    llvm::Expected<int64_t> group = integer(false);
    if (!group)
      return group.takeError();
    if (*group > 1'000'000)
      return fail(location, "group numbers end at 1000000");
    node.group = static_cast<unsigned>(*group);
  }
  if (kind(node.op) == OpKind::source && !ascribed.empty()) {
    node.attributes.set("dtype", ascribed[0].first.dtype);
    node.attributes.set("shape", ascribed[0].first.dims);
  }
  unsigned named = node.results.size();
  Location location = node.location;
  llvm::Expected<Node *> built = build(graph, std::move(node));
  if (!built)
    return fail(opToken.location, "{0}", llvm::toString(built.takeError()));
  if ((*built)->results.size() != named)
    return fail(location, "{0} has {1} result{2}, not {3}", spelling(*op), (*built)->results.size(),
                (*built)->results.size() == 1 ? "" : "s", named);
  if (!ascribed.empty() && ascribed.size() != named)
    return fail(ascribed[0].second, "{0} types stand for {1} results", ascribed.size(), named);
  for (const auto &[result, expected] : llvm::zip((*built)->results, ascribed))
    if (!result.type.hasSameShape(expected.first))
      return fail(expected.second, "{0} gives {1}, not {2}", spelling(*op), result.type.str(),
                  expected.first.str());
  for (const Node::Result &result : (*built)->results)
    for (const Dim &dim : result.type.dims)
      for (const Dim::Term &term : dim.terms())
        if (!symbols_.contains(term.symbol))
          return fail(opToken.location, "the symbol '{0}' is in no argument's type", term.symbol);
  return consume(*built, opToken.location);
}

llvm::Error Parser::results(Graph &graph,
                            llvm::ArrayRef<std::pair<TensorType, Location>> signature) {
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
  llvm::SmallVector<std::pair<TensorType, Location>, 2> signature;
  while (!token_.is(")")) {
    if (!signature.empty())
      if (llvm::Error error = expect(","))
        return error;
    Location location = token_.location;
    llvm::Expected<TensorType> result = type();
    if (!result)
      return result.takeError();
    signature.emplace_back(*result, location);
  }
  take();
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

} // namespace

llvm::Expected<Module> parseModule(llvm::StringRef text, llvm::StringRef fileName) {
  return Parser(text, fileName).module();
}

llvm::Expected<Dim> parseDim(llvm::StringRef text) {
  return Parser(text, "dim").wholeDim();
}

} // namespace warploom
