#include "ir/lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {
namespace {

bool isWordStart(char c) {
  return llvm::isAlpha(c) || c == '_';
}
bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_';
}
bool isNamePart(char c) {
  return isWordPart(c) || c == '.' || c == '$' || c == '-';
}

} // namespace

bool isPlainName(llvm::StringRef name) {
  return !name.empty() && llvm::all_of(name, isNamePart);
}

void Lexer::advance() {
  if (source_[place_++] == '\n')
    location_ = {location_.line + 1, 1};
  else
    ++location_.column;
}

void Lexer::skipBlanks() {
  while (place_ < source_.size()) {
    if (peek() == '/' && peek(1) == '/') {
      while (place_ < source_.size() && peek() != '\n')
        advance();
    } else if (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') {
      advance();
    } else {
      return;
    }
  }
}

Token Lexer::number(Token token) {
  size_t start = place_;
  bool isReal = false;
  while (llvm::isDigit(peek()))
    advance();
  if (peek() == '.' && llvm::isDigit(peek(1))) {
    isReal = true;
    advance();
    while (llvm::isDigit(peek()))
      advance();
  }
  if (peek() == 'e' || peek() == 'E') {
    size_t sign = peek(1) == '+' || peek(1) == '-';
    if (llvm::isDigit(peek(1 + sign))) {
      isReal = true;
      advance();
      if (sign)
        advance();
      while (llvm::isDigit(peek()))
        advance();
    }
  }
  token.kind = isReal ? TokenKind::real : TokenKind::integer;
  token.text = source_.slice(start, place_).str();
  return token;
}

Token Lexer::quoted(Token token) {
  advance();
  while (peek() != '"') {
    if (place_ >= source_.size() || peek() == '\n') {
      token.kind = TokenKind::invalid;
      token.text = "the string has no closing quote";
      return token;
    }
    if (peek() != '\\') {
      token.text += peek();
      advance();
      continue;
    }
    // The printer's escapes: a doubled backslash, or two hexadecimal digits.
    if (peek(1) == '\\') {
      token.text += '\\';
      advance();
      advance();
    } else if (llvm::isHexDigit(peek(1)) && llvm::isHexDigit(peek(2))) {
      token.text += static_cast<char>(llvm::hexFromNibbles(peek(1), peek(2)));
      advance();
      advance();
      advance();
    } else {
      token.kind = TokenKind::invalid;
      token.text = "an escape is two backslashes, or a backslash and two hexadecimal digits";
      return token;
    }
  }
  advance();
  return token;
}

Token Lexer::next() {
  skipBlanks();
  Token token;
  token.location = location_;
  if (place_ >= source_.size())
    return token;
  char c = peek();
  if (c == '%' || c == '@') {
    advance();
    token.kind = c == '%' ? TokenKind::value : TokenKind::graph;
    if (peek() == '"')
      return quoted(token);
    size_t start = place_;
    while (isNamePart(peek()))
      advance();
    token.text = source_.slice(start, place_).str();
    if (token.text.empty()) {
      token.kind = TokenKind::invalid;
      token.text = llvm::formatv("a name must follow '{0}'", c).str();
    }
    return token;
  }
  if (isWordStart(c)) {
    token.kind = TokenKind::word;
    size_t start = place_;
    while (isWordPart(peek()))
      advance();
    token.text = source_.slice(start, place_).str();
    return token;
  }
  if (llvm::isDigit(c))
    return number(token);
  if (c == '"') {
    token.kind = TokenKind::string;
    return quoted(token);
  }
  advance();
  if (c == '-' && peek() == '>') {
    advance();
    token.kind = TokenKind::punctuation;
    token.text = "->";
  } else if (llvm::StringRef("()[]{},:=+-*").contains(c)) {
    token.kind = TokenKind::punctuation;
    token.text = std::string(1, c);
  } else {
    token.kind = TokenKind::invalid;
    token.text = llvm::isPrint(c) ? llvm::formatv("unexpected character '{0}'", c).str()
                                  : llvm::formatv("unexpected byte 0x{0:x-2}", uint8_t(c)).str();
  }
  return token;
}

} // namespace warploom
