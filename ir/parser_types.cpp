#include "ir/parser.h"

#include "ir/program/error.h"
#include "ir/shape_rules_checks.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>

namespace warploom {

// Names may hold any byte; a diagnostic stays on its line and obeys no terminal code.
static std::string onOneLine(llvm::StringRef message) {
  std::string text;
  for (char c : message)
    if (llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80)
      text += c;
    else
      text += llvm::formatv("\\{0:X-2}", static_cast<uint8_t>(c)).str();
  return text;
}

llvm::Error Parser::diagnostic(Location location, llvm::StringRef message) const {
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
                   onOneLine(message), source, caret);
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
  if (!shape_rules::isModest(*number))
    return fail(start, "{0} is too large for a dim", *number);
  if (!accept("*"))
    return Dim(*number);
  if (token_.kind != TokenKind::word)
    return failHere("a symbol");
  return Dim::symbol(take().text) * *number;
}

llvm::Expected<Dim> Parser::dim() {
  Location start = token_.location;
  Dim sum = 0;
  bool isNegative = accept("-");
  for (;;) {
    llvm::Expected<Dim> next = term(isNegative);
    if (!next)
      return next;
    sum = sum + *next;
    // A dim is copied often; no real one has a tenth of these symbols.
    if (sum.terms().size() > 64)
      return fail(start, "a dim has at most 64 symbols");
    if (!shape_rules::isModest(sum))
      return fail(start, "{0} is too large for a dim", sum.str());
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

llvm::Expected<AttributeValue> Parser::number() {
  bool isNegative = accept("-");
  if (token_.isWord("inf")) {
    take();
    return AttributeValue(isNegative ? -INFINITY : double(INFINITY));
  }
  if (token_.kind == TokenKind::real) {
    Token token = take();
    double value = std::strtod(token.text.c_str(), nullptr);
    if (std::isinf(value))
      return fail(token.location, "{0} does not fit 64 bits", token.text);
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

} // namespace warploom
