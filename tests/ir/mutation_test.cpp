// Damaged texts: whatever stands in a file, the parser answers with a diagnostic or a good graph.
#include "ir/parse.h"
#include "ir/print.h"
#include "tests/ir/samples.h"

#include "llvm/Support/Regex.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

using namespace warploom;

namespace {

class Mutator {
public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t bound) { return random_() % bound; }

  // One to four changes: a byte replaced, removed or inserted, a bit flipped, a span removed,
  // doubled or moved in from elsewhere.
  std::string mutate(std::string text) {
    for (size_t changes = 1 + below(4); changes > 0 && !text.empty(); --changes)
      change(text);
    return text;
  }

private:
  char byte() {
    // Half of the bytes are ones that the grammar knows, so that mutants get past the lexer.
    constexpr llvm::StringLiteral kKnown = "()[]{},:=+-*%@\"\\/. \n0123456789nxyf";
    return below(2) ? kKnown[below(kKnown.size())] : static_cast<char>(random_());
  }

  void change(std::string &text) {
    size_t place = below(text.size());
    size_t length = 1 + below(std::min<size_t>(40, text.size() - place));
    switch (below(7)) {
    case 0:
      text[place] = byte();
      break;
    case 1:
      text.erase(place, 1);
      break;
    case 2:
      text.insert(place, 1, byte());
      break;
    case 3:
      text[place] ^= static_cast<char>(1 << below(8));
      break;
    case 4:
      text.erase(place, length);
      break;
    case 5:
      text.insert(place, text.substr(place, length));
      break;
    case 6:
      text.insert(below(text.size()), text.substr(place, length));
      break;
    }
  }

  std::mt19937_64 random_;
};

// Whether the text was accepted.
bool checkMutant(const std::string &text) {
  llvm::Regex form("^m\\.loom:[0-9]+:[0-9]+: error: [^\n]+\n[^\n]*\n[ \t]*\\^$");
  llvm::Expected<Module> module = parseModule(text, "m.loom");
  if (!module) {
    std::string message = llvm::toString(module.takeError());
    EXPECT_TRUE(form.match(message)) << message;
    return false;
  }
  std::string printed = print(*module);
  llvm::Expected<Module> again = parseModule(printed, "printed.loom");
  if (again)
    EXPECT_EQ(print(*again), printed);
  else
    ADD_FAILURE() << llvm::toString(again.takeError());
  return true;
}

uint64_t seedOfThisRun() {
  const char *given = std::getenv("WARPLOOM_SEED");
  return given ? std::strtoull(given, nullptr, 10) : 1;
}

void checkMutants(const std::vector<std::string> &texts, unsigned count) {
  ASSERT_FALSE(texts.empty());
  uint64_t seed = seedOfThisRun();
  std::cout << "seed " << seed << " (WARPLOOM_SEED=N for another)\n";
  Mutator mutator(seed);
  unsigned accepted = 0;
  for (unsigned trial = 0; trial < count && !testing::Test::HasFailure(); ++trial) {
    std::string mutant = mutator.mutate(texts[mutator.below(texts.size())]);
    SCOPED_TRACE("mutant " + std::to_string(trial) + ":\n" + mutant);
    accepted += checkMutant(mutant);
  }
  // Mutants of both fates occur, or the test shows nothing.
  EXPECT_GT(accepted, count / 200);
  EXPECT_LT(accepted, count / 2);
}

TEST(ParseMutants, OfTheExamplesAreDiagnosedOrRoundTrip) {
  std::vector<std::string> texts;
  for (const std::string &path : loomFiles("examples"))
    texts.push_back(fileText(path));
  checkMutants(texts, 1000);
}

TEST(ParseMutants, OfEveryOpAreDiagnosedOrRoundTrip) {
  checkMutants(sampleGraphs(), 3000);
}

} // namespace
