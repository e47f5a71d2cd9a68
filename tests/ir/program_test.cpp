#include "ir/program/program.h"

#include <gtest/gtest.h>

using namespace warploom;

namespace {

// x -> [a] -> t -> [b] -> y, with the edge between the kernels.
Program chain() {
  Program program;
  program.name = "chain";
  program.arch = "sm_90a";
  for (auto [name, kind] :
       {std::pair("x", BufferKind::argument), std::pair("t", BufferKind::temporary),
        std::pair("y", BufferKind::result)}) {
    Buffer buffer;
    buffer.name = name;
    buffer.kind = kind;
    buffer.dtype = "f32";
    buffer.dims = {SizeExpr(4)};
    buffer.bytes = 16;
    program.buffers.push_back(buffer);
  }
  for (unsigned index : {0u, 1u}) {
    Kernel kernel;
    kernel.name = index == 0 ? "a" : "b";
    kernel.ops = {index == 0 ? "t = exp" : "y = neg"};
    kernel.reads = {index};
    kernel.writes = {index + 1};
    program.kernels.push_back(kernel);
  }
  program.edges = {{0, 1}};
  program.arguments = {0};
  program.results = {{"result0", 2, program.buffers[2].dims}};
  return program;
}

std::string complaint(const Program &program) {
  return llvm::toString(verify(program));
}

void expectComplaint(const Program &program, const std::string &words) {
  std::string said = complaint(program);
  EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(VerifyProgram, AcceptsAChain) {
  EXPECT_EQ(complaint(chain()), "");
}

TEST(VerifyProgram, RejectsAReadThatNoEdgeOrders) {
  Program program = chain();
  program.edges.clear();
  expectComplaint(program, "a (t = exp) and b (y = neg) both touch t");
}

TEST(VerifyProgram, RejectsAReadBeforeTheWrite) {
  Program program = chain();
  std::swap(program.kernels[0], program.kernels[1]);
  expectComplaint(program, "b (y = neg) reads t before any kernel has written it");
}

TEST(VerifyProgram, RejectsAWriteToAnArgument) {
  Program program = chain();
  program.kernels[1].writes = {0};
  expectComplaint(program, "writes the argument x");
}

TEST(VerifyProgram, RejectsSharedMemoryOfLiveBuffers) {
  Program program = chain();
  Buffer other = program.buffers[1];
  other.name = "u";
  program.buffers.push_back(other);
  program.kernels[1].writes.push_back(3);
  EXPECT_NE(complaint(program), ""); // b reads t where it writes u
  program.buffers[3].arenaOffset = 256;
  EXPECT_EQ(complaint(program), "");
}

TEST(VerifyProgram, RejectsIndicesNamesAndEdgesOutOfRange) {
  Program program = chain();
  program.results[0].buffer = 7;
  expectComplaint(program, "names buffer 7 of 3");
  program = chain();
  program.kernels[1].name = "a";
  expectComplaint(program, "two kernels are named a");
  program = chain();
  program.edges = {{1, 0}};
  expectComplaint(program, "does not follow the order");
}

TEST(VerifyProgram, RejectsTooManyParameters) {
  Program program = chain();
  KernelArgument argument;
  argument.kind = KernelArgument::Kind::integer;
  program.kernels[0].arguments.assign(513, argument);
  expectComplaint(program, "takes 4104 bytes of parameters; the limit is 4096");
}

TEST(ProgramText, ShowsEveryPart) {
  std::string text = print(chain());
  for (const char *part :
       {"program chain for sm_90a", "buffer t: temporary f32[4], 16 bytes at 0",
        "kernel 0: a grid [1, 1, 1]", "op t = exp", "edge 0 -> 1", "result \"result0\" in y"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(ProgramJson, ListsArgumentsInTheOrderOfTheSignature) {
  Program program = chain();
  KernelArgument length, y;
  length.kind = KernelArgument::Kind::integer;
  length.value = SizeExpr::symbol("length");
  y.buffer = 2;
  program.kernels[0].arguments = {length, y};
  llvm::json::Value json = toJson(program, {});
  const llvm::json::Object &kernel = *(*json.getAsObject()->getArray("kernels"))[0].getAsObject();
  llvm::json::Value expected = llvm::json::Array{
      llvm::json::Object{{"value", "length"}, {"bytes", 8}}, llvm::json::Object{{"buffer", "y"}}};
  EXPECT_EQ(*kernel.get("arguments"), expected);
}

TEST(ProgramJson, HasStableFields) {
  llvm::json::Value json = toJson(chain(), {});
  const llvm::json::Object &kernel = *(*json.getAsObject()->getArray("kernels"))[0].getAsObject();
  EXPECT_EQ(kernel.getString("name"), "a");
  EXPECT_TRUE(kernel.get("registers")->getAsNull().has_value());
  llvm::json::Value known = toJson(chain(), {{40, 0, 8, 0}, {}});
  EXPECT_EQ((*known.getAsObject()->getArray("kernels"))[0].getAsObject()->getInteger("spill_bytes"),
            8);
}

TEST(SizeExpr, FoldsAndEvaluates) {
  SizeExpr n = SizeExpr::symbol("n");
  EXPECT_EQ((SizeExpr(3) * SizeExpr(4) + SizeExpr(1)).constant(), 13);
  EXPECT_EQ((n * SizeExpr(0)).constant(), 0);
  llvm::StringMap<int64_t> symbols;
  symbols["n"] = 10;
  EXPECT_EQ(llvm::cantFail(ceilDiv(n, SizeExpr(4)).evaluate(symbols)), 3);
  EXPECT_EQ(llvm::cantFail(floorDiv(n, SizeExpr(4)).evaluate(symbols)), 2);
  EXPECT_EQ(llvm::cantFail(remainder(n, SizeExpr(4)).evaluate(symbols)), 2);
  EXPECT_EQ(llvm::cantFail(alignTo(n, 256).evaluate(symbols)), 256);
  EXPECT_EQ(llvm::cantFail(max(n, SizeExpr(12)).evaluate(symbols)), 12);
  EXPECT_EQ(llvm::cantFail((n - SizeExpr(4)).evaluate(symbols)), 6);
  EXPECT_EQ((n * SizeExpr(2) + SizeExpr(1)).str(), "n*2 + 1");
}

TEST(SizeExpr, SaysWhatIsUnboundOrTooLarge) {
  SizeExpr n = SizeExpr::symbol("n");
  llvm::StringMap<int64_t> symbols;
  EXPECT_NE(llvm::toString(n.evaluate(symbols).takeError()).find("'n'"), std::string::npos);
  symbols["n"] = int64_t(1) << 62;
  EXPECT_NE(llvm::toString((n * n).evaluate(symbols).takeError()).find("overflows"),
            std::string::npos);
}

} // namespace
