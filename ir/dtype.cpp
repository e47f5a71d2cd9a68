#include "ir/dtype.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cassert>
#include <cmath>
#include <string>

namespace warploom {
namespace {

enum class Kind { floating, integer, natural, boolean };

struct Row {
  llvm::StringLiteral spelling;
  unsigned bytes;
  Kind kind;
};

constexpr Row kRows[] = {
#define WARPLOOM_DTYPE(name, bytes, kind) {#name, bytes, Kind::kind},
#include "ir/dtypes.def"
};

const Row &row(DType dtype) {
  return kRows[static_cast<unsigned>(dtype)];
}

} // namespace

llvm::StringRef spelling(DType dtype) {
  return row(dtype).spelling;
}

std::optional<DType> parseDType(llvm::StringRef spelling) {
  for (const auto &[index, row] : llvm::enumerate(kRows))
    if (row.spelling == spelling)
      return static_cast<DType>(index);
  return std::nullopt;
}

std::string dtypeSpellings() {
  std::string all;
  for (const Row &row : kRows)
    all += (all.empty() ? "" : ", ") + row.spelling.str();
  return all;
}

unsigned byteSize(DType dtype) {
  return row(dtype).bytes;
}

bool isFloating(DType dtype) {
  return row(dtype).kind == Kind::floating;
}

bool isInteger(DType dtype) {
  return row(dtype).kind == Kind::integer || row(dtype).kind == Kind::natural;
}

bool isUnsigned(DType dtype) {
  return row(dtype).kind == Kind::natural;
}

double unitRoundoff(DType dtype) {
  switch (dtype) {
  case DType::f64:
    return std::ldexp(1.0, -53);
  case DType::f32:
    return std::ldexp(1.0, -24);
  case DType::f16:
    return std::ldexp(1.0, -11);
  case DType::bf16:
    return std::ldexp(1.0, -8);
  case DType::f8e4m3:
    return std::ldexp(1.0, -4);
  case DType::f8e5m2:
    return std::ldexp(1.0, -3);
  case DType::i1:
  case DType::i8:
  case DType::u8:
  case DType::i16:
  case DType::u16:
  case DType::i32:
  case DType::i64:
    break;
  }
  llvm_unreachable("only floating types round");
}

} // namespace warploom
