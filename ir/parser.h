// The parser behind ir/parse.h: parser_types.cpp reads tokens, dims, types and attribute values,
// parse.cpp what a graph is made of.
#pragma once

#include "ir/lexer.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {

// One recursive descent over the tokens. A member returns an Error at the first thing that is
// wrong; the caller passes it on.
class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef fileName)
      : text_(text), fileName_(fileName), lexer_(text), token_(lexer_.next()) {}

  llvm::Expected<Module> module();
  llvm::Expected<Dim> wholeDim();

private:
  // A type as the text has it, and where it stands.
  using AscribedType = std::pair<TensorType, Location>;

  // "file:line:col: error: ...", the source line and a caret.
  llvm::Error diagnostic(Location location, llvm::StringRef message) const;
  template <class... Arguments>
  llvm::Error fail(Location location, const char *format, Arguments &&...arguments) const {
    return diagnostic(location, llvm::formatv(format, std::forward<Arguments>(arguments)...).str());
  }
  llvm::Error failHere(llvm::StringRef expected) const;

  Token take();
  llvm::Error expect(llvm::StringRef punctuation);
  llvm::Error expectWord(llvm::StringRef word);
  bool accept(llvm::StringRef punctuation);
  llvm::Expected<int64_t> integer(bool isNegative);

  llvm::Expected<Graph> graph();
  llvm::Error checkName(const Graph &graph, const Token &name) const;
  llvm::Error checkSymbols(llvm::ArrayRef<Dim> dims, Location location) const;
  llvm::Error argument(Graph &graph);
  llvm::Error statement(Graph &graph);
  llvm::Error resultNames(const Graph &graph, Node &node);
  llvm::Error op(Node &node);
  llvm::Error group(Node &node);
  llvm::Error checkResults(const Node &node, unsigned named, llvm::ArrayRef<AscribedType> ascribed,
                           Location opLocation) const;
  llvm::Error namedOperand(Graph &graph, Node &node);
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
  llvm::Error typeList(llvm::SmallVectorImpl<AscribedType> &types);
  llvm::Error ascriptions(llvm::SmallVectorImpl<AscribedType> &types);
  llvm::Error results(Graph &graph, llvm::ArrayRef<AscribedType> signature);

  llvm::StringRef text_, fileName_;
  Lexer lexer_;
  Token token_;
  llvm::StringSet<> symbols_;                // bound by the arguments of the current graph
  llvm::DenseMap<Value, Location> consumed_; // mut values and where they were updated
  llvm::DenseSet<Value> mutable_;            // values an update may consume
};

} // namespace warploom
