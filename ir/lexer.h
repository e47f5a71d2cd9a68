// Tokens of .loom text.
#pragma once

#include "ir/graph.h"

#include "llvm/ADT/StringRef.h"

namespace warploom {

enum class TokenKind : uint8_t {
  end,
  word,        // graph, matmul, bf16, batch
  value,       // %x or %"any text"; the text is the name
  graph,       // @name
  integer,     // 12
  real,        // 1.0, 1e-5
  string,      // "half"; the text is unescaped
  punctuation, // one of ( ) [ ] { } , : = + - * or ->
  invalid,     // the text says what is wrong
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;
  Location location;

  bool is(llvm::StringRef punctuation) const {
    return kind == TokenKind::punctuation && text == punctuation;
  }
  bool isWord(llvm::StringRef word) const { return kind == TokenKind::word && text == word; }
};

// Reads tokens one after the other; comments run from // to the end of the line.
class Lexer {
public:
  explicit Lexer(llvm::StringRef source) : source_(source) {}
  Token next();

private:
  char peek(size_t ahead = 0) const {
    return place_ + ahead < source_.size() ? source_[place_ + ahead] : '\0';
  }
  void advance();
  void skipBlanks();
  Token number(Token token);
  Token quoted(Token token);

  llvm::StringRef source_;
  size_t place_ = 0;
  Location location_ = {1, 1};
};

// Whether a name may stand behind % or @ without quotes.
bool isPlainName(llvm::StringRef name);

} // namespace warploom
