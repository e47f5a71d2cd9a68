#include "ir/attributes.h"

#include "ir/tensor_type.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <cmath>
#include <cstdlib>

namespace warploom {
namespace {

std::string realText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  // The shortest of the precisions that reads back to the same number.
  for (int digits = 1;; ++digits) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.*e", digits, value);
    if (digits == 17 || std::strtod(text, nullptr) == value)
      return text;
  }
}

std::string quoted(llvm::StringRef text) {
  std::string result = "\"";
  llvm::raw_string_ostream stream(result);
  llvm::printEscapedString(text, stream);
  return result + "\"";
}

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return realText(value); }
  std::string operator()(const std::string &value) const { return quoted(value); }
  std::string operator()(DType value) const { return spelling(value).str(); }
  std::string operator()(const Integers &values) const {
    auto texts = llvm::map_range(values, [](int64_t value) { return std::to_string(value); });
    return "[" + llvm::join(texts, ", ") + "]";
  }
  std::string operator()(const Dims &values) const { return shapeText(values); }
};

} // namespace

std::string str(const AttributeValue &value) {
  return std::visit(Printer(), value);
}

void Attributes::set(llvm::StringRef name, AttributeValue value) {
  if (const auto *dims = std::get_if<Dims>(&value);
      dims && llvm::all_of(*dims, [](const Dim &dim) { return dim.isConstant(); })) {
    Integers numbers;
    for (const Dim &dim : *dims)
      numbers.push_back(dim.constant());
    value = numbers;
  }
  auto place = llvm::lower_bound(
      entries_, name, [](const Entry &entry, llvm::StringRef name) { return entry.name < name; });
  if (place != entries_.end() && place->name == name)
    place->value = std::move(value);
  else
    entries_.insert(place, {name.str(), std::move(value)});
}

void Attributes::erase(llvm::StringRef name) {
  llvm::erase_if(entries_, [&](const Entry &entry) { return entry.name == name; });
}

const AttributeValue *Attributes::find(llvm::StringRef name) const {
  const Entry *entry = llvm::find_if(entries_, [&](const Entry &e) { return e.name == name; });
  return entry == entries_.end() ? nullptr : &entry->value;
}

bool Attributes::boolean(llvm::StringRef name, bool otherwise) const {
  const AttributeValue *value = find(name);
  return value ? std::get<bool>(*value) : otherwise;
}

int64_t Attributes::integer(llvm::StringRef name, int64_t otherwise) const {
  const AttributeValue *value = find(name);
  return value ? std::get<int64_t>(*value) : otherwise;
}

double Attributes::real(llvm::StringRef name, double otherwise) const {
  const AttributeValue *value = find(name);
  if (!value)
    return otherwise;
  if (const auto *number = std::get_if<int64_t>(value))
    return static_cast<double>(*number);
  return std::get<double>(*value);
}

std::string Attributes::text(llvm::StringRef name, llvm::StringRef otherwise) const {
  const AttributeValue *value = find(name);
  return value ? std::get<std::string>(*value) : otherwise.str();
}

DType Attributes::dtype(llvm::StringRef name) const {
  const AttributeValue *value = find(name);
  assert(value && "the shape rule requires this attribute");
  return std::get<DType>(*value);
}

Integers Attributes::integers(llvm::StringRef name) const {
  const AttributeValue *value = find(name);
  return value ? std::get<Integers>(*value) : Integers();
}

Dims Attributes::dims(llvm::StringRef name) const {
  const AttributeValue *value = find(name);
  if (!value)
    return {};
  if (const auto *dims = std::get_if<Dims>(value))
    return *dims;
  const Integers &numbers = std::get<Integers>(*value);
  return Dims(numbers.begin(), numbers.end());
}

} // namespace warploom
