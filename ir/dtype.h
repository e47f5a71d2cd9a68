// Element types of tensors; the table is ir/dtypes.def.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace warploom {

enum class DType : uint8_t {
#define WARPLOOM_DTYPE(name, bytes, kind) name,
#include "ir/dtypes.def"
};

// The spelling in text, e.g. "bf16".
llvm::StringRef spelling(DType dtype);

// The type of that spelling, if there is one.
std::optional<DType> parseDType(llvm::StringRef spelling);

// All spellings joined by ", ", for diagnostics.
std::string dtypeSpellings();

// Bytes of one stored element.
unsigned byteSize(DType dtype);

bool isFloating(DType dtype);
// Signed or unsigned integers; i1 is not one.
bool isInteger(DType dtype);
bool isUnsigned(DType dtype);

// Relative spacing of a floating type: half an ulp of 1 (2^-8 for bf16, 2^-24 for f32).
double unitRoundoff(DType dtype);

} // namespace warploom
