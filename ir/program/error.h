// Errors that the world can cause: a message that says what was tried and what the other side said.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"

namespace warploom {

// An error whose message is formatv(format, arguments...).
template <class... Arguments>
[[nodiscard]] llvm::Error makeError(const char *format, Arguments &&...arguments) {
  return llvm::createStringError(
      llvm::Twine(llvm::formatv(format, std::forward<Arguments>(arguments)...).str()));
}

} // namespace warploom
