// The named attributes of an op.
#pragma once

#include "ir/dim.h"
#include "ir/dtype.h"

#include <string>
#include <variant>

namespace warploom {

// A literal keeps the kind it was written with: 1 is an integer, 1.0 a real number.
using Integers = llvm::SmallVector<int64_t, 4>;
using AttributeValue = std::variant<bool, int64_t, double, std::string, DType, Integers, Dims>;

// The text form: true, -1, 1.0e-05, inf, "half", bf16, [0, 2, 1, 3], [batch, 12, 64].
std::string str(const AttributeValue &value);

// A short list of name = value, sorted by name. A list of plain numbers is always Integers; a list
// with at least one symbol is Dims. Read lists of dims with dims(), which accepts both.
class Attributes {
public:
  struct Entry {
    std::string name;
    AttributeValue value;
    bool operator==(const Entry &) const = default;
  };

  void set(llvm::StringRef name, AttributeValue value);
  void erase(llvm::StringRef name);
  // The value, or null if there is none of that name.
  const AttributeValue *find(llvm::StringRef name) const;

  // Typed reads of attributes that the shape rule has already checked; `otherwise` if absent.
  bool boolean(llvm::StringRef name, bool otherwise) const;
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  // An integer literal reads as a real number too.
  double real(llvm::StringRef name, double otherwise) const;
  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const;
  DType dtype(llvm::StringRef name) const;
  Integers integers(llvm::StringRef name) const;
  Dims dims(llvm::StringRef name) const;

  llvm::ArrayRef<Entry> entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  bool operator==(const Attributes &) const = default;

private:
  llvm::SmallVector<Entry, 2> entries_;
};

} // namespace warploom
