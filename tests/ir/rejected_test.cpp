// Every graph in tests/ir/rejected is rejected at the line that says "// error COLUMN: message".
#include "tests/ir/samples.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <gtest/gtest.h>

namespace {

// The diagnostic that the annotated line asks for, caret and all.
std::string annotated(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  for (unsigned line = 0; line < lines.size(); ++line) {
    auto [source, annotation] = lines[line].split("// error ");
    unsigned column = 0;
    if (annotation.consumeInteger(10, column) || !annotation.consume_front(": "))
      continue;
    std::string caret;
    for (char c : lines[line].take_front(column - 1))
      caret += c == '\t' ? '\t' : ' ';
    return llvm::formatv("test.loom:{0}:{1}: error: {2}\n{3}\n{4}^", line + 1, column, annotation,
                         lines[line], caret);
  }
  return "no annotation";
}

TEST(RejectedGraphs, AreDiagnosedWhereTheyAreWrong) {
  std::vector<std::string> files = loomFiles("tests/ir/rejected");
  ASSERT_GE(files.size(), 6u);
  unsigned checked = 0;
  for (const std::string &file : files) {
    std::string content = fileText(file);
    llvm::SmallVector<llvm::StringRef> texts;
    llvm::StringRef(content).split(texts, "// ---\n");
    for (llvm::StringRef text : texts) {
      EXPECT_EQ(diagnostic(text), annotated(text)) << file << ":\n" << text.str();
      ++checked;
    }
  }
  EXPECT_GE(checked, 150u);
}

} // namespace
