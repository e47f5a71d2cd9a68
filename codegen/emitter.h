// Text of emitted code, with its indentation and its names.
#pragma once

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <string>

namespace warploom {

// The identifiers in use in one kernel.
class Names {
public:
  Names();
  // A fresh identifier made from a value's name, which may be any text: letters in lower case,
  // anything but letters and digits as '_', a number appended until it is unique. It is no keyword
  // and no word that kernels themselves use; what they name in more than one word has capitals.
  std::string fresh(llvm::StringRef base);
  // `text` with the identifiers that fresh() made replaced by their numbers: equal for texts that
  // differ in names alone.
  std::string numbered(llvm::StringRef text) const;

private:
  llvm::StringMap<unsigned> taken_; // and its number
};

class Emitter {
public:
  // `depth` is the number of blocks around the text.
  explicit Emitter(Names &names, unsigned depth = 0) : names_(names), depth_(depth) {}

  template <class... Arguments> void line(const char *format, Arguments &&...arguments) {
    append(llvm::formatv(format, std::forward<Arguments>(arguments)...).str());
  }

  // Opens "head {"; the block closes when the returned object dies.
  class Block {
  public:
    explicit Block(Emitter &emitter, const char *end = "}") : emitter_(emitter), end_(end) {}
    ~Block() { emitter_.close(end_); }
    Block(const Block &) = delete;

  private:
    Emitter &emitter_;
    const char *end_;
  };
  template <class... Arguments>
  [[nodiscard]] Block block(const char *format, Arguments &&...arguments) {
    append(llvm::formatv(format, std::forward<Arguments>(arguments)...).str() + " {");
    ++depth_;
    return Block(*this);
  }

  // The same for "auto f = [=](int x) {", which closes with a semicolon.
  template <class... Arguments>
  [[nodiscard]] Block lambda(const char *format, Arguments &&...arguments) {
    append(llvm::formatv(format, std::forward<Arguments>(arguments)...).str() + " {");
    ++depth_;
    return Block(*this, "};");
  }

  std::string name(llvm::StringRef base) { return names_.fresh(base); }
  Names &names() { return names_; }
  // Appends the lines of another emitter at this one's depth.
  void splice(const Emitter &other);
  const std::string &str() const { return text_; }

private:
  void append(llvm::StringRef text);
  void close(const char *end) {
    --depth_;
    append(end);
  }

  Names &names_;
  std::string text_;
  unsigned depth_;
};

} // namespace warploom
