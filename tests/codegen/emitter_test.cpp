#include "codegen/emitter.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

TEST(Names, KeepsPlainNames) {
  Names names;
  EXPECT_EQ(names.fresh("hidden_state2"), "hidden_state2");
}

TEST(Names, NumbersWhatIsTaken) {
  Names names;
  EXPECT_EQ(names.fresh("x"), "x");
  EXPECT_EQ(names.fresh("x"), "x_1");
  EXPECT_EQ(names.fresh("x_1"), "x_1_1");
  EXPECT_EQ(names.fresh("x"), "x_2");
}

TEST(Names, NumbersTextsThatDifferInNamesAlikeAndLeavesMembers) {
  Names first, second;
  first.fresh("x");
  first.fresh("y");
  second.fresh("left_y");
  second.fresh("x");
  EXPECT_EQ(first.numbered("y = load(x) + 2.5f;"), second.numbered("x = load(left_y) + 2.5f;"));
  EXPECT_NE(first.numbered("y = load(x);"), second.numbered("left_y = load(x);"));
  EXPECT_NE(first.numbered("lanes.x"), second.numbered("lanes.left_y"));
}

TEST(Names, AvoidsWordsOfTheLanguageAndOfKernels) {
  Names names;
  for (const char *word : {"float", "if", "and", "lane", "row", "load", "scratch", "unix"})
    EXPECT_NE(names.fresh(word), word);
}

// Device functions and types of more than one word have capitals, the ops' functions a prefix.
TEST(Names, LeavesCapitalsAndOpFunctionsToTheDeviceHeaders) {
  Names names;
  EXPECT_EQ(names.fresh("blockIndex"), "blockindex");
  EXPECT_EQ(names.fresh("T0"), "t0");
  EXPECT_EQ(names.fresh("DEVICE"), "device");
  EXPECT_EQ(names.fresh("op_add"), "vop_add");
}

TEST(Names, MakesIdentifiersOfAnything) {
  Names names;
  llvm::StringSet<> seen;
  std::string longName(400, 'q');
  for (llvm::StringRef text :
       {"a b", "x/y:0", "1st", "*/ int x;", "\"\n#include", "\xcf\x80", "", "a_b", "a.b",
        "__shared__", "_", "x__y", longName.c_str(), longName.c_str()}) {
    std::string name = names.fresh(text);
    ASSERT_FALSE(name.empty());
    EXPECT_TRUE(llvm::isAlpha(name[0])) << name;
    EXPECT_TRUE(llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; })) << name;
    EXPECT_EQ(name.find("__"), std::string::npos) << name;
    EXPECT_LT(name.size(), 64u);
    EXPECT_TRUE(seen.insert(name).second) << name;
  }
}

TEST(Emitter, IndentsBlocks) {
  Names names;
  Emitter text(names);
  {
    auto loop = text.block("for (int i = 0; i < {0}; ++i)", 4);
    auto lambda = text.lambda("auto f = [=]");
    text.line("g({0});", "i");
  }
  EXPECT_EQ(text.str(), "for (int i = 0; i < 4; ++i) {\n  auto f = [=] {\n    g(i);\n  };\n}\n");
}

TEST(Emitter, SplicesAtItsOwnDepth) {
  Names names;
  Emitter inner(names), outer(names, 1);
  inner.line("a;");
  inner.line("b;");
  {
    auto block = outer.block("if (c)");
    outer.splice(inner);
  }
  EXPECT_EQ(outer.str(), "  if (c) {\n    a;\n    b;\n  }\n");
}

} // namespace
